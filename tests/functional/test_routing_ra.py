"""Router advertisements: what they say, when they come, and what a plain Linux makes of them."""

from __future__ import annotations

import ipaddress
import json
import time
from typing import Any

import frames
import pytest
from frames import ROUTER, Host
from lab import iperf, shell
from lab.site import Site, Station
from scapy.layers.inet6 import (ICMPv6ND_RA, ICMPv6ND_RS, ICMPv6NDOptMTU, ICMPv6NDOptPrefixInfo,
                                ICMPv6NDOptSrcLLAddr, IPv6)
from scapy.layers.l2 import Ether
from scapy.packet import Packet

LINK_LOCAL = "fe80::5eff:fe00:fffe"  # of ROUTER: RFC 4291, appendix A


def advertising(site: Site, *subnets: int, **advertisement: Any) -> dict[str, Any]:
    """A router that advertises in subnet 1 and has interfaces in the others as well."""
    router = site.router("r1", 1, *subnets, mac=ROUTER)
    router["interfaces"][0]["router_advertisement"] = advertisement
    return router


def is_advertisement(frame: bytes) -> bool:
    return frame[12:14] == b"\x86\xdd" and frame[20] == 58 and frame[54] == 134


def solicitation(host: Host, source: str | None = None) -> bytes:
    """RFC 4861, section 4.1; from :: without the option."""
    message: Packet = ICMPv6ND_RS()
    if source is not None:
        message = message / ICMPv6NDOptSrcLLAddr(lladdr=host.mac)
    return bytes(Ether(src=host.mac, dst="33:33:00:00:00:02")
                 / IPv6(src=source or "::", dst="ff02::2", hlim=255) / message)


def next_advertisement(host: Host, deadline: float = 5) -> Packet:
    """The next one, judged by what every one must have: RFC 4861, section 6.1.2."""
    got = host.link.collect(1, deadline, is_advertisement)
    assert got, f"no router advertisement within {deadline} s"
    packet = frames.assert_icmp(got[0].data)
    assert packet.src == ROUTER
    assert packet[IPv6].src == LINK_LOCAL and packet[IPv6].hlim == 255
    assert packet[ICMPv6NDOptSrcLLAddr].lladdr == ROUTER
    return packet


def asked(host: Host, source: str | None = "fe80::1:1") -> Packet:
    """The answer to a solicitation that comes after the first unsolicited one is past."""
    host.link.drain()
    host.link.send(solicitation(host, source))
    return next_advertisement(host)


def plain_linux(site: Site) -> Station:
    """A station in subnet 1 with nothing but a kernel that has not begun with IPv6."""
    station = site.tap(silent=True, subnet=1)
    return station


def begin_ipv6(station: Station) -> None:
    """The kernel makes a link-local address and solicits routers, as on any machine."""
    for key, value in {"accept_ra": "1", "autoconf": "1", "router_solicitations": "-1",
                       "router_solicitation_delay": "0", "addr_gen_mode": "0", "use_tempaddr": "0",
                       "disable_ipv6": "0"}.items():
        station.namespace.sysctl(f"net.ipv6.conf.eth0.{key}", value)


def global_addresses(station: Station) -> list[str]:
    shown = json.loads(station.namespace.run("ip", "-json", "-6", "address", "show", "dev",
                                             "eth0").stdout)
    return [each["local"] for link in shown for each in link.get("addr_info", [])
            if each["scope"] == "global"]


def default_routes(station: Station) -> list[dict[str, Any]]:
    shown = station.namespace.run("ip", "-json", "-6", "route", "show", "default").stdout
    return json.loads(shown or "[]")


# ---- What Linux makes of them ------------------------------------------------------------------

def test_plain_linux_configures_itself(site: Site) -> None:
    """RFC 4862: an address in the prefix, a default route, and a host of another subnet is reached."""
    advertising(site, 2)
    station, server = plain_linux(site), site.veth(subnet=2)
    site.apply()
    begin_ipv6(station)
    [address] = shell.wait_until(lambda: global_addresses(station), "an address came")
    assert ipaddress.ip_address(address) in ipaddress.ip_network("fd00:1::/64")
    [route] = default_routes(station)
    assert (route["gateway"], route["protocol"]) == (LINK_LOCAL, "ra")
    shell.wait_until(lambda: station.namespace.run("ping", "-n", "-c", "1", "-W", "1", server.ipv6,
                                                   check=False).returncode == 0,
                     f"{server.ipv6} is reached")
    iperf.ping_ms(server.namespace, address, count=2)


def test_linux_takes_the_mtu(site: Site) -> None:
    """RFC 4861, section 4.6.4."""
    site.network("net1", mtu=1400)
    advertising(site)
    station = plain_linux(site)
    site.apply()
    begin_ipv6(station)
    shell.wait_until(lambda: global_addresses(station), "an address came")
    with station.namespace.entered():
        with open("/proc/sys/net/ipv6/conf/eth0/mtu") as file:
            assert file.read().strip() == "1400"


def test_linux_makes_no_address_where_it_must_not(site: Site) -> None:
    """`no_autonomous`: the route comes, an address does not."""
    advertising(site, no_autonomous=True)
    station = plain_linux(site)
    site.apply()
    begin_ipv6(station)
    shell.wait_until(lambda: default_routes(station), "a default route came")
    assert global_addresses(station) == []


def test_router_that_is_no_default_router(site: Site) -> None:
    """RFC 4861, section 6.2.3: lifetime 0; hosts take the prefix and no route."""
    advertising(site, lifetime=0)
    station = plain_linux(site)
    site.apply()
    begin_ipv6(station)
    shell.wait_until(lambda: global_addresses(station), "an address came")
    assert default_routes(station) == []


# ---- What they say -----------------------------------------------------------------------------

@pytest.mark.parametrize("given, flags", [
    ({}, (0, 0, 1)), ({"managed": True}, (1, 0, 1)), ({"other_config": True}, (0, 1, 1)),
    ({"managed": True, "other_config": True, "no_autonomous": True}, (1, 1, 0))])
def test_flags_are_those_of_the_document(
        site: Site, given: dict[str, bool], flags: tuple[int, int, int]) -> None:
    """RFC 4861, section 4.2 and 4.6.2."""
    advertising(site, **given)
    host = Host(site, 1)
    frames.apply_with(site, host)
    packet = asked(host)
    message, prefix = packet[ICMPv6ND_RA], packet[ICMPv6NDOptPrefixInfo]
    assert (message.M, message.O, prefix.A) == flags
    assert prefix.L == 1 and (prefix.prefix, prefix.prefixlen) == ("fd00:1::", 64)
    assert prefix.validlifetime >= prefix.preferredlifetime > 0
    assert packet[ICMPv6NDOptMTU].mtu == 1500
    assert message.routerlifetime == 600 and message.chlim in (0, 64)


def test_every_prefix_is_advertised_once(site: Site) -> None:
    """Two addresses in one subnet are one prefix; only one of 64 bits is for making addresses of it
    (RFC 4862, section 5.5.3)."""
    router = advertising(site, interval=100, lifetime=1234)
    router["interfaces"][0]["addresses"] += ["fd00:1::fd/64", "fd00:7::1/64", "fd00:8::1/80"]
    host = Host(site, 1)
    frames.apply_with(site, host)
    packet = asked(host)
    assert packet[ICMPv6ND_RA].routerlifetime == 1234
    prefixes = []
    layer: Packet = packet[ICMPv6ND_RA]
    while layer:
        if isinstance(layer, ICMPv6NDOptPrefixInfo):
            prefixes.append((layer.prefix, layer.prefixlen, layer.A))
        layer = layer.payload
    assert sorted(prefixes) == [("fd00:1::", 64, 1), ("fd00:7::", 64, 1), ("fd00:8::", 80, 0)]


def test_change_of_the_document_is_advertised(site: Site) -> None:
    router = advertising(site)
    host = Host(site, 1)
    frames.apply_with(site, host)
    assert asked(host)[ICMPv6ND_RA].M == 0
    router["interfaces"][0]["router_advertisement"] = {"managed": True}
    host.link.drain()
    site.apply()
    assert next_advertisement(host)[ICMPv6ND_RA].M == 1


# ---- When they come ----------------------------------------------------------------------------

@pytest.mark.parametrize("source", ["fe80::1:1", None], ids=["from a host", "from nobody"])
def test_solicitation_is_answered_within_a_second(site: Site, source: str | None) -> None:
    """RFC 4861, section 6.2.6: 0.5 s at most, to all nodes or to the host alone; those to all come
    no nearer to each other than 3 s."""
    advertising(site)
    host = Host(site, 1, addresses=("fe80::1:1",))
    frames.apply_with(site, host)
    host.link.collect(1, 4, is_advertisement)  # the unsolicited one, if it was not before us
    while host.link.collect(1, 3.5, is_advertisement):
        pass
    begin = time.monotonic()
    packet = asked(host, source)
    assert time.monotonic() - begin < 1
    assert packet[IPv6].dst in ("ff02::1", *([source] if source else []))
    if source is None:
        return
    # Again: at once, to this host alone.
    begin = time.monotonic()
    packet = asked(host, source)
    assert time.monotonic() - begin < 1
    assert (packet[IPv6].dst, packet.dst) == (source, host.mac)


def test_unsolicited_ones_come_by_themselves(site: Site) -> None:
    """RFC 4861, section 6.2.4: within the interval, jittered; the first ones no later than 16 s."""
    advertising(site, interval=4, lifetime=30)
    host = Host(site, 1)
    frames.apply_with(site, host)
    for _ in range(3):
        packet = next_advertisement(host, 5)
        assert (packet[IPv6].dst, packet.dst) == ("ff02::1", "33:33:00:00:00:01")
        assert packet[ICMPv6ND_RA].routerlifetime == 30


def test_forged_solicitation_is_not_answered(site: Site) -> None:
    """RFC 4861, section 6.1.1: hop limit 255, a right checksum, no option from ::."""
    advertising(site)
    host = Host(site, 1, addresses=("fe80::1:1",))
    frames.apply_with(site, host)
    asked(host)
    good = solicitation(host, "fe80::1:1")
    hop_limit = good[:21] + b"\xfe" + good[22:]
    checksum = good[:57] + bytes([good[57] ^ 1]) + good[58:]
    from_nobody = bytes(Ether(src=host.mac, dst="33:33:00:00:00:02")
                        / IPv6(src="::", dst="ff02::2", hlim=255) / ICMPv6ND_RS()
                        / ICMPv6NDOptSrcLLAddr(lladdr=host.mac))
    length = bytearray(good)
    length[63] = 0
    for number, frame in enumerate((hop_limit, checksum, from_nobody, bytes(length)), 1):
        host.link.send(frame)
        site.wait_for_drop("bad-nd", number, host.port)
    unicast = [frame for frame in host.link.drain() if is_advertisement(frame.data)
               and host.is_mine(frame.data)]
    assert unicast == []
    host.until_echo()
    assert asked(host)[IPv6].src == LINK_LOCAL


def test_silent_router_advertises_nothing(site: Site) -> None:
    """None are sent where the document does not ask for them."""
    site.router("r1", 1, mac=ROUTER)
    host = Host(site, 1)
    frames.apply_with(site, host)
    host.link.send(solicitation(host, "fe80::1:1"))
    host.link.send(solicitation(host))
    # Something else is answered, and announcements of the interface come: they do not.
    assert [frame for frame in host.until_echo() if is_advertisement(frame)] == []
    assert host.link.collect(1, 2, is_advertisement) == []


def test_advertisement_of_a_router_does_not_reach_other_networks(site: Site) -> None:
    advertising(site, 2)
    host, other = Host(site, 1), Host(site, 2)
    frames.apply_with(site, host, other)
    asked(host)
    assert [frame for frame in other.link.drain() if is_advertisement(frame.data)] == []
