"""Routers in documents: what `heddle apply` refuses, where it says so, and that nothing was applied."""

from __future__ import annotations

import os
from typing import Any

import pytest
from lab.site import Site
from test_documents import problems_of

Document = dict[str, Any]


def tap(port: str) -> Document:
    """A tap that no other process has: these taps are in the machine's own namespace."""
    return {"interface": f"h{os.getpid()}{port}"}


def document(*routes: Document, **router: Any) -> Document:
    """A router on networks a and b, with hosts behind ports."""
    return {
        "networks": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "narrow", "mtu": 1000}],
        "ports": [{"name": "pa", "tap": tap("pa"), "network": "a", "mac": "02:00:00:00:00:01",
                   "addresses": ["10.1.0.9", "fd01::9"]},
                  {"name": "pc", "tap": tap("pc"), "network": "c"}],
        "routers": [{"name": "r", "interfaces": [interface("a", "10.1.0.1/24", "fd01::1/64"),
                                                 interface("b", "10.2.0.1/24", "fd02::1/64")],
                     "routes": list(routes)} | router],
    }


def interface(network: str, *addresses: str, **fields: Any) -> Document:
    return {"network": network, "addresses": list(addresses)} | fields


def interfaces(*given: Document) -> Document:
    return document(interfaces=list(given))


def via(address: str, **fields: Any) -> list[Document]:
    return [{"address": address} | fields]


def two_routers(first: list[Document], second: list[Document], *more: Document) -> Document:
    made = document(*first)
    made["routers"].append({"name": "s", "interfaces": [interface("c", "10.3.0.1/24")],
                            "routes": second})
    made["routers"] += more
    return made


def on_same_network(*addresses: str, **fields: Any) -> Document:
    made = document()
    made["routers"].append({"name": "s", "interfaces": [interface("a", *addresses)]} | fields)
    return made


ROUTES = "routers[0].routes[0]"
INTERFACE = "routers[0].interfaces[0]"
TO = "10.9.0.0/16"

# Document, and what must be said: first the path, then words of the message.
BAD: dict[str, tuple[Document, list[str]]] = {
    # Interfaces.
    "overlapping subnets": (
        interfaces(interface("a", "10.1.0.1/16"), interface("b", "10.1.2.1/24")),
        ["routers[0].interfaces[1].addresses", "10.1.2.0/24", "10.1.0.0/16"]),
    "same subnet on two networks": (
        interfaces(interface("a", "10.1.0.1/24"), interface("b", "10.1.0.2/24")),
        ["routers[0].interfaces[1].addresses", "10.1.0.0/24"]),
    "overlapping IPv6 subnets": (
        interfaces(interface("a", "fd01::1/48"), interface("b", "fd01::5:0:0:0:1/64")),
        ["routers[0].interfaces[1].addresses", "fd01::/48"]),
    "overlapping subnets of one interface": (
        interfaces(interface("a", "10.1.0.1/16", "10.1.2.1/24")), [f"{INTERFACE}.addresses"]),
    "address twice": (interfaces(interface("a", "10.1.0.1/24", "10.1.0.1/24")),
                      [f"{INTERFACE}.addresses[1]", "10.1.0.1"]),
    "network twice": (interfaces(interface("a", "10.1.0.1/24"), interface("a", "10.2.0.1/24")),
                      ["routers[0].interfaces[1].network"]),
    "no network": (interfaces({"addresses": ["10.1.0.1/24"]}), [f"{INTERFACE}.network"]),
    "no address": (interfaces({"network": "a"}), [f"{INTERFACE}.addresses"]),
    "65 addresses": (interfaces(interface("a", *[f"10.{n}.0.1/24" for n in range(65)])),
                     [f"{INTERFACE}.addresses"]),
    "unknown network": (interfaces(interface("nowhere", "10.1.0.1/24")),
                        [f"{INTERFACE}.network", "nowhere"]),
    "address of the subnet": (interfaces(interface("a", "10.1.0.0/24")),
                              [f"{INTERFACE}.addresses[0]", "10.1.0.0"]),
    "broadcast address of the subnet": (interfaces(interface("a", "10.1.0.255/24")),
                                        [f"{INTERFACE}.addresses[0]", "broadcast"]),
    "broadcast address": (interfaces(interface("a", "255.255.255.255/24")),
                          [f"{INTERFACE}.addresses[0]"]),
    "multicast address": (interfaces(interface("a", "224.0.0.1/24")), [f"{INTERFACE}.addresses[0]"]),
    "IPv6 multicast address": (interfaces(interface("a", "ff02::1/64")),
                               [f"{INTERFACE}.addresses[0]"]),
    "loopback address": (interfaces(interface("a", "127.0.0.1/8")), [f"{INTERFACE}.addresses[0]"]),
    "subnet-router anycast address": (interfaces(interface("a", "fd01::/64")),
                                      [f"{INTERFACE}.addresses[0]"]),
    "link-local address": (interfaces(interface("a", "fe80::1/64")), [f"{INTERFACE}.addresses"]),
    "prefix length 0": (interfaces(interface("a", "10.1.0.1/0")), [f"{INTERFACE}.addresses[0]"]),
    "prefix length 33": (interfaces(interface("a", "10.1.0.1/33")), [f"{INTERFACE}.addresses[0]"]),
    "no prefix length": (interfaces(interface("a", "10.1.0.1")), [f"{INTERFACE}.addresses[0]", "/24"]),
    "no address at all": (interfaces(interface("a", "gateway")), [f"{INTERFACE}.addresses[0]"]),
    "IPv6 on a network with mtu 1000": (
        interfaces(interface("narrow", "10.1.0.1/24", "fd01::1/64")),
        [f"{INTERFACE}.addresses", "1280", "1000"]),
    "gateway equal to a port's address": (
        interfaces(interface("a", "10.1.0.9/24")), ["ports[0].addresses", "10.1.0.9", "router r"]),
    "IPv6 gateway equal to a port's address": (
        interfaces(interface("a", "fd01::9/64")), ["ports[0].addresses", "fd01::9"]),
    "router's MAC equal to a port's": (
        document(mac="02:00:00:00:00:01"), ["ports[0].mac", "02:00:00:00:00:01"]),
    "address of two routers on one network": (
        on_same_network("10.1.0.1/24"), ["routers[1].interfaces[0].addresses", "router r"]),
    "two routers with one MAC on a network": (
        {**on_same_network("10.1.0.2/24", mac="02:00:00:00:00:77"),
         "routers": [document(mac="02:00:00:00:00:77")["routers"][0],
                     on_same_network("10.1.0.2/24", mac="02:00:00:00:00:77")["routers"][1]]},
        ["routers[1].mac"]),
    "multicast MAC": (document(mac="01:00:5e:00:00:01"), ["routers[0].mac"]),
    "MAC 0": (document(mac="00:00:00:00:00:00"), ["routers[0].mac"]),
    "unknown reverse path": (interfaces(interface("a", "10.1.0.1/24", reverse_path="SOMETIMES")),
                             [f"{INTERFACE}.reverse_path"]),
    "interval 3": (interfaces(interface("a", "fd01::1/64", router_advertisement={"interval": 3})),
                   [f"{INTERFACE}.router_advertisement.interval"]),
    "lifetime below the interval": (
        interfaces(interface("a", "fd01::1/64",
                             router_advertisement={"interval": 100, "lifetime": 99})),
        [f"{INTERFACE}.router_advertisement.lifetime"]),
    "lifetime 9001": (interfaces(interface("a", "fd01::1/64",
                                           router_advertisement={"lifetime": 9001})),
                      [f"{INTERFACE}.router_advertisement.lifetime"]),
    # Routers.
    "no name": ({"routers": [{}]}, ["routers[0].name"]),
    "two routers of one name": ({"routers": [{"name": "r"}, {"name": "r"}]}, ["routers[1].name"]),
    "unknown field": (document(colour="red"), ["routers[0]", "colour"]),
    # Routes.
    "no prefix": (document({"blackhole": True}), [f"{ROUTES}.prefix"]),
    "broken prefix": (document({"prefix": "10.0.0/8", "blackhole": True}), [f"{ROUTES}.prefix"]),
    "host bits": (document({"prefix": "10.9.1.0/16", "blackhole": True}),
                  [f"{ROUTES}.prefix", "10.9.0.0/16"]),
    "IPv6 host bits": (document({"prefix": "2001:db8::1/32", "blackhole": True}),
                       [f"{ROUTES}.prefix", "2001:db8::/32"]),
    "multicast prefix": (document({"prefix": "224.0.0.0/4", "blackhole": True}),
                         [f"{ROUTES}.prefix"]),
    "no target": (document({"prefix": TO}), [ROUTES, "next_hops"]),
    "two targets": (document({"prefix": TO, "blackhole": True, "reject": True}), [ROUTES]),
    "next hop and another router": (
        two_routers([{"prefix": TO, "next_hops": via("10.1.0.7"), "router": "s"}], []), [ROUTES]),
    "distance 0": (document({"prefix": TO, "blackhole": True, "distance": 0}),
                   [f"{ROUTES}.distance"]),
    "distance 256": (document({"prefix": TO, "blackhole": True, "distance": 256}),
                     [f"{ROUTES}.distance"]),
    "duplicate route": (document({"prefix": TO, "blackhole": True}, {"prefix": TO, "reject": True}),
                        ["routers[0].routes[1].prefix", TO]),
    "duplicate IPv6 route in another spelling": (
        document({"prefix": "2001:db8::/32", "blackhole": True},
                 {"prefix": "2001:0DB8:0::/32", "blackhole": True}),
        ["routers[0].routes[1].prefix"]),
    # Next hops.
    "next hop not attached": (document({"prefix": TO, "next_hops": via("10.5.0.1")}),
                              [f"{ROUTES}.next_hops[0].address", "10.5.0.1"]),
    "next hop that another route leads to": (
        document({"prefix": "10.5.0.0/24", "next_hops": via("10.1.0.7")},
                 {"prefix": TO, "next_hops": via("10.5.0.1")}),
        ["routers[0].routes[1].next_hops[0].address"]),
    "own address as next hop": (document({"prefix": TO, "next_hops": via("10.1.0.1")}),
                                [f"{ROUTES}.next_hops[0].address", "own"]),
    "broadcast address as next hop": (document({"prefix": TO, "next_hops": via("10.1.0.255")}),
                                      [f"{ROUTES}.next_hops[0].address"]),
    "next hop of the other family": (document({"prefix": TO, "next_hops": via("fd01::7")}),
                                     [f"{ROUTES}.next_hops[0].address"]),
    "next hop on another network than it says": (
        document({"prefix": TO, "next_hops": via("10.1.0.7", network="b")}),
        [f"{ROUTES}.next_hops[0].network"]),
    "link-local next hop without network": (
        document({"prefix": "2001:db8::/32", "next_hops": via("fe80::1")}),
        [f"{ROUTES}.next_hops[0].network"]),
    "link-local next hop on a network without interface": (
        document({"prefix": "2001:db8::/32", "next_hops": via("fe80::1", network="c")}),
        [f"{ROUTES}.next_hops[0].network"]),
    "next hop twice": (document({"prefix": TO, "next_hops": via("10.1.0.7") + via("10.1.0.7")}),
                       [f"{ROUTES}.next_hops[1]"]),
    "next hop of nothing": (document({"prefix": TO, "next_hops": [{"weight": 2}]}),
                            [f"{ROUTES}.next_hops[0]"]),
    "next hop of both": (document({"prefix": TO, "next_hops": [{"address": "10.1.0.7",
                                                                "port": "pa"}]}),
                         [f"{ROUTES}.next_hops[0]"]),
    "weight 0": (document({"prefix": TO, "next_hops": via("10.1.0.7", weight=0)}),
                 [f"{ROUTES}.next_hops[0].weight"]),
    "weight 256": (document({"prefix": TO, "next_hops": via("10.1.0.7", weight=256)}),
                   [f"{ROUTES}.next_hops[0].weight"]),
    "65 next hops": (document({"prefix": TO, "next_hops": [{"address": f"10.1.0.{n}"}
                                                           for n in range(100, 165)]}),
                     [f"{ROUTES}.next_hops", "64"]),
    "unknown port": (document({"prefix": TO, "next_hops": [{"port": "nobody"}]}),
                     [f"{ROUTES}.next_hops[0].port", "nobody"]),
    "port without known host": (
        {**document({"prefix": TO, "next_hops": [{"port": "pb"}]}),
         "ports": [{"name": "pb", "tap": tap("pb"), "network": "b"}]},
        [f"{ROUTES}.next_hops[0].port"]),
    "port on a network without interface": (
        document({"prefix": TO, "next_hops": [{"port": "pc"}]}), [f"{ROUTES}.next_hops[0].port"]),
    # Other routers.
    "unknown router": (document({"prefix": TO, "router": "nobody"}), [f"{ROUTES}.router", "nobody"]),
    "the router itself": (document({"prefix": TO, "router": "r"}), [f"{ROUTES}.router"]),
    "loop of two": (two_routers([{"prefix": TO, "router": "s"}], [{"prefix": TO, "router": "r"}]),
                    ["routes[0]", "10.9.0.0", "r", "s"]),
    "loop of prefixes that meet": (
        two_routers([{"prefix": "0.0.0.0/0", "router": "s"}],
                    [{"prefix": "10.9.7.0/24", "router": "r"}]), ["routes[0]", "10.9.7.0"]),
    "loop of three": (
        two_routers([{"prefix": "2001:db8::/32", "router": "s"}],
                    [{"prefix": "2001:db8::/48", "router": "t"}],
                    {"name": "t", "routes": [{"prefix": "::/0", "router": "r"}]}),
        ["routes[0]", "2001:db8::"]),
    # Ports as hosts.
    "addresses without mac": (
        {"ports": [{"name": "p", "tap": tap("p"), "addresses": ["10.1.0.9"]}]}, ["ports[0].mac"]),
    "two ports with one address on a network": (
        {"networks": [{"name": "a", "proxy_arp": True}],
         "ports": [{"name": f"p{n}", "tap": tap(f"p{n}"), "network": "a", "mac": f"02:00:00:00:00:0{n}",
                    "addresses": ["10.1.0.9"]} for n in (1, 2)]}, ["ports[1].addresses", "10.1.0.9"]),
    "multicast address of a host": (
        {"ports": [{"name": "p", "tap": tap("p"), "mac": "02:00:00:00:00:01",
                    "addresses": ["224.0.0.1"]}]}, ["ports[0].addresses[0]"]),
    "network mtu 67": ({"networks": [{"name": "a", "mtu": 67}]}, ["networks[0].mtu"]),
    "network mtu 65522": ({"networks": [{"name": "a", "mtu": 65522}]}, ["networks[0].mtu"]),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_router_is_refused(shared_site: Site, what: str) -> None:
    bad, expected = BAD[what]
    said = problems_of(shared_site, bad)
    for text in expected:
        assert text in said, f"no {text!r} in:\n{said}"
    assert said.count("\n") <= 4, f"more is said than is wrong:\n{said}"


GOOD: dict[str, Document] = {
    "everything": two_routers(
        [{"prefix": "0.0.0.0/0", "next_hops": via("10.1.0.7", weight=255) + via("10.2.0.7")},
         {"prefix": "::/0", "next_hops": via("fe80::1", network="b")},
         {"prefix": "10.9.0.0/16", "router": "s", "distance": 255},
         {"prefix": "10.9.0.0/16", "reject": True, "distance": 254},
         {"prefix": "10.8.0.1/32", "next_hops": [{"port": "pa"}]}],
        [{"prefix": "10.1.0.0/24", "router": "r"}]),
    "two addresses in one subnet": interfaces(interface("a", "10.1.0.1/24", "10.1.0.2/24")),
    "point-to-point subnets": interfaces(interface("a", "10.1.0.0/31", "10.1.0.5/32", "fd01::/127")),
    "two routers on one network": on_same_network("10.1.0.2/24", "fd01::2/64"),
    "leaks that end": two_routers([{"prefix": TO, "router": "s"}],
                                  [{"prefix": TO, "blackhole": True},
                                   {"prefix": "10.1.0.0/24", "router": "r"}]),
    "leaks both ways of the default": two_routers(
        [{"prefix": "10.3.0.0/24", "router": "s"}], [{"prefix": "10.1.0.0/24", "router": "r"}]),
    "no interface": {"routers": [{"name": "r", "routes": [{"prefix": TO, "blackhole": True}]}]},
}


@pytest.mark.parametrize("what", GOOD)
def test_good_router_is_accepted(shared_site: Site, what: str) -> None:
    """Applied, and a second time nothing changes."""
    shared_site.client.apply(GOOD[what], "--replace")
    again = shared_site.client.apply(GOOD[what], "--replace")
    assert "updated" not in again and "created" not in again, again
    shared_site.client.apply({}, "--replace")


def test_what_routers_need_cannot_be_deleted(site: Site) -> None:
    """A network, a port or a router that another object names."""
    site.client.apply(two_routers([{"prefix": TO, "router": "s"},
                                   {"prefix": "10.8.0.0/16", "next_hops": [{"port": "pa"}]}], []))
    before = site.client.topology()
    for kind, name in (("network", "a"), ("router", "s"), ("port", "pa")):
        done = site.client.run("delete", kind, name, check=False)
        assert done.returncode == 1, f"{kind} {name} was deleted"
        assert 'router "r"' in done.stdout + done.stderr, done.stdout + done.stderr
    assert site.client.topology() == before


def test_change_that_breaks_another_object_is_refused(site: Site) -> None:
    """The document is right by itself; together with what is there it is not."""
    site.client.apply(document({"prefix": TO, "next_hops": [{"port": "pa"}]}))
    for change in (
            {"networks": [{"name": "a", "mtu": 1000}]},  # the router has IPv6 there
            {"ports": [{"name": "pa", "tap": tap("pa"), "network": "a"}]},  # no host behind it any more
            {"ports": [{"name": "new", "tap": tap("new"), "network": "a", "mac": "02:00:00:00:00:05",
                        "addresses": ["10.1.0.1"]}]}):  # the gateway's
        problems_of(site, change)
