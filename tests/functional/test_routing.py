"""Routing between subnets, as hosts with real stacks see it."""

from __future__ import annotations

import pytest
from lab import iperf
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
