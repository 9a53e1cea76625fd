"""Routes: which one counts, how flows share next hops, tables that know nothing of each other, and
changes while packets pass."""

from __future__ import annotations

import copy
import json
from collections import Counter

import frames
import pytest
from frames import ROUTER, Host, ip
from lab import flow, iperf, shell
from lab.site import Site, Station
from scapy.layers.inet import UDP
from scapy.packet import Raw

TARGETS = {4: "192.0.2.", 6: "2001:db8:1::"}


def hop(*hosts: Host, version: int = 4, **fields: object) -> dict[str, object]:
    """The next hops of a route."""
    return {"next_hops": [{"address": host.source(version)} | fields for host in hosts]}


def one_way(site: Site, count: int, **fields: object) -> tuple[Host, list[Host]]:
    """A sender in subnet 1, and hosts in subnet 2 that routes may lead to."""
    site.router("r1", 1, 2, mac=ROUTER, **fields)
    near = Host(site, 1)
    others = [Host(site, 2) for _ in range(count)]
    frames.apply_with(site, near, *others)
    for host in others:
        host.until_echo()  # from now on everybody's place is known
    return near, others


def routes_of(site: Site, *routes: dict[str, object], router: int = 0) -> None:
    """Applies these static routes instead of those there are."""
    site.document["routers"][router]["routes"] = list(routes)
    site.apply()


def send_flows(near: Host, others: list[Host], version: int, count: int = 300) -> list[int]:
    """Which of the hosts got each of so many UDP flows, -1 if none."""
    for number in range(count):
        target = f"{TARGETS[version]}{number % 200 + 1}"
        near.send(ip(version, near.source(version), target)
                  / UDP(sport=10_000 + number, dport=53) / Raw(b"flow"))
        if number % 64 == 63:
            near.until_echo()
    near.until_echo()
    result = [-1] * count
    at = 34 if version == 4 else 54
    for index, host in enumerate(others):
        for frame in host.until_echo():
            if frame.endswith(b"flow"):
                number = int.from_bytes(frame[at:at + 2], "big") - 10_000
                assert result[number] == -1, f"flow {number} arrived twice"
                result[number] = index
    return result


# ---- Which route counts ------------------------------------------------------------------------

@pytest.mark.parametrize("version", [4, 6])
def test_backup_route_takes_over(site: Site, version: int) -> None:
    """The least distance counts; when it goes, the next one is there at once."""
    near, (best, backup) = one_way(site, 2)
    prefix = TARGETS[version] + ("0/24" if version == 4 else "/64")
    first = {"prefix": prefix, **hop(best, version=version), "distance": 10}
    second = {"prefix": prefix, **hop(backup, version=version), "distance": 20}
    routes_of(site, second, first)
    assert set(send_flows(near, [best, backup], version, 10)) == {0}
    listed = [route for route in site.client.get("routes") if route["prefix"] == prefix]
    assert {(route["distance"], route.get("active", False)) for route in listed} \
        == {(10, True), (20, False)}
    routes_of(site, second)
    assert set(send_flows(near, [best, backup], version, 10)) == {1}
    routes_of(site, first, second)
    assert set(send_flows(near, [best, backup], version, 10)) == {0}
    routes_of(site)
    assert set(send_flows(near, [best, backup], version, 10)) == {-1}
    assert site.client.drops(near.port)["no-route"] == 10


def test_longer_prefix_counts_whatever_its_distance(site: Site) -> None:
    near, others = one_way(site, 3)
    routes_of(site, {"prefix": "0.0.0.0/0", **hop(others[0])},
              {"prefix": "192.0.2.0/24", **hop(others[1]), "distance": 200},
              {"prefix": "192.0.2.7/32", **hop(others[2]), "distance": 250})
    result = send_flows(near, others, 4, 20)
    assert [result[6], result[5], result[7]] == [2, 1, 1]


def test_deleting_a_less_specific_route_removes_what_is_below_it(site: Site) -> None:
    """Field case 5.7, its exact sequence, and the default route last."""
    near, (low, high, wide) = one_way(site, 3)
    below = [{"prefix": "10.60.7.0/25", **hop(low)}, {"prefix": "10.60.0.0/23", **hop(wide)},
             {"prefix": "10.60.7.128/25", **hop(high)}, {"prefix": "10.60.0.0/20", **hop(wide)}]
    hosts = [low, high, wide]

    def gets(address: str) -> int:
        """The index of the host that gets a packet to an address, -1 if none does."""
        near.send(ip(4, near.ipv4, address) / UDP(sport=1, dport=2) / Raw(b"which"))
        near.until_echo()
        got = [index for index, host in enumerate(hosts)
               if any(frame.endswith(b"which") for frame in host.until_echo())]
        assert len(got) <= 1
        return got[0] if got else -1
    for count in range(1, 5):
        routes_of(site, *below[:count])
    assert [gets("10.60.7.1"), gets("10.60.7.129"), gets("10.60.8.1")] == [0, 1, 2]
    routes_of(site, *below[:3])
    assert [gets("10.60.7.1"), gets("10.60.7.129"), gets("10.60.1.1"), gets("10.60.8.1")] \
        == [0, 1, 2, -1]
    default = {"prefix": "0.0.0.0/0", **hop(wide)}
    routes_of(site, *below[:3], default)
    assert gets("10.60.8.1") == 2
    routes_of(site, default)
    assert [gets("10.60.7.1"), gets("10.60.7.129")] == [2, 2]
    routes_of(site)
    assert [gets("10.60.7.1"), gets("10.60.8.1")] == [-1, -1]


def test_next_hop_is_the_host_behind_a_port(site: Site) -> None:
    near, others = one_way(site, 2)
    routes_of(site, {"prefix": "192.0.2.0/24", "next_hops": [{"port": others[1].port}]},
              {"prefix": "2001:db8:1::/64", "next_hops": [{"port": others[1].port}]})
    for version in (4, 6):
        assert set(send_flows(near, others, version, 5)) == {1}


def test_link_local_next_hop(site: Site) -> None:
    """RFC 4861, section 8 and common practice of routing protocols: with the network it is on."""
    site.router("r1", 1, 2, mac=ROUTER)
    near, other = Host(site, 1), Host(site, 2, addresses=("fe80::9",))
    site.document["routers"][0]["routes"] = [
        {"prefix": "2001:db8:1::/64", "next_hops": [{"address": "fe80::9", "network": "net2"}]}]
    frames.apply_with(site, near, other)
    other.until_echo()
    assert set(send_flows(near, [other], 6, 5)) == {0}


# ---- Several next hops -------------------------------------------------------------------------

@pytest.mark.parametrize("version", [4, 6])
def test_flows_are_shared_and_stick(site: Site, version: int) -> None:
    """RFC 2992. When one of three next hops is taken away, only its flows move (field case 4.23)."""
    near, others = one_way(site, 3)
    prefix = TARGETS[version] + ("0/24" if version == 4 else "/64")
    routes_of(site, {"prefix": prefix, **hop(*others, version=version)})
    before = send_flows(near, others, version)
    shares = Counter(before)
    assert sorted(shares) == [0, 1, 2], shares
    assert all(share > 45 for share in shares.values()), shares
    assert send_flows(near, others, version) == before, "flows moved though nothing changed"
    routes_of(site, {"prefix": prefix, **hop(others[0], others[2], version=version)})
    after = send_flows(near, others, version)
    moved = [number for number in range(300) if after[number] != before[number]]
    assert moved == [number for number in range(300) if before[number] == 1]
    assert set(after) == {0, 2}
    assert len({after[number] for number in moved}) == 2, "all went to one"


def test_flow_goes_one_way_whatever_its_packets_look_like(site: Site) -> None:
    """Length, TTL and identification are no part of a flow; and no packet overtakes another."""
    near, others = one_way(site, 3)
    routes_of(site, {"prefix": "192.0.2.0/24", **hop(*others)})
    for size in (0, 10, 100, 1000, 1400):
        near.send(ip(4, near.ipv4, "192.0.2.9", ttl=64 - size % 7, id=size)
                  / UDP(sport=1000, dport=53) / Raw(bytes(size)))
    near.until_echo()
    got = [host.until_echo() for host in others]
    assert sorted(len(each) for each in got) == [0, 0, 5]


@pytest.mark.parametrize("weights", [(3, 1), (255, 1)])
def test_weights(site: Site, weights: tuple[int, int]) -> None:
    near, others = one_way(site, 2)
    hops = [{"address": host.ipv4, "weight": weight} for host, weight in zip(others, weights)]
    routes_of(site, {"prefix": "192.0.2.0/24", "next_hops": hops})
    shares = Counter(send_flows(near, others, 4))
    expected = 300 * weights[0] / sum(weights)
    assert abs(shares[0] - expected) < 45, shares
    assert shares[-1] == 0


# ---- Several routers ---------------------------------------------------------------------------

def test_two_tenants_use_the_same_addresses(site: Site) -> None:
    """Each router has tables of its own; stations of both have the very same addresses."""
    tenants: list[tuple[Station, Station]] = []
    for tenant in ("a", "b"):
        interfaces = []
        for subnet in (1, 2):
            site.network(f"{tenant}{subnet}")
            four, six = f"10.0.{subnet}.254/24", f"fd00:{subnet:x}::fe/64"
            interfaces.append({"network": f"{tenant}{subnet}", "addresses": [four, six]})
        site.document.setdefault("routers", []).append({"name": tenant, "interfaces": interfaces})
        pair = []
        for subnet in (1, 2):
            station = site.tap(subnet=subnet, network=f"{tenant}{subnet}")
            station.number = subnet  # the same in both
            device = site.port_document(station.port)["tap"]
            device["addresses"] = [f"{station.ipv4}/24", f"{station.ipv6}/64"]
            pair.append(station)
        tenants.append((pair[0], pair[1]))
    site.apply()
    assert tenants[0][1].addresses == tenants[1][1].addresses
    for client, server in tenants:
        site.wait_for_ping(client, server)
    for client, server in tenants:
        site.exercise(client, server, 500_000)
    # What one tenant's server serves, the other's does not.
    def refused(client: Station) -> bool:
        done = client.namespace.run("ping", "-n", "-c", "1", "-W", "1", "10.0.2.2", check=False)
        return done.returncode != 0
    tenants[0][1].namespace.run("ip", "link", "set", "eth0", "down")
    assert refused(tenants[0][0]) and not refused(tenants[1][0])


def test_route_into_another_router_and_back(site: Site) -> None:
    """`router:` looks a packet up again in the other table: TTL is taken once."""
    first = site.router("r1", 1)
    second = site.router("r2", 2)
    first["routes"] = [{"prefix": "10.0.2.0/24", "router": "r2"},
                       {"prefix": "fd00:2::/64", "router": "r2"}]
    second["routes"] = [{"prefix": "10.0.1.0/24", "router": "r1"},
                        {"prefix": "fd00:1::/64", "router": "r1"}]
    client, server = site.tap(subnet=1), site.veth(subnet=2)
    site.apply()
    site.wait_for_ping(client, server)
    site.exercise(client, server)
    for address in server.addresses:
        iperf.ping_ms(client.namespace, address, count=1)
        shown = client.namespace.run("ping", "-n", "-c", "1", address).stdout
        assert "ttl=63" in shown, shown
    # Without the way back there is none.
    second["routes"] = []
    site.apply()
    done = client.namespace.run("ping", "-n", "-c", "1", "-W", "1", server.ipv4, check=False)
    assert done.returncode != 0
    site.wait_for_drop("no-route", 1, server.port)


def test_default_route_into_another_router(site: Site) -> None:
    """A table for a tenant, and one for what all share."""
    first = site.router("r1", 1)
    site.router("shared", 2)["routes"] = [{"prefix": "10.0.1.0/24", "router": "r1"},
                                          {"prefix": "fd00:1::/64", "router": "r1"}]
    first["routes"] = [{"prefix": "0.0.0.0/0", "router": "shared"},
                       {"prefix": "::/0", "router": "shared"}]
    client, server = site.tap(subnet=1), site.tap(subnet=2)
    site.apply()
    site.wait_for_ping(client, server)
    site.exercise(client, server, 500_000)
    done = client.namespace.run("ping", "-n", "-c", "1", "-W", "1", "203.0.113.1", check=False)
    assert "Net Unreachable" in done.stdout, done.stdout


# ---- What is shown -----------------------------------------------------------------------------

def test_tables_are_listed(site: Site) -> None:
    """`heddle get`, as JSON and as a table, all or those of one router."""
    near, others = one_way(site, 2)
    site.router("r2", 3)
    routes_of(site, {"prefix": "192.0.2.0/24", **hop(*others)},
              {"prefix": "198.51.100.0/24", "blackhole": True},
              {"prefix": "203.0.113.0/24", "reject": True, "distance": 7},
              {"prefix": "2001:db8::/32", "router": "r2"})
    routers = {router["name"]: router for router in site.client.get("routers")}
    assert set(routers) == {"r1", "r2"}
    assert routers["r1"]["mac"] == ROUTER and routers["r1"]["interfaces"] == 2
    assert [router["name"] for router in site.client.get("routers", "r2")] == ["r2"]
    routes = {route["prefix"]: route for route in site.client.get("routes", "r1")}
    assert all(route["router"] == "r1" and route["active"] for route in routes.values())
    assert routes["10.0.1.0/24"]["protocol"] == "attached"
    assert routes["10.0.1.254/32"]["protocol"] == "local"
    assert routes["192.0.2.0/24"]["protocol"] == "static"
    for host in others:
        assert f"via {host.ipv4} network net2" in routes["192.0.2.0/24"]["next_hop"]
    assert routes["198.51.100.0/24"]["next_hop"] == "blackhole"
    assert (routes["203.0.113.0/24"]["next_hop"], routes["203.0.113.0/24"]["distance"]) \
        == ("reject", 7)
    assert routes["2001:db8::/32"]["next_hop"] == "router r2"
    assert {route["router"] for route in site.client.get("routes")} == {"r1", "r2"}
    hosts = {entry["address"]: entry for entry in site.client.get("neighbors", "net2")}
    shown = hosts[others[0].ipv4]
    assert (shown["network"], shown["mac"], shown["state"]) == ("net2", others[0].mac, "permanent")
    assert near.ipv4 not in hosts
    kinds = {entry["kind"] for entry in site.client.get("next-hops")}
    assert {"neighbor", "attached", "receive", "blackhole", "reject", "group", "router"} <= kinds
    for kind, expected in {"routes": ["ROUTER", "192.0.2.0/24", "blackhole", "static", "active"],
                           "routers": ["NAME", "r1", "r2", ROUTER],
                           "neighbors": ["NETWORK", others[0].ipv4, others[0].mac, "permanent"],
                           "next-hops": ["KIND", "group", "reject"]}.items():
        table = site.client.run("get", kind).stdout
        for text in expected:
            assert text in table, f"{kind}:\n{table}"
        assert json.loads(site.client.run("get", kind, "-o", "json").stdout)


def test_next_hops_of_one_router_are_listed(site: Site) -> None:
    """`get next-hops NAME`: of the router named."""
    one_way(site, 1)
    site.router("r2", 3)
    site.apply()
    shown = site.client.get("next-hops", "r2")
    assert shown and all(entry["router"] == "r2" for entry in shown)


# ---- Changes while packets pass ----------------------------------------------------------------

def test_flow_loses_nothing_while_other_routes_come_and_go(site: Site) -> None:
    """200 routes that have nothing to do with it, again and again, around and below its own."""
    router = site.router("r1", 1, 2)
    client, server = site.tap(subnet=1), site.tap(subnet=2)
    site.apply()
    site.wait_for_ping(client, server)
    many = [{"prefix": f"10.{128 + number // 100}.{number % 100}.0/24", "blackhole": True}
            for number in range(196)]
    many += [{"prefix": "10.0.0.0/8", "blackhole": True}, {"prefix": "0.0.0.0/0", "reject": True},
             {"prefix": "10.0.2.128/25", "blackhole": True}, {"prefix": "10.0.0.0/22", "reject": True}]
    with flow.paced_flow(client.namespace, server.namespace, server.ipv4, 2000) as result:
        for _ in range(10):
            router["routes"] = many
            site.apply()
            router["routes"] = many[::2]
            site.apply()
            router["routes"] = []
            site.apply()
    assert result.lost == 0 and result.late == 0, result
    assert result.sent > 500
    assert all(route["protocol"] != "static" for route in site.client.get("routes"))


def test_flow_loses_nothing_while_its_own_route_changes(site: Site) -> None:
    """From one next hop to two and back; the server has both addresses."""
    router = site.router("r1", 1, 2)
    client, server = site.tap(subnet=1), site.tap(subnet=2)
    target = "192.0.2.1"
    one, two = {"address": server.ipv4}, {"address": "10.0.2.200"}
    router["routes"] = [{"prefix": "192.0.2.0/24", "next_hops": [one]}]
    site.apply()
    server.namespace.run("ip", "address", "add", f"{target}/32", "dev", "lo")
    server.namespace.run("ip", "address", "add", "10.0.2.200/24", "dev", "eth0")
    site.wait_for_ping(client, server)
    for address in ("10.0.2.200", target):
        iperf.ping_ms(client.namespace, address, count=1)
    with flow.paced_flow(client.namespace, server.namespace, target, 2000) as result:
        for hops in ([one, two], [two], [two, one], [one], [one, two | {"weight": 9}], [one]) * 3:
            router["routes"] = [{"prefix": "192.0.2.0/24", "next_hops": hops}]
            site.apply()
    assert result.lost == 0, result
    assert result.sent > 300


@pytest.mark.parametrize("what", ["router", "interface"])
def test_removed_router_routes_no_more(site: Site, what: str) -> None:
    """At once, and nobody answers for its addresses; added again it works as before."""
    router = site.router("r1", 1, 2)
    client, server = site.tap(subnet=1), site.tap(subnet=2)
    site.apply()
    site.wait_for_ping(client, server)
    whole = copy.deepcopy(router)
    if what == "router":
        site.client.run("delete", "router", "r1")
        assert site.client.get("routers") == [] and site.client.get("routes") == []
    else:
        del router["interfaces"][1]
        site.apply()
        assert all("10.0.2." not in route["prefix"] for route in site.client.get("routes"))
    for address in server.addresses:
        done = client.namespace.run("ping", "-n", "-c", "1", "-W", "1", address, check=False)
        assert done.returncode != 0
    if what == "router":
        client.namespace.run("ip", "neighbor", "flush", "all")
        done = client.namespace.run("ping", "-n", "-c", "1", "-W", "1", client.gateways[0],
                                    check=False)
        assert done.returncode != 0
        assert [entry for entry in site.client.get("fdb") if entry.get("is_static")] == []
    site.document["routers"] = [whole]
    site.apply()
    site.wait_for_ping(client, server)
    site.exercise(client, server, 500_000)


def test_router_gets_other_addresses_and_another_mac(site: Site) -> None:
    """The new address answers, the old one does not; hosts learn the new MAC from announcements."""
    router = site.router("r1", 1, 2)
    client, server = site.tap(subnet=1), site.tap(subnet=2)
    site.apply()
    site.wait_for_ping(client, server)
    router["mac"] = ROUTER
    site.apply()
    site.wait_for_ping(client, server)
    router["interfaces"][0]["addresses"][0] = "10.0.1.253/24"
    site.apply()
    iperf.ping_ms(client.namespace, "10.0.1.253", count=1)
    done = client.namespace.run("ping", "-n", "-c", "1", "-W", "1", "10.0.1.254", check=False)
    assert done.returncode != 0


@pytest.mark.parametrize("workers", [2, 3])
def test_several_workers_route_as_one(site: Site, workers: int) -> None:
    """Whichever receives a packet, including those that resolve no neighbours."""
    site.document["settings"] = {"workers": workers}
    site.router("r1", 1, 2, 3)
    stations = [site.tap(subnet=1), site.veth(subnet=2), site.tap(subnet=3)]
    site.apply()
    for client in stations:
        for server in stations:
            if client is server:
                continue
            for family in (0, 1):
                iperf.ping_ms(client.namespace, server.addresses[family], count=1)
    site.exercise(stations[0], stations[1], 500_000)
    site.exercise(stations[1], stations[2], 500_000)
    client = stations[2]
    done = client.namespace.run("ping", "-n", "-c", "1", "-W", "6", "10.0.1.99", check=False)
    assert "Host Unreachable" in done.stdout, done.stdout
    shown = client.namespace.run("ping", "-n", "-c", "1", "-t", "1", stations[0].ipv4,
                                 check=False).stdout
    assert f"From {client.gateways[0]} " in shown, shown


@pytest.mark.parametrize("version", [4, 6])
def test_burst_to_a_cold_host_through_the_second_worker(site: Site, version: int) -> None:
    """Field case 5.3: the order holds across the hand-over to the worker that resolves."""
    site.document["settings"] = {"workers": 2}
    site.router("r1", 1, 2, 3, mac=ROUTER)
    senders = [Host(site, 1), Host(site, 3)]
    server = site.tap(subnet=2)
    frames.apply_with(site, *senders)
    for number, sender in enumerate(senders):
        target = f"10.0.2.{200 + number}" if version == 4 else f"fd00:2::{200 + number:x}"
        server.namespace.run("ip", "address", "add", f"{target}/{24 if version == 4 else 64}",
                             "dev", "eth0")
        reader = server.raw()
        for count in range(10):
            sender.send(ip(version, sender.source(version), target)
                        / UDP(sport=5, dport=6) / Raw(f"cold {count}".encode()))
        got = reader.collect(10, match=lambda frame: b"cold" in frame)
        assert [frame.data[-6:] for frame in got] == [f"cold {n}".encode() for n in range(10)]


def test_routers_survive_a_restart(site: Site) -> None:
    """Desired state is on disk."""
    router = site.router("r1", 1, 2)
    client, server = site.veth(subnet=1), site.veth(subnet=2)
    router["routes"] = [{"prefix": "198.51.100.0/24", "reject": True},
                        {"prefix": "203.0.113.0/24", "next_hops": [{"address": server.ipv4}]}]
    site.apply()
    site.wait_for_ping(client, server)
    before = site.client.topology()
    routes = [(route["prefix"], route["next_hop"]) for route in site.client.get("routes")]
    assert site.daemon.stop() == 0
    site.daemon.start()
    assert site.client.topology() == before
    shell.wait_until(lambda: all(site.client.port(station.port).get("up")
                                 for station in (client, server)), "the ports are up")
    assert [(route["prefix"], route["next_hop"]) for route in site.client.get("routes")] == routes
    site.wait_for_ping(client, server)
    site.exercise(client, server, 500_000)
