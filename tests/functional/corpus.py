"""Malformed frames: every base frame cut at every byte, with every length field wrong, and noise.

All begin with the Ethernet header that the caller asks for as far as the cut leaves it."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

from scapy.contrib.geneve import GENEVE
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (ICMPv6EchoRequest, ICMPv6ND_NS, IPv6, IPv6ExtHdrDestOpt,
                                IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting)
from scapy.layers.l2 import ARP, GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw


def _ipv4() -> IP:
    return IP(src="10.7.0.1", dst="10.7.0.2")


def _ipv6() -> IPv6:
    return IPv6(src="fd07::1", dst="fd07::2")


def base_frames(source: str, destination: str) -> list[bytes]:
    """Well-formed frames of each kind of header that a parser walks."""
    ethernet = Ether(src=source, dst=destination)
    tcp, udp, text = TCP(sport=1, dport=2), UDP(sport=1, dport=2), Raw(b"payload")
    inner = Ether(src=source, dst=destination) / _ipv4() / tcp / text
    chain: Packet = _ipv6()
    for _ in range(20):
        chain = chain / IPv6ExtHdrDestOpt()
    packets: list[Packet] = [
        ARP(psrc="10.7.0.1", pdst="10.7.0.2"),
        _ipv4() / tcp / text,
        _ipv4() / udp / text,
        _ipv4() / ICMP() / text,
        IP(src="10.7.0.1", dst="10.7.0.2", options=b"\x01" * 40) / tcp / text,
        IP(src="10.7.0.1", dst="10.7.0.2", flags="MF", frag=0) / udp / text,
        IP(src="10.7.0.1", dst="10.7.0.2", frag=100, proto=17) / text,
        IP(src="10.7.0.1", dst="10.7.0.2", proto=0) / text,
        _ipv4() / TCP(sport=1, dport=2, options=[("MSS", 1460), ("NOP", None)] * 4) / text,
        _ipv6() / tcp / text,
        _ipv6() / udp / text,
        _ipv6() / ICMPv6EchoRequest() / text,
        _ipv6() / ICMPv6ND_NS(tgt="fd07::2"),
        _ipv6() / IPv6ExtHdrHopByHop() / IPv6ExtHdrRouting(addresses=["fd07::3"])
        / IPv6ExtHdrDestOpt() / tcp / text,
        _ipv6() / IPv6ExtHdrFragment(m=1, offset=0) / udp / text,
        _ipv6() / IPv6ExtHdrFragment(m=0, offset=50) / text,
        chain / tcp / text,
        IPv6(src="fd07::1", dst="fd07::2", nh=59) / text,
        Dot1Q(vlan=5) / _ipv4() / tcp / text,
        Dot1Q(vlan=5) / Dot1Q(vlan=6) / _ipv6() / udp / text,
        _ipv4() / UDP(dport=4789) / VXLAN(vni=1) / inner,
        _ipv4() / UDP(dport=6081) / GENEVE(vni=1) / inner,
        _ipv4() / GRE() / MPLS(label=16, s=1) / _ipv4() / tcp / text,
        MPLS(label=16, s=0) / MPLS(label=17, s=1) / _ipv4() / udp / text,
    ]
    return [bytes(ethernet / packet) for packet in packets]


def truncated(frames: list[bytes]) -> Iterator[bytes]:
    """Each frame cut at every byte. The kernel sends nothing shorter than an Ethernet header."""
    for frame in frames:
        for length in range(14, len(frame)):
            yield frame[:length]


def wrong_lengths(frames: list[bytes]) -> Iterator[bytes]:
    """Length fields of IPv4, IPv6, TCP and UDP at their edges; padding; next headers of zero."""
    values = (0, 1, 7, 8, 19, 20, 21, 0x7FFF, 0xFFFF)
    for frame in frames:
        kind = frame[12:14]
        if kind == b"\x08\x00":
            for value in values:
                yield frame[:16] + struct.pack("!H", value) + frame[18:]
            for words in range(16):
                yield frame[:14] + bytes([0x40 | words]) + frame[15:]
                yield frame[:46] + bytes([words << 4]) + frame[47:]  # TCP data offset
            for value in values:
                yield frame[:38] + struct.pack("!H", value) + frame[40:]  # UDP length
            for version in range(16):
                yield frame[:14] + bytes([version << 4 | 5]) + frame[15:]
        elif kind == b"\x86\xdd":
            for value in values:
                yield frame[:18] + struct.pack("!H", value) + frame[20:]
            for protocol in range(256):
                yield frame[:20] + bytes([protocol]) + frame[21:]
            for value in (0, 1, 2, 127, 255):
                yield frame[:55] + bytes([value]) + frame[56:]  # length of an extension header
        for padding in (1, 46, 256, 1200):
            yield frame + bytes(padding)


def noise(source: str, destination: str, count: int, seed: int = 1) -> Iterator[bytes]:
    """Random bytes behind an Ethernet header of every EtherType that matters, and random ones."""
    chance = random.Random(seed)
    addresses = bytes.fromhex((destination + source).replace(":", ""))
    types = [b"\x08\x00", b"\x86\xdd", b"\x08\x06", b"\x81\x00", b"\x88\xa8", b"\x88\x47"]
    for number in range(count):
        kind = types[number % 8] if number % 8 < len(types) else chance.randbytes(2)
        yield addresses + kind + chance.randbytes(chance.randrange(0, 1400))


def flipped(frames: list[bytes], count: int, seed: int = 2) -> Iterator[bytes]:
    """Well-formed frames with a few random bytes behind the addresses changed."""
    chance = random.Random(seed)
    for _ in range(count):
        frame = bytearray(chance.choice(frames))
        for _ in range(chance.randrange(1, 5)):
            frame[chance.randrange(12, len(frame))] = chance.randrange(256)
        yield bytes(frame)


def whole(source: str, destination: str) -> Iterator[bytes]:
    """The corpus."""
    frames = base_frames(source, destination)
    yield from frames
    yield from truncated(frames)
    yield from wrong_lengths(frames)
    yield from noise(source, destination, 1000)
    yield from flipped(frames, 1000)
