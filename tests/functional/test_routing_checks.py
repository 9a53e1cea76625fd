"""What a router must not forward: malformed packets, martians, source routes, foreign link-local
addresses, and what reverse-path checks refuse. Each has its name; nothing else suffers."""

from __future__ import annotations

import struct
from collections.abc import Callable

import corpus
import frames
import pytest
from frames import ROUTER, Host, ip
from lab.site import Site
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt,
                                IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, PadN)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

Change = Callable[[bytearray], None]


@pytest.fixture(scope="module")
def pair(shared_site: Site) -> tuple[Host, Host]:
    """Hosts in subnets 1 and 2 with a router between, which no test changes."""
    shared_site.router("r1", 1, 2, mac=ROUTER)
    hosts = Host(shared_site, 1, addresses=("fe80::1:1",)), Host(shared_site, 2)
    frames.apply_with(shared_site, *hosts)
    return hosts


def udp() -> Packet:
    return UDP(sport=1000, dport=2000) / Raw(b"twenty bytes of data")


def ipv4(near: Host, other: Host) -> bytearray:
    return bytearray(near.frame(IP(src=near.ipv4, dst=other.ipv4, id=1) / udp()))


def ipv6(near: Host, other: Host) -> bytearray:
    return bytearray(near.frame(IPv6(src=near.ipv6, dst=other.ipv6) / udp()))


def with_checksum(frame: bytearray) -> bytes:
    """The IPv4 header checksum made right, for whatever length the header claims to have."""
    end = 14 + max((frame[14] & 15) * 4, 20)
    frame[24:26] = b"\0\0"
    frame[24:26] = struct.pack("!H", frames.checksum(bytes(frame[14:end])))
    return bytes(frame)


def assert_dropped(site: Site, near: Host, other: Host, frame: bytes, reason: str) -> list[bytes]:
    """Fails unless the frame is dropped for the reason and for no other, and nothing of it reaches
    the other host; answers what the sender got."""
    before = site.client.drops(near.port)
    answers = near.answers(frame)
    after = site.client.drops(near.port)
    new = {key: after[key] - before[key] for key in after if after[key] != before[key]}
    assert new == {reason: 1}, f"{Ether(frame).summary()}: {new}"
    assert other.until_echo() == [], f"{Ether(frame).summary()} was forwarded"
    return answers


def assert_passes(near: Host, other: Host, frame: bytes, packet: bytes | None = None) -> bytes:
    """Fails unless the packet arrives, but for TTL and header checksum as it was."""
    assert near.answers(frame) == []
    got = other.until_echo()
    assert len(got) == 1, f"{Ether(frame).summary()}: {len(got)} arrived"
    expected = bytearray(frame[14:] if packet is None else packet)
    if expected[0] >> 4 == 4:
        header = (expected[0] & 15) * 4
        expected[8] -= 1
        expected[10:12] = b"\0\0"
        expected[10:12] = struct.pack("!H", frames.checksum(bytes(expected[:header])))
    else:
        expected[7] -= 1
    assert got[0][14:14 + len(expected)] == bytes(expected)
    return got[0]


# ---- Malformed ---------------------------------------------------------------------------------

def put(at: int, value: bytes) -> Change:
    def change(frame: bytearray) -> None:
        frame[at:at + len(value)] = value
    return change


BAD_IPV4: dict[str, Change] = {
    "version 0": put(14, b"\x05"), "version 5": put(14, b"\x55"), "version 6": put(14, b"\x65"),
    "header of 0 words": put(14, b"\x40"), "header of 4 words": put(14, b"\x44"),
    "total length 0": put(16, b"\0\0"), "total length 19": put(16, b"\0\x13"),
    "total length 65535": put(16, b"\xff\xff"), "a byte more than the frame": put(16, b"\0\x31"),
}


@pytest.mark.parametrize("what", BAD_IPV4)
def test_malformed_ipv4_header_is_dropped_by_name(
        shared_site: Site, pair: tuple[Host, Host], what: str) -> None:
    """Field case 9.2 (CVE-2016-10377)."""
    frame = ipv4(*pair)
    BAD_IPV4[what](frame)
    assert assert_dropped(shared_site, *pair, with_checksum(frame), "bad-ip-header") == []


def test_ipv4_header_that_is_longer_than_its_packet(
        shared_site: Site, pair: tuple[Host, Host]) -> None:
    """Field case 9.2: header length 15 with 20 bytes, and a total length below the header's."""
    frame = bytearray(ipv4(*pair)[:34])
    frame[14] = 0x4F
    frame[16:18] = b"\0\x14"
    assert assert_dropped(shared_site, *pair, bytes(frame), "bad-ip-header") == []
    frame = ipv4(*pair) + bytearray(40)
    frame[14] = 0x48
    frame[16:18] = struct.pack("!H", 31)
    assert assert_dropped(shared_site, *pair, with_checksum(frame), "bad-ip-header") == []


@pytest.mark.parametrize("bit", [0, 7, 15])
def test_wrong_header_checksum_is_dropped(
        shared_site: Site, pair: tuple[Host, Host], bit: int) -> None:
    """RFC 1812, section 5.2.2 (2)."""
    frame = ipv4(*pair)
    frame[24 + bit // 8] ^= 1 << bit % 8
    assert assert_dropped(shared_site, *pair, bytes(frame), "bad-ip-checksum") == []


@pytest.mark.parametrize("what", ["version 4", "version 0", "longer than the frame"])
def test_malformed_ipv6_header_is_dropped_by_name(
        shared_site: Site, pair: tuple[Host, Host], what: str) -> None:
    """Field case 9.2."""
    frame = ipv6(*pair)
    if what == "longer than the frame":
        frame[18:20] = struct.pack("!H", len(frame) - 54 + 1)
    else:
        frame[14] = int(what[-1]) << 4
    assert assert_dropped(shared_site, *pair, bytes(frame), "bad-ip-header") == []


@pytest.mark.parametrize("padding", [0, 1, 46, 256, 1400])
def test_padding_of_any_length_is_no_part_of_the_packet(
        pair: tuple[Host, Host], padding: int) -> None:
    """Field case 9.1 (CVE-2020-35498): it is cut off, and flows behind it are none the worse."""
    for make in (ipv4, ipv6):
        frame = bytes(make(*pair))
        got = assert_passes(*pair, frame + b"\xaa" * padding, frame[14:])
        assert len(got) == len(frame), "the padding went along"


def test_frame_of_another_protocol_to_the_router_is_dropped(
        shared_site: Site, pair: tuple[Host, Host]) -> None:
    near, other = pair
    frame = frames.plain(near.mac, ROUTER, "not IP")
    assert assert_dropped(shared_site, near, other, frame, "not-routable") == []


# ---- Martians ----------------------------------------------------------------------------------

@pytest.mark.parametrize("source", ["0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.1", "239.255.0.1",
                                    "240.0.0.1", "255.255.255.255", "10.0.1.255", "::", "::1",
                                    "ff02::1", "ff0e::1", "::ffff:10.0.1.1", "::10.0.1.1"])
def test_source_that_nobody_can_have(
        shared_site: Site, pair: tuple[Host, Host], source: str) -> None:
    """RFC 1812, section 5.3.7; RFC 4291, sections 2.5.2, 2.5.3, 2.5.5 and 2.7."""
    near, other = pair
    version = 6 if ":" in source else 4
    frame = near.frame(ip(version, source, other.source(version)) / udp())
    assert assert_dropped(shared_site, near, other, frame, "martian") == []


@pytest.mark.parametrize("destination", ["0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.5",
                                         "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1",
                                         "ff05::1", "ff0e::1", "::ffff:10.0.2.2"])
def test_destination_that_is_not_routed(
        shared_site: Site, pair: tuple[Host, Host], destination: str) -> None:
    """RFC 1812, section 5.3.7: sent to the router's own MAC address all the same."""
    near, other = pair
    version = 6 if ":" in destination else 4
    frame = near.frame(ip(version, near.source(version), destination) / udp())
    assert assert_dropped(shared_site, near, other, frame, "martian") == []


@pytest.mark.parametrize("version", [4, 6])
def test_land_packet(shared_site: Site, pair: tuple[Host, Host], version: int) -> None:
    """Source and destination are the same host, or the router itself."""
    near, other = pair
    for address in (other.source(version), near.station.gateways[version == 6]):
        syn = ip(version, address, address) / TCP(sport=80, dport=80, flags="S")
        assert assert_dropped(shared_site, near, other, near.frame(syn), "land") == []


def test_directed_broadcast_is_not_forwarded(shared_site: Site, pair: tuple[Host, Host]) -> None:
    """RFC 2644: neither into another subnet nor back into the sender's."""
    near, other = pair
    for destination in ("10.0.2.255", "10.0.1.255"):
        frame = near.frame(IP(src=near.ipv4, dst=destination) / ICMP())
        assert assert_dropped(shared_site, near, other, frame, "martian") == []


def test_link_local_source_is_not_forwarded(shared_site: Site, pair: tuple[Host, Host]) -> None:
    """RFC 4291, section 2.5.6; the answer is that of RFC 4443, section 3.1: beyond scope of source
    address."""
    near, other = pair
    frame = near.frame(IPv6(src="fe80::1:1", dst=other.ipv6) / udp())
    answers = assert_dropped(shared_site, near, other, frame, "beyond-scope")
    assert len(answers) == 1, f"{len(answers)} answers"
    packet = frames.assert_icmp(answers[0])
    assert packet[ICMPv6DestUnreach].code == 2
    assert packet[IPv6].dst == "fe80::1:1"
    assert packet[IPv6].src.startswith("fe80::")


def test_ipv4_link_local_is_not_forwarded(shared_site: Site, pair: tuple[Host, Host]) -> None:
    """RFC 3927, section 7."""
    near, other = pair
    for source, destination in (("169.254.7.7", other.ipv4), (near.ipv4, "169.254.7.7")):
        frame = near.frame(IP(src=source, dst=destination) / udp())
        assert_dropped(shared_site, near, other, frame, "beyond-scope")


def test_link_local_address_of_the_router_can_be_pinged_and_no_other(
        shared_site: Site, pair: tuple[Host, Host]) -> None:
    near, other = pair
    router = f"fe80::5eff:fe00:{0xFFFE:x}"  # RFC 4291, appendix A, from 02:00:5e:00:ff:fe
    [answer] = near.answers(near.frame(IPv6(src="fe80::1:1", dst=router) / ICMPv6EchoRequest()))
    assert frames.assert_icmp(answer)[IPv6].src == router
    frame = near.frame(IPv6(src=near.ipv6, dst="fe80::99") / udp())
    assert_dropped(shared_site, near, other, frame, "beyond-scope")


# ---- Options and extension headers -------------------------------------------------------------

@pytest.mark.parametrize("kind", [131, 137], ids=["loose", "strict"])
@pytest.mark.parametrize("before", [b"", b"\x01\x01", b"\x9e\x04xx"], ids=["first", "nop", "other"])
def test_source_route_option_is_refused(
        shared_site: Site, pair: tuple[Host, Host], kind: int, before: bytes) -> None:
    """RFC 7126, sections 4.3 and 4.4."""
    near, other = pair
    options = before + bytes([kind, 7, 4]) + bytes([10, 0, 2, 9]) + b"\0"
    frame = near.frame(IP(src=near.ipv4, dst=other.ipv4, options=options) / udp())
    assert assert_dropped(shared_site, near, other, frame, "source-route") == []


@pytest.mark.parametrize("options", [b"\x9e\0xx", b"\x9e\x01xx", b"\x9e\x05xx", b"\x01\x01\x01\x9e"],
                         ids=["length 0", "length 1", "beyond the header", "no length"])
def test_option_with_a_wrong_length(
        shared_site: Site, pair: tuple[Host, Host], options: bytes) -> None:
    """RFC 791, section 3.1."""
    near, other = pair
    frame = bytearray(near.frame(IP(src=near.ipv4, dst=other.ipv4, options=b"\x01" * 4) / udp()))
    frame[34:38] = options
    assert assert_dropped(shared_site, near, other, with_checksum(frame), "bad-ip-header") == []


@pytest.mark.parametrize("options", [b"\x01" * 40, b"\x9e\x04xx", b"\x07\x07\x04\0\0\0\0\0", b"\0" * 4],
                         ids=["40 no-operations", "unknown", "record route", "end"])
def test_other_options_pass(pair: tuple[Host, Host], options: bytes) -> None:
    near, other = pair
    frame = bytearray(near.frame(IP(src=near.ipv4, dst=other.ipv4, options=b"\x01" * len(options))
                                 / udp()))
    frame[34:34 + len(options)] = options
    assert near.answers(with_checksum(frame)) == []
    [got] = other.until_echo()
    header = (frame[14] & 15) * 4
    assert frames.checksum(got[14:14 + header]) == 0 and got[22] == 63
    assert got[14 + header:] == bytes(frame[14 + header:])


def destination_options(count: int) -> Packet:
    chain: Packet = IPv6ExtHdrDestOpt()
    for _ in range(count - 1):
        chain = chain / IPv6ExtHdrDestOpt()
    return chain


def test_routing_header_with_segments_left(shared_site: Site, pair: tuple[Host, Host]) -> None:
    """RFC 5095; RFC 8200, section 4.4. Used up it is nobody's business."""
    near, other = pair
    for before in (None, IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt()):
        header = IPv6(src=near.ipv6, dst=other.ipv6)
        packet = header / before if before is not None else header
        left = packet / IPv6ExtHdrRouting(addresses=["fd00:2::9"], segleft=1) / udp()
        assert assert_dropped(shared_site, near, other, near.frame(left), "source-route") == []
        used = packet / IPv6ExtHdrRouting(addresses=["fd00:2::9"], segleft=0) / udp()
        assert_passes(near, other, near.frame(used))


GOOD_CHAINS = {
    "hop by hop": IPv6ExtHdrHopByHop(options=PadN(optdata=b"\0" * 4)) / udp(),
    "destination options": IPv6ExtHdrDestOpt() / udp(),
    "long options": IPv6ExtHdrDestOpt(options=PadN(optdata=b"\0" * 250)) / udp(),
    "several": IPv6ExtHdrHopByHop() / destination_options(3) / udp(),
    "first fragment": IPv6ExtHdrFragment(m=1, offset=0) / udp(),
    "later fragment": IPv6ExtHdrFragment(m=0, offset=100, nh=17) / Raw(b"rest"),
    "atomic fragment": IPv6ExtHdrFragment(m=0, offset=0) / udp(),
    "unknown protocol": Raw(b"payload of a protocol"),
}


@pytest.mark.parametrize("what", GOOD_CHAINS)
def test_extension_headers_pass(pair: tuple[Host, Host], what: str) -> None:
    """RFC 8200, section 4: most are none of a router's business. Field case 9.11."""
    near, other = pair
    header = IPv6(src=near.ipv6, dst=other.ipv6)
    if what == "unknown protocol":
        header.nh = 253
    assert_passes(near, other, near.frame(header / GOOD_CHAINS[what]))


def test_no_next_header_with_payload_passes(pair: tuple[Host, Host]) -> None:
    """RFC 8200, section 4.7."""
    near, other = pair
    assert_passes(near, other, near.frame(IPv6(src=near.ipv6, dst=other.ipv6, nh=59)
                                          / Raw(b"ignored")))


BAD_CHAINS: dict[str, tuple[int, bytes]] = {
    "hop by hop behind another": (60, b"\0\0\1\4\0\0\0\0" + b"\x11\0\1\4\0\0\0\0" + bytes(8)),
    "hop by hop twice": (0, b"\0\0\1\4\0\0\0\0" + b"\x11\0\1\4\0\0\0\0" + bytes(8)),
    "length byte 255": (0, b"\x11\xff\1\4\0\0\0\0" + bytes(20)),
    "length beyond the packet": (60, b"\x11\x01\1\4\0\0\0\0" + bytes(7)),
    "cut header": (60, b"\x11"),
    "cut routing header": (43, b"\x11\x02\0\x01"),
    "cut fragment header": (44, b"\x11\0\0"),
    "cut authentication header": (51, b"\x11\x04\0\0" + bytes(8)),
    "sixty headers": (60, b"\x3c\0\1\4\0\0\0\0" * 59 + b"\x11\0\1\4\0\0\0\0" + bytes(8)),
}


@pytest.mark.parametrize("what", BAD_CHAINS)
def test_extension_header_chain_that_leads_nowhere(
        shared_site: Site, pair: tuple[Host, Host], what: str) -> None:
    """Field case 9.11: read no further than the packet, and no more headers than is reasonable."""
    near, other = pair
    first, data = BAD_CHAINS[what]
    frame = near.frame(IPv6(src=near.ipv6, dst=other.ipv6, nh=first) / Raw(data))
    assert assert_dropped(shared_site, near, other, frame, "bad-ip-header") == []


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_chains_that_are_reasonable_pass(pair: tuple[Host, Host], count: int) -> None:
    near, other = pair
    assert_passes(near, other, near.frame(IPv6(src=near.ipv6, dst=other.ipv6)
                                          / destination_options(count) / udp()))


# ---- Reverse path ------------------------------------------------------------------------------

def strict_or_loose(site: Site, mode: str) -> tuple[Host, Host]:
    """The check is on the interface of subnet 1; a default route leads to subnet 2."""
    router = site.router("r1", 1, 2, mac=ROUTER)
    router["interfaces"][0]["reverse_path"] = mode
    near, other = Host(site, 1), Host(site, 2)
    router["routes"] = [
        {"prefix": "0.0.0.0/0", "next_hops": [{"address": other.ipv4}]},
        {"prefix": "::/0", "next_hops": [{"address": other.ipv6}]},
        {"prefix": "192.0.2.0/24", "next_hops": [{"address": near.ipv4}]},
        {"prefix": "2001:db8:1::/48", "next_hops": [{"address": near.ipv6}]},
        {"prefix": "198.51.100.0/24", "blackhole": True},
        {"prefix": "2001:db8:2::/48", "blackhole": True},
    ]
    frames.apply_with(site, near, other)
    return near, other


@pytest.mark.parametrize("mode", ["OFF", "LOOSE", "STRICT"])
def test_reverse_path(site: Site, mode: str) -> None:
    """RFC 3704, sections 2.2 to 2.4."""
    near, other = strict_or_loose(site, mode)
    passing = {"OFF": 5, "LOOSE": 3, "STRICT": 2}[mode]
    sources = {  # from the one that always passes to the one that passes only without a check
        4: (near.ipv4, "192.0.2.7", "10.0.2.77", "203.0.113.9", "198.51.100.9"),
        6: (near.ipv6, "2001:db8:1::7", "fd00:2::77", "2001:db8:77::9", "2001:db8:2::9"),
    }
    for version in (4, 6):
        for number, source in enumerate(sources[version]):
            frame = near.frame(ip(version, source, other.source(version)) / udp())
            if number < passing:
                assert_passes(near, other, frame)
            else:
                assert assert_dropped(site, near, other, frame, "reverse-path") == []
    # The other interface has no check.
    assert_passes(other, near, other.frame(IP(src="203.0.113.9", dst=near.ipv4) / udp()))


# ---- Link layer --------------------------------------------------------------------------------

def test_somebody_uses_the_routers_mac_as_source(
        shared_site: Site, pair: tuple[Host, Host]) -> None:
    """It is not learned: frames to the router go on reaching it."""
    near, other = pair
    forged = bytes(Ether(src=ROUTER, dst=frames.BROADCAST) / IP(src=near.ipv4, dst=other.ipv4) / udp())
    assert_dropped(shared_site, near, other, forged, "router-mac")
    forged = bytes(Ether(src=ROUTER, dst=ROUTER) / IP(src=near.ipv4, dst=other.ipv4) / udp())
    assert_dropped(shared_site, near, other, forged, "router-mac")
    assert_passes(near, other, bytes(ipv4(near, other)))


# ---- All of it, and the rest -------------------------------------------------------------------

def still_routes(near: Host, other: Host) -> None:
    near.link.drain()
    other.link.drain()
    assert_passes(near, other, bytes(ipv4(near, other)))
    assert_passes(near, other, bytes(ipv6(near, other)))
    assert_passes(other, near, bytes(ipv4(other, near)))


def test_packet_cut_at_every_byte(site: Site) -> None:
    """Field cases 9.2, 9.11: heddled goes on, and every frame is accounted for."""
    site.router("r1", 1, 2, mac=ROUTER)
    near, other = Host(site, 1), Host(site, 2)
    frames.apply_with(site, near, other)
    chain = IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / IPv6ExtHdrFragment(m=1)
    whole = [near.frame(packet) for packet in (
        IP(src=near.ipv4, dst=other.ipv4) / TCP() / Raw(b"data"),
        IP(src=near.ipv4, dst=other.ipv4, options=b"\x01" * 40) / udp(),
        IP(src=near.ipv4, dst=near.station.gateways[0]) / ICMP() / Raw(b"data"),
        IP(src=near.ipv4, dst=near.station.gateways[0]) / udp(),
        IPv6(src=near.ipv6, dst=other.ipv6) / TCP() / Raw(b"data"),
        IPv6(src=near.ipv6, dst=other.ipv6) / chain / udp(),
        IPv6(src=near.ipv6, dst=near.station.gateways[1]) / ICMPv6EchoRequest(data=b"data"),
        IPv6(src=near.ipv6, dst=other.ipv6, hlim=1) / chain / udp(),
        IP(src=near.ipv4, dst="198.51.100.1") / udp(),
    )]
    count = 0
    for number, frame in enumerate(corpus.truncated(whole)):
        near.link.send(frame)
        count += 1
        if number % 64 == 0:
            near.until_echo()
    still_routes(near, other)
    # Cut behind the Ethernet header and before the end of the IP packet: never well-formed.
    assert site.client.drops(near.port)["bad-ip-header"] == count
    assert set(site.client.drops()) == {"bad-ip-header"}


def test_malformed_corpus_is_sent_to_a_router(site: Site) -> None:
    """Field group 9: whatever it is, it has a name, and the router goes on."""
    router = site.router("r1", 1, 2, mac=ROUTER)
    near, other = Host(site, 1), Host(site, 2)
    router["routes"] = [{"prefix": "10.7.0.0/24", "next_hops": [{"address": other.ipv4}]},
                        {"prefix": "fd07::/64", "next_hops": [{"address": other.ipv6}]}]
    frames.apply_with(site, near, other)
    for number, frame in enumerate(corpus.whole(near.mac, ROUTER)):
        near.link.send(frame)
        if number % 64 == 0:
            near.until_echo()
    still_routes(near, other)
    known = {"bad-ip-header", "bad-ip-checksum", "martian", "land", "source-route", "ttl-exceeded",
             "no-route", "not-routable", "bad-arp", "bad-nd", "beyond-scope", "vlan-not-allowed",
             "bad-vlan-tag", "no-such-service", "neighbor-limit", "packet-too-big"}
    assert set(site.client.drops()) <= known
