"""Routing between subnets, as hosts with real stacks see it."""

from __future__ import annotations

import time

import pytest
from lab import flow, iperf
from lab.site import Site, Station


def pair(site: Site, kind: str) -> tuple[Station, Station]:
    """A station in subnet 1 and one in subnet 2, with a router between."""
    site.router("r1", 1, 2)
    make = {"tap": (site.tap, site.tap), "veth": (site.veth, site.veth),
            "mixed": (site.tap, site.veth)}[kind]
    return make[0](subnet=1), make[1](subnet=2)


@pytest.mark.parametrize("kind", ["tap", "veth", "mixed"])
def test_hosts_of_two_subnets_reach_each_other(site: Site, kind: str) -> None:
    client, server = pair(site, kind)
    site.apply()
    site.wait_for_ping(client, server)
    site.exercise(client, server)


@pytest.mark.parametrize("family", [0, 1], ids=["ipv4", "ipv6"])
def test_first_packet_is_not_lost(site: Site, family: int) -> None:
    """Field cases 4.26 and 5.3: one ping to a host that nobody has spoken to yet."""
    client, server = pair(site, "tap")
    site.apply()
    iperf.ping_ms(client.namespace, client.gateways[family], count=1)
    iperf.ping_ms(client.namespace, server.addresses[family], count=1)


def update(site: Site, lines: list[str], router: str = "r1", source: str = "bgp") -> str:
    """`heddle update-routes` with these lines; answers what it says."""
    done = site.client.run("update-routes", router, "--source", source, "-f", "-",
                           stdin="\n".join(lines) + "\n", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_thousand_route_changes_a_second_cost_no_packet(site: Site) -> None:
    client, server = pair(site, "tap")
    site.apply()
    site.wait_for_ping(client, server)
    # Around the flow's own destination, too: shorter and longer prefixes than the one it follows.
    prefixes = [f"{first}.{second}.0.0/16" for first in range(20, 24) for second in range(248)]
    prefixes += ["10.0.0.0/14", "10.0.2.0/28", f"{server.ipv4}/32", "0.0.0.0/0", "10.0.2.0/25",
                 "10.0.2.128/25", "10.0.3.0/24", "10.0.0.0/23"]
    via = f"via {server.ipv4}"
    changes = 0
    with flow.paced_flow(client.namespace, server.namespace, server.ipv4, 5000) as result:
        end = time.monotonic() + 4
        while time.monotonic() < end:
            assert update(site, [f"{prefix} {via}" for prefix in prefixes]) == \
                f"{len(prefixes)} routes added, 0 withdrawn\n"
            assert update(site, [f"withdraw {prefix}" for prefix in prefixes]) == \
                f"0 routes added, {len(prefixes)} withdrawn\n"
            changes += 2 * len(prefixes)
    assert changes > 4000, "more than 1,000 a second"
    assert result.sent > 5000
    assert result.lost == 0, result
    assert {route["protocol"] for route in site.client.get("routes")} == {"attached", "local"}


def test_routes_of_a_program_are_kept_apart_from_configured_ones(site: Site) -> None:
    router = site.router("r1", 1, 2, routes=[{"prefix": "198.51.100.0/24", "blackhole": True}])
    site.tap(subnet=1)
    site.apply()
    update(site, ["198.51.100.0/24 via 10.0.2.9 distance 20", "203.0.113.0/24 via 10.0.2.9"])

    def routes() -> dict[tuple[str, str], bool]:
        return {(route["prefix"], route["protocol"]): route.get("active", False)
                for route in site.client.get("routes", "r1")
                if not route["prefix"].startswith(("10.0.", "fd00:"))}
    assert routes() == {("198.51.100.0/24", "static"): True, ("198.51.100.0/24", "bgp"): False,
                        ("203.0.113.0/24", "bgp"): True}
    router["routes"] = []
    site.apply()
    assert routes() == {("198.51.100.0/24", "bgp"): True, ("203.0.113.0/24", "bgp"): True}
    router["interfaces"] = router["interfaces"][:1]
    site.apply()
    assert routes() == {}, "their way has gone"


@pytest.mark.parametrize("line,problem", [
    ("10.0.0.0/8", "exactly one of next_hops"),
    ("10.1.2.3/8 via 10.0.2.9", "did you mean 10.0.0.0/8"),
    ("20.0.0.0/8 via 10.9.9.9", "is in no subnet of the router's interfaces"),
    ("20.0.0.0/8 via 10.0.2.254", "is the router's own address"),
    ("20.0.0.0/8 via 10.0.2.9 distance 0", "must be 1 to 255"),
    ("20.0.0.0/8 over 10.0.2.9", 'what is "over"'),
    ("withdraw", "withdraw what?"),
])
def test_wrong_route_updates_are_refused_by_name(site: Site, line: str, problem: str) -> None:
    site.router("r1", 1, 2)
    site.apply()
    done = site.client.run("update-routes", "r1", "--source", "bgp", "-f", "-", stdin=line + "\n",
                           check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert problem in done.stderr
    assert all(route["protocol"] != "bgp" for route in site.client.get("routes"))


def test_lookup_tells_what_would_happen(site: Site) -> None:
    client, server = pair(site, "tap")
    site.apply()
    site.wait_for_ping(client, server)
    steps = site.client.run("lookup", "r1", server.ipv4).stdout
    assert "attached route 10.0.2.0/24" in steps
    assert server.mac in steps and f"port {server.port}" in steps
    assert "no route" in site.client.run("lookup", "r1", "192.0.2.1").stdout
    for arguments, problem in ((("r2", "10.0.0.1"), 'no router is named "r2"'),
                               (("r1", "nonsense"), "expected an IP address")):
        done = site.client.run("lookup", *arguments, check=False)
        assert done.returncode == 1 and problem in done.stderr, done


def test_packet_is_cut_once_where_two_routers_and_small_mtus_follow(site: Site) -> None:
    """Symptom: the fragments that one router makes are mixed up with those of the next."""
    site.network("net3", mtu=1000)
    site.network("net2", mtu=900)
    first = site.router("r1", 1, 3, routes=[
        {"prefix": "10.0.2.0/24", "next_hops": [{"address": "10.0.3.253"}]}])
    second = site.router("r2", 3, 2, routes=[
        {"prefix": "10.0.1.0/24", "next_hops": [{"address": "10.0.3.254"}]}])
    first["interfaces"][1]["addresses"] = ["10.0.3.254/24"]
    second["interfaces"][0]["addresses"] = ["10.0.3.253/24"]
    second["interfaces"][1]["addresses"] = ["10.0.2.254/24"]
    client, server = site.tap(subnet=1), site.tap(subnet=2)
    site.apply()
    for size in ("100", "1300", "3000", "20000"):
        iperf.ping_ms(client.namespace, server.ipv4, count=1)
        done = client.namespace.run("ping", "-n", "-q", "-M", "dont", "-s", size, "-c", "3", "-i",
                                    "0.1", "-W", "2", server.ipv4)
        assert " 0% packet loss" in done.stdout, done.stdout
