"""ICMP and ICMPv6 of routers: echo, errors, who gets them, from which address, and what they quote."""

from __future__ import annotations

import re
import struct
import time

import frames
import pytest
from frames import ROUTER, Host, ip
from lab import shell
from lab.site import Site, Station
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6EchoRequest, ICMPv6PacketTooBig, IPv6,
                                IPv6ExtHdrFragment)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

NOWHERE = {4: "198.51.100.1", 6: "2001:db8:bad::1"}
# Type and code per version: RFC 792, RFC 1812 section 5.2.7.1, RFC 4443 section 3.
TIME_EXCEEDED = {4: (11, 0), 6: (3, 0)}
NO_ROUTE = {4: (3, 0), 6: (1, 0)}
UNREACHABLE = {4: (3, 1), 6: (1, 3)}
PROHIBITED = {4: (3, 13), 6: (1, 1)}
PORT_UNREACHABLE = {4: (3, 3), 6: (1, 4)}
LARGEST = {4: 576, 6: 1280}


def router_and_hosts(site: Site, **fields: object) -> tuple[Host, Host]:
    """Known hosts in subnets 1 and 2 with a router between."""
    site.router("r1", 1, 2, mac=ROUTER, **fields)
    hosts = Host(site, 1), Host(site, 2)
    frames.apply_with(site, *hosts)
    return hosts


def udp(size: int = 20, port: int = 33434) -> Packet:
    return UDP(sport=40000, dport=port) / Raw(bytes(range(256)) * (size // 256) + bytes(size % 256))


def assert_error(frame: bytes, sent: bytes, kind: tuple[int, int], source: str) -> Packet:
    """Fails unless a frame is the ICMP error of this type and code about the one sent, from this
    address to whoever sent it, quoting as much of it as belongs there."""
    packet = frames.assert_icmp(frame)
    version = frame[14] >> 4
    about = Ether(sent)
    header = packet[IP] if version == 4 else packet[IPv6]
    original = about[IP] if version == 4 else about[IPv6]
    size = original.len if version == 4 else original.plen + 40
    length = header.len if version == 4 else header.plen + 40
    at = 34 if version == 4 else 54
    assert (frame[at], frame[at + 1]) == kind, packet.summary()
    assert header.src == source and header.dst == original.src, packet.summary()
    assert (packet.src, packet.dst) == (ROUTER, about.src)
    assert (header.ttl if version == 4 else header.hlim) >= 64
    overhead = at - 14 + 8
    expected = sent[14:14 + min(size, LARGEST[version] - overhead)]
    assert frame[at + 8:14 + length] == expected, "the quotation is not the packet sent"
    assert length <= LARGEST[version]
    return packet


# ---- Errors, and from which address ------------------------------------------------------------

@pytest.mark.parametrize("version", [4, 6])
def test_traceroute_shows_a_random_address_of_an_interface_with_two_subnets(
        site: Site, version: int) -> None:
    """Field case 4.5: the address is the one in the sender's subnet, else the first."""
    router = site.router("r1", 1, 2, mac=ROUTER)
    router["interfaces"][0]["addresses"] += ["10.0.9.1/24", "fd00:9::1/64"]
    router["routes"] = [{"prefix": "203.0.113.0/24", "next_hops": [{"address": "10.0.1.1"}]},
                        {"prefix": "2001:db8:1::/48", "next_hops": [{"address": "fd00:1::1"}]}]
    host = Host(site, 1, addresses=("10.0.9.7", "fd00:9::7"))
    frames.apply_with(site, host)
    senders = {4: {host.ipv4: "10.0.1.254", "10.0.9.7": "10.0.9.1", "203.0.113.5": "10.0.1.254"},
               6: {host.ipv6: "fd00:1::fe", "fd00:9::7": "fd00:9::1",
                   "2001:db8:1::5": "fd00:1::fe"}}
    for sender, expected in senders[version].items():
        sent = host.frame(ip(version, sender, NOWHERE[version], ttl=1) / udp())
        answers = host.answers(sent)
        assert len(answers) == 1, f"{len(answers)} answers to {sender}"
        assert_error(answers[0], sent, TIME_EXCEEDED[version], expected)


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("ttl", [0, 1])
def test_packet_whose_time_is_up_is_answered(site: Site, version: int, ttl: int) -> None:
    """RFC 1812, section 5.3.1; RFC 4443, section 3.3."""
    host, other = router_and_hosts(site)
    sent = host.frame(ip(version, host.source(version), other.source(version), ttl=ttl) / udp())
    answers = host.answers(sent)
    assert len(answers) == 1
    assert_error(answers[0], sent, TIME_EXCEEDED[version], host.station.gateways[version == 6])
    assert site.client.drops(host.port)["ttl-exceeded"] == 1
    assert other.until_echo() == []


@pytest.mark.parametrize("version", [4, 6])
def test_packet_with_time_left_is_passed_on_with_one_less(site: Site, version: int) -> None:
    host, other = router_and_hosts(site)
    sent = host.frame(ip(version, host.source(version), other.source(version), ttl=2) / udp())
    assert host.answers(sent) == []
    [got] = other.until_echo()
    packet = frames.assert_checksums(got)
    assert (packet[IP].ttl if version == 4 else packet[IPv6].hlim) == 1
    assert (packet.src, packet.dst) == (ROUTER, other.mac)


def two_routers(site: Site) -> tuple[Station, Station]:
    """Stations in subnets 1 and 2; between them two routers on the transit network net3."""
    first = site.router("r1", 1, 3)
    second = site.router("r2", 3, 2)
    second["interfaces"][0]["addresses"] = ["10.0.3.253/24", "fd00:3::fd/64"]
    first["routes"] = [{"prefix": "10.0.2.0/24", "next_hops": [{"address": "10.0.3.253"}]},
                       {"prefix": "fd00:2::/64", "next_hops": [{"address": "fd00:3::fd"}]}]
    second["routes"] = [{"prefix": "10.0.1.0/24", "next_hops": [{"address": "10.0.3.254"}]},
                        {"prefix": "fd00:1::/64", "next_hops": [{"address": "fd00:3::fe"}]}]
    return site.tap(subnet=1), site.veth(subnet=2)


def test_hosts_behind_two_routers_reach_each_other(site: Site) -> None:
    client, server = two_routers(site)
    site.apply()
    site.wait_for_ping(client, server)
    site.exercise(client, server)


@pytest.mark.parametrize("family", [0, 1], ids=["ipv4", "ipv6"])
def test_traceroute_shows_nothing_or_one_of_two_routers(site: Site, family: int) -> None:
    """Field case 4.5."""
    client, server = two_routers(site)
    site.apply()
    site.wait_for_ping(client, server)

    def hop(ttl: int) -> str:
        """Who answers a packet with this TTL."""
        done = client.namespace.run("ping", "-n", "-c", "1", "-W", "2", "-t", str(ttl),
                                    server.addresses[family], check=False)
        found = re.search(r"^(?:From|\d+ bytes from) ([0-9a-f.:]+?)(?:%\w+)?:? icmp_seq=1 (.*)",
                          done.stdout, re.M)
        return f"{found[1]} {found[2].split('=')[0]}" if found else done.stdout

    exceeded = "Time to live exceeded" if family == 0 else "Time exceeded: Hop limit"
    second = ("10.0.3.253", "fd00:3::fd")[family]
    assert [hop(1), hop(2), hop(3)] == [f"{client.gateways[family]} {exceeded}",
                                        f"{second} {exceeded}", f"{server.addresses[family]} ttl"]


@pytest.mark.parametrize("version", [4, 6])
def test_packet_without_a_route_is_answered(site: Site, version: int) -> None:
    """RFC 1812, section 5.2.7.1; RFC 4443, section 3.1: code 0."""
    host, _ = router_and_hosts(site)
    sent = host.frame(ip(version, host.source(version), NOWHERE[version]) / udp())
    answers = host.answers(sent)
    assert len(answers) == 1
    assert_error(answers[0], sent, NO_ROUTE[version], host.station.gateways[version == 6])
    assert site.client.drops(host.port)["no-route"] == 1


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("what", ["blackhole", "reject"])
def test_blackhole_is_silent_and_reject_is_not(site: Site, version: int, what: str) -> None:
    routes = [{"prefix": "198.51.100.0/24", what: True}, {"prefix": "2001:db8:bad::/48", what: True}]
    host, _ = router_and_hosts(site, routes=routes)
    sent = host.frame(ip(version, host.source(version), NOWHERE[version]) / udp())
    answers = host.answers(sent)
    if what == "blackhole":
        assert answers == []
        assert site.client.drops(host.port)["blackhole"] == 1
        return
    assert len(answers) == 1
    assert_error(answers[0], sent, PROHIBITED[version], host.station.gateways[version == 6])
    assert site.client.drops(host.port)["rejected"] == 1


@pytest.mark.parametrize("version", [4, 6])
def test_neighbour_that_nobody_has_is_reported_after_three_requests(
        site: Site, version: int) -> None:
    """RFC 4861, section 7.2.2: address unreachable for what waited; RFC 1812, section 5.2.7.1."""
    host, other = router_and_hosts(site)
    missing = {4: "10.0.2.200", 6: "fd00:2::c8"}[version]
    host.until_echo()
    other.link.drain()
    begin = time.monotonic()
    sent = [host.send(ip(version, host.source(version), missing) / udp(20 + n)) for n in range(3)]
    answers = host.collect(3, 8)
    elapsed = time.monotonic() - begin
    assert len(answers) == 3, f"{len(answers)} answers to 3 packets"
    for frame, about in zip(answers, sent):
        assert_error(frame, about, UNREACHABLE[version], host.station.gateways[version == 6])
    assert 2.5 < elapsed < 5, f"after {elapsed:.1f} s"
    asked = [frame.data for frame in other.link.drain()]
    if version == 4:
        asked = [frame for frame in asked if frame[12:14] == b"\x08\x06"
                 and frame[38:42] == bytes([10, 0, 2, 200])]
    else:
        asked = [frame for frame in asked if frame[12:14] == b"\x86\xdd" and frame[54] == 135]
    assert len(asked) == 3, f"{len(asked)} requests"
    site.wait_for_drop("neighbor-unreachable", 3, host.port)


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("protocol", ["udp", "tcp"])
def test_routers_own_address_serves_nothing(site: Site, version: int, protocol: str) -> None:
    """RFC 1122, section 4.1.3.1; RFC 4443, section 3.1: code 4."""
    host, other = router_and_hosts(site)
    l4 = udp() if protocol == "udp" else TCP(sport=40000, dport=22, flags="S")
    for gateway in (host.station.gateways[version == 6], other.station.gateways[version == 6]):
        sent = host.frame(ip(version, host.source(version), gateway) / l4)
        answers = host.answers(sent)
        assert len(answers) == 1, f"{len(answers)} answers from {gateway}"
        assert_error(answers[0], sent, PORT_UNREACHABLE[version],
                     host.station.gateways[version == 6])
    assert site.client.drops(host.port)["no-such-service"] == 2


# ---- What no error may be about ----------------------------------------------------------------

SILENT_ABOUT = {
    "an ICMP error": lambda me: IP(src=me.ipv4, dst=NOWHERE[4]) / ICMP(type=3, code=1)
    / IP(src=NOWHERE[4], dst=me.ipv4) / UDP(),
    "an ICMP redirect": lambda me: IP(src=me.ipv4, dst=NOWHERE[4]) / ICMP(type=5, code=1, gw="10.0.1.9")
    / IP(src=NOWHERE[4], dst=me.ipv4) / UDP(),
    "an ICMP message of unknown type": lambda me: IP(src=me.ipv4, dst=NOWHERE[4])
    / ICMP(type=200) / Raw(b"????"),
    "a later fragment": lambda me: IP(src=me.ipv4, dst=NOWHERE[4], frag=10, proto=17) / Raw(b"rest"),
    "a multicast destination": lambda me: IP(src=me.ipv4, dst="239.1.1.1", ttl=1) / UDP(),
    "the broadcast address": lambda me: IP(src=me.ipv4, dst="255.255.255.255", ttl=1) / UDP(),
    "a directed broadcast": lambda me: IP(src=me.ipv4, dst="10.0.2.255") / UDP(),
    "a sender without address": lambda me: IP(src="0.0.0.0", dst=NOWHERE[4]) / UDP(),
    "a loopback sender": lambda me: IP(src="127.0.0.1", dst=NOWHERE[4]) / UDP(),
    "a multicast sender": lambda me: IP(src="239.1.1.1", dst=NOWHERE[4]) / UDP(),
    "a broadcast sender": lambda me: IP(src="10.0.1.255", dst=NOWHERE[4]) / UDP(),
    "an ICMPv6 error": lambda me: IPv6(src=me.ipv6, dst=NOWHERE[6]) / ICMPv6DestUnreach()
    / IPv6(src=NOWHERE[6], dst=me.ipv6) / UDP(),
    "an ICMPv6 packet too big": lambda me: IPv6(src=me.ipv6, dst=NOWHERE[6]) / ICMPv6PacketTooBig()
    / IPv6(src=NOWHERE[6], dst=me.ipv6) / UDP(),
    "a later IPv6 fragment": lambda me: IPv6(src=me.ipv6, dst=NOWHERE[6])
    / IPv6ExtHdrFragment(nh=17, offset=10, m=0) / Raw(b"rest"),
    "an IPv6 multicast destination": lambda me: IPv6(src=me.ipv6, dst="ff0e::1", hlim=1) / UDP(),
    "an IPv6 sender without address": lambda me: IPv6(src="::", dst=NOWHERE[6]) / UDP(),
    "an IPv6 multicast sender": lambda me: IPv6(src="ff0e::1", dst=NOWHERE[6]) / UDP(),
    "an ICMPv6 error whose time is up": lambda me: IPv6(src=me.ipv6, dst="fd00:2::2", hlim=1)
    / ICMPv6DestUnreach() / IPv6(src=NOWHERE[6], dst=me.ipv6) / UDP(),
}


def test_no_error_is_sent_about_what_must_not_be_answered(site: Site) -> None:
    """RFC 1812, section 4.3.2.7; RFC 4443, section 2.4 (e)."""
    host, other = router_and_hosts(site)
    for what, make in SILENT_ABOUT.items():
        assert host.answers(host.frame(make(host))) == [], f"an error about {what}"
    assert other.until_echo() == [], "one of them was forwarded"
    # Each of them would be answered if it were an ordinary packet.
    for version in (4, 6):
        ordinary = ip(version, host.source(version), NOWHERE[version]) / UDP()
        assert len(host.answers(host.frame(ordinary))) == 1


def test_no_error_is_sent_about_frames_to_everybody(site: Site) -> None:
    """RFC 1812, section 4.3.2.7: a link-layer broadcast or multicast."""
    host, other = router_and_hosts(site)
    for version in (4, 6):
        packet = ip(version, host.source(version), NOWHERE[version], ttl=1) / udp()
        for destination in (frames.BROADCAST, "01:00:5e:00:00:01", "33:33:00:00:00:01"):
            assert host.answers(host.frame(packet, destination)) == []
    assert other.until_echo() == [], "forwarded"


@pytest.mark.parametrize("version", [4, 6])
def test_first_fragment_is_answered(site: Site, version: int) -> None:
    """Only those past the first are not."""
    host, _ = router_and_hosts(site)
    if version == 4:
        packet = IP(src=host.ipv4, dst=NOWHERE[4], flags="MF") / udp(64)
    else:
        packet = IPv6(src=host.ipv6, dst=NOWHERE[6]) / IPv6ExtHdrFragment(nh=17, m=1) / udp(64)
    sent = host.frame(packet)
    [answer] = host.answers(sent)
    assert_error(answer, sent, NO_ROUTE[version], host.station.gateways[version == 6])


@pytest.mark.parametrize("version", [4, 6])
def test_error_about_an_echo_request_is_sent(site: Site, version: int) -> None:
    """A query is no error: RFC 1812, section 4.3.2.7."""
    host, _ = router_and_hosts(site)
    echo = ICMP() if version == 4 else ICMPv6EchoRequest()
    sent = host.frame(ip(version, host.source(version), NOWHERE[version]) / echo)
    [answer] = host.answers(sent)
    assert_error(answer, sent, NO_ROUTE[version], host.station.gateways[version == 6])


# ---- How many, and how long --------------------------------------------------------------------

@pytest.mark.parametrize("version", [4, 6])
def test_flood_of_expired_packets_is_answered_a_thousand_times_a_second(
        site: Site, version: int) -> None:
    """RFC 1812, section 4.3.2.8; RFC 4443, section 2.4 (f). The accounts hold for those without an
    answer as well."""
    host, other = router_and_hosts(site)
    sent = host.frame(ip(version, host.source(version), other.source(version), ttl=1) / udp())
    host.until_echo()
    begin = time.monotonic()
    for _ in range(3000):
        host.link.send(sent)
    answers = host.until_echo()
    elapsed = time.monotonic() - begin
    assert 90 <= len(answers) <= 300 + 1100 * elapsed, f"{len(answers)} answers in {elapsed:.2f} s"
    for answer in answers[:3]:
        assert_error(answer, sent, TIME_EXCEEDED[version], host.station.gateways[version == 6])
    assert site.client.drops(host.port)["ttl-exceeded"] == 3000
    # The other port has a limit of its own.
    reverse = other.frame(ip(version, other.source(version), host.source(version), ttl=1) / udp())
    assert len(other.answers(reverse)) == 1


@pytest.mark.parametrize("version", [4, 6])
def test_quotation_has_the_length_of_the_rfcs(site: Site, version: int) -> None:
    """RFC 1812, section 4.3.2.3: 576 bytes in all; RFC 4443, section 2.4 (c): 1280. The padding of a
    short frame is no part of the packet."""
    host, other = router_and_hosts(site)
    for size in (0, 1, 40, 519, 520, 521, 1183, 1184, 1185, 1232, 1400):
        packet = ip(version, host.source(version), other.source(version), ttl=1) / udp(size)
        sent = host.frame(packet)
        [answer] = host.answers(sent.ljust(60, b"\0"))
        error = assert_error(answer, sent, TIME_EXCEEDED[version],
                             host.station.gateways[version == 6])
        length = error[IP].len if version == 4 else error[IPv6].plen + 40
        assert length == min((28 if version == 4 else 48) * 2 + size, LARGEST[version])


def test_icmp_error_copies_as_many_bytes_as_the_packet_claims(site: Site) -> None:
    """Field case 9.12: a total length of 65535 in a frame of 60 bytes."""
    host, other = router_and_hosts(site)
    good = host.frame(IP(src=host.ipv4, dst=other.ipv4, ttl=1) / udp(18))
    for length in (47, 576, 65535):
        frame = bytearray(good)
        frame[16:18] = struct.pack("!H", length)
        frame[24:26] = b"\0\0"
        frame[24:26] = struct.pack("!H", frames.checksum(bytes(frame[14:34])))
        assert host.answers(bytes(frame)) == [], f"an answer to total length {length}"
    frame = bytearray(host.frame(IPv6(src=host.ipv6, dst=other.ipv6, hlim=1) / udp(18)))
    frame[18:20] = b"\xff\xff"
    assert host.answers(bytes(frame)) == [], "an answer to payload length 65535"
    assert site.client.drops(host.port)["bad-ip-header"] == 4


# ---- Echo --------------------------------------------------------------------------------------

@pytest.mark.parametrize("family", [0, 1], ids=["ipv4", "ipv6"])
def test_gateway_of_any_subnet_cannot_be_pinged(site: Site, family: int) -> None:
    site.router("r1", 1, 2)
    client, far = site.tap(subnet=1), site.veth(subnet=2)
    site.apply()
    for station, other in ((client, far), (far, client)):
        for gateway in (station.gateways[family], other.gateways[family]):
            for options in ("-s 0", "-s 56", "-s 1400 -M do", "-s 1400 -p ff", "-s 1 -Q 0x10",
                            "-t 1" if gateway == station.gateways[family] else "-t 1 -s 8"):
                done = station.namespace.run("ping", "-n", "-c", "2", "-i", "0.01", "-W", "2",
                                             *options.split(), gateway, check=False)
                assert " 0% packet loss" in done.stdout, \
                    f"{station.port}: ping {options} {gateway}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("version", [4, 6])
def test_echo_reply_has_the_bytes_of_the_request(site: Site, version: int) -> None:
    """RFC 792; RFC 4443, section 4.2: identifier, sequence number and data are returned."""
    host, other = router_and_hosts(site)
    for gateway in (host.station.gateways[version == 6], other.station.gateways[version == 6]):
        for data in (b"", b"x", bytes(1400), bytes(range(256))):
            kind = ICMP if version == 4 else ICMPv6EchoRequest
            echo = kind(id=0, seq=0) if data == bytes(1400) else kind(id=77, seq=513)
            sent = host.frame(ip(version, host.source(version), gateway, ttl=1) / echo / Raw(data))
            [answer] = host.answers(sent)
            packet = frames.assert_icmp(answer)
            at = 34 if version == 4 else 54
            assert answer[at] == (0 if version == 4 else 129)
            assert answer[at + 4:len(sent)] == sent[at + 4:]
            header = packet[IP] if version == 4 else packet[IPv6]
            assert (header.src, header.dst) == (gateway, host.source(version))
            assert (header.ttl if version == 4 else header.hlim) >= 64


@pytest.mark.parametrize("family", [0, 1], ids=["ipv4", "ipv6"])
def test_echo_with_wrong_checksum_is_answered_as_if_it_were_right(site: Site, family: int) -> None:
    """The data path updates the sum: what was wrong stays wrong, so that the sender's stack drops it."""
    host, _ = router_and_hosts(site)
    version = (4, 6)[family]
    kind = ICMP(chksum=0x1234) if version == 4 else ICMPv6EchoRequest(cksum=0x1234)
    sent = host.frame(ip(version, host.source(version), host.station.gateways[family]) / kind
                      / Raw(b"data"))
    for answer in host.answers(sent):
        with pytest.raises(AssertionError, match="checksum"):
            frames.assert_icmp(answer)


@pytest.mark.parametrize("family", [0, 1], ids=["ipv4", "ipv6"])
def test_errors_reach_the_sockets_of_real_stacks(site: Site, family: int) -> None:
    """A kernel believes them: no route and prohibited at once, a missing host after three seconds."""
    site.router("r1", 1, 2, routes=[{"prefix": "203.0.113.0/24", "reject": True},
                                    {"prefix": "2001:db8:9::/48", "reject": True}])
    client = site.tap(subnet=1)
    site.tap(subnet=2)
    site.apply()
    gateway = client.gateways[family]
    expected = {
        (NOWHERE[4], NOWHERE[6])[family]: ("Net Unreachable", "No route"),
        ("203.0.113.1", "2001:db8:9::1")[family]: ("Packet filtered", "Administratively prohibited"),
        ("10.0.2.99", "fd00:2::63")[family]: ("Host Unreachable", "Address unreachable"),
    }
    for address, texts in expected.items():
        done = client.namespace.run("ping", "-n", "-c", "1", "-W", "6", address, check=False)
        found = re.search(r"^From ([0-9a-f.:]+?)(?:%\w+)? icmp_seq=1 (.*)$", done.stdout, re.M)
        assert found, f"no error about {address}: {done.stdout}{done.stderr}"
        assert found[1] == gateway
        assert texts[family] in found[2], done.stdout


def test_closed_port_of_the_router_is_told_at_once(site: Site) -> None:
    """A kernel's TCP and UDP sockets see the refusal."""
    site.router("r1", 1, 2)
    client = site.tap(subnet=1)
    site.apply()
    for gateway in client.gateways:
        def refused(to: str = gateway) -> bool:
            done = client.namespace.run(
                "python3", "-c",
                "import socket, sys\n"
                "family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET\n"
                "s = socket.socket(family, socket.SOCK_DGRAM)\n"
                "s.settimeout(2)\n"
                "s.connect((sys.argv[1], 9))\n"
                "s.send(b'x')\n"
                "try:\n    s.recv(10)\n"
                "except ConnectionRefusedError:\n    sys.exit(0)\n"
                "except TimeoutError:\n    sys.exit(1)\n", to, check=False)
            return done.returncode == 0
        shell.wait_until(refused, f"UDP to {gateway} is refused", 5)
