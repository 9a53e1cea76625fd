"""Frames for raw stations, built and judged by scapy."""

from __future__ import annotations

import struct
from typing import Any

from lab.raw import GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, NEEDS_CSUM, RawLink, VnetHeader
from lab.site import Site
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw

BROADCAST = "ff:ff:ff:ff:ff:ff"
TEST_ETHERTYPE = 0x88B5  # IEEE 802 local experimental


def mac(number: int) -> str:
    """A unicast, locally administered address."""
    return f"02:00:5e:00:{number >> 8:02x}:{number & 255:02x}"


def plain(source: str, destination: str, text: str, vlan: int | None = None,
          size: int = 60) -> bytes:
    """A frame of an experimental EtherType that carries a text."""
    tag = Dot1Q(vlan=vlan, type=TEST_ETHERTYPE) if vlan is not None else None
    ethernet = Ether(src=source, dst=destination, type=TEST_ETHERTYPE if tag is None else 0x8100)
    head = bytes(ethernet / tag if tag is not None else ethernet)
    return (head + text.encode() + b"|").ljust(size, b"\0")


def text_of(frame: bytes) -> str | None:
    """The text of a plain() frame; None for any other."""
    for at in (14, 18):
        if frame[at - 2:at] == TEST_ETHERTYPE.to_bytes(2, "big"):
            return frame[at:].split(b"|", 1)[0].decode(errors="replace")
    return None


def is_plain(frame: bytes) -> bool:
    return text_of(frame) is not None


def vlan_of(frame: bytes) -> int | None:
    """VLAN id of the outer tag; None if untagged."""
    if frame[12:14] != b"\x81\x00":
        return None
    return struct.unpack_from("!H", frame, 14)[0] & 0x0FFF


def arp_request(source: str, sender: str, target: str) -> bytes:
    return bytes(Ether(src=source, dst=BROADCAST)
                 / ARP(op=1, hwsrc=source, psrc=sender, pdst=target)).ljust(60, b"\0")


def _sum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) of bytes in which its own field is 0."""
    return _sum(data) ^ 0xFFFF


def l4_packet(source: str, destination: str, version: int, protocol: str, payload: bytes,
              vlan: int | None = None, flags: str = "A", options: bytes = b"") -> bytes:
    """A TCP or UDP frame between two MAC addresses, all checksums valid."""
    ethernet = Ether(src=source, dst=destination)
    l3 = (IP(src="10.9.0.1", dst="10.9.0.2", id=1000, options=options or []) if version == 4
          else IPv6(src="fd09::1", dst="fd09::2"))
    l4 = (TCP(sport=4000, dport=5000, seq=1_000_000, ack=77, flags=flags, window=1000)
          if protocol == "tcp" else UDP(sport=4000, dport=5000))
    packet = l3 / l4 / Raw(payload)
    if vlan is not None:
        packet = Dot1Q(vlan=vlan) / packet
    return bytes(ethernet / packet)


def offsets(frame: bytes) -> tuple[int, int, int]:
    """L3 offset, L4 offset and IP protocol of an l4_packet()."""
    l3 = 18 if frame[12:14] == b"\x81\x00" else 14
    if frame[l3] >> 4 == 4:
        return l3, l3 + (frame[l3] & 15) * 4, frame[l3 + 9]
    return l3, l3 + 40, frame[l3 + 6]


def make_partial(frame: bytes, gso_size: int = 0, ecn: bool = False) -> tuple[bytes, VnetHeader]:
    """Turns a frame into what a Linux sender with offloads hands out: only the pseudo-header sum in
    the L4 checksum, the rest in the vnet header."""
    l3, l4, protocol = offsets(frame)
    version = frame[l3] >> 4
    addresses = frame[l3 + 12:l3 + 20] if version == 4 else frame[l3 + 8:l3 + 40]
    length = len(frame) - l4
    pseudo = _sum(addresses + struct.pack("!II", length, protocol))
    at = l4 + (16 if protocol == 6 else 6)
    partial = frame[:at] + struct.pack("!H", pseudo) + frame[at + 2:]
    header = VnetHeader(NEEDS_CSUM, csum_start=l4, csum_offset=at - l4)
    if gso_size:
        header.gso_size = gso_size
        header.gso_type = {(4, 6): GSO_TCPV4, (6, 6): GSO_TCPV6}.get((version, protocol),
                                                                    GSO_UDP_L4)
        if ecn:
            header.gso_type |= 0x80
        header.hdr_len = l4 + ((frame[l4 + 12] >> 4) * 4 if protocol == 6 else 8)
    return partial, header


def complete(frame: bytes, header: VnetHeader | None) -> bytes:
    """The frame as it would be on a wire: finishes the checksum that the vnet header leaves open."""
    if header is None or not header.flags & NEEDS_CSUM:
        return frame
    at = header.csum_start + header.csum_offset
    value = _sum(frame[header.csum_start:]) ^ 0xFFFF
    if value == 0 and header.csum_offset == 6:
        value = 0xFFFF  # UDP has no zero checksum
    return frame[:at] + struct.pack("!H", value) + frame[at + 2:]


def assert_checksums(frame: bytes) -> Packet:
    """Fails unless the IPv4 header and L4 checksums are what an independent computation gives."""
    l3, l4, protocol = offsets(frame)
    packet = Ether(frame)
    end = l3 + (packet[IP].len if IP in packet else packet[IPv6].plen + 40)
    if IP in packet:
        assert _sum(frame[l3:l4]) == 0xFFFF, f"IPv4 header checksum of {packet.summary()}"
    addresses = frame[l3 + 12:l3 + 20] if IP in packet else frame[l3 + 8:l3 + 40]
    total = _sum(addresses + struct.pack("!II", end - l4, protocol) + frame[l4:end])
    assert total == 0xFFFF, f"L4 checksum of {packet.summary()}"
    return packet


def assert_segments_of(frame: bytes, gso_size: int, segments: list[bytes]) -> None:
    """Fails unless the segments are what the superframe stands for: payload and sequence complete and
    in order, lengths and checksums right, IPv4 ids counting up, flags where they belong."""
    _, l4, protocol = offsets(frame)
    header_size = l4 + ((frame[l4 + 12] >> 4) * 4 if protocol == 6 else 8)
    payload = frame[header_size:]
    count = -(-len(payload) // gso_size)
    assert len(segments) == count, f"{len(segments)} segments instead of {count}"
    original = Ether(frame)
    for index, segment in enumerate(segments):
        packet = assert_checksums(segment)
        expected = payload[index * gso_size:(index + 1) * gso_size]
        assert segment[header_size:header_size + len(expected)] == expected, f"payload of {index}"
        if IP in packet:
            assert packet[IP].len == header_size - offsets(frame)[0] + len(expected)
            assert packet[IP].id == (original[IP].id + index) & 0xFFFF, f"IPv4 id of {index}"
            assert packet[IP].options == original[IP].options
        if TCP in packet:
            last = index == count - 1
            assert packet[TCP].seq == original[TCP].seq + index * gso_size
            assert packet[TCP].options == original[TCP].options
            for flag, there in (("P", last), ("F", last), ("C", index == 0)):
                wanted = there and flag in original[TCP].flags
                assert (flag in packet[TCP].flags) == wanted, f"flag {flag} of segment {index}"
        else:
            assert packet[UDP].len == 8 + len(expected)
        if Dot1Q in original:
            assert packet[Dot1Q].vlan == original[Dot1Q].vlan


# ---- Hosts of routed networks ------------------------------------------------------------------

ROUTER = mac(0xFFFE)  # the MAC address of routers in tests that make frames


class Host:
    """A host in a subnet of Site.router(), played by the test, frame by frame. A `known` one stands in
    the port table, so that nobody needs to ask for it; its MAC address is not that of its interface."""

    def __init__(self, site: Site, subnet: int, known: bool = True, veth: bool = False,
                 vnet: bool = False, addresses: tuple[str, ...] = (), **fields: Any) -> None:
        number = len(site.stations) + 1
        self.mac = mac(subnet << 8 | number)
        if known:
            fields |= {"mac": self.mac,
                       "addresses": [f"10.0.{subnet}.{number}", f"fd00:{subnet:x}::{number:x}",
                                     *addresses]}
        make = site.veth if veth else site.tap
        self.station = make(silent=True, subnet=subnet, **fields)
        self.port = self.station.port
        self.ipv4, self.ipv6 = self.station.addresses
        self._vnet = vnet
        self._link: RawLink | None = None
        self._marks = 0

    def open(self) -> None:
        """Listens from now on. The device must be there."""
        self._link = self.station.raw(self._vnet)

    @property
    def link(self) -> RawLink:
        assert self._link is not None, "apply_with() opens the links"
        return self._link

    def source(self, version: int) -> str:
        return self.ipv4 if version == 4 else self.ipv6

    def frame(self, packet: Packet, destination: str = ROUTER) -> bytes:
        return bytes(Ether(src=self.mac, dst=destination) / packet)

    def send(self, packet: Packet, destination: str = ROUTER) -> bytes:
        """Sends the packet to the router; answers the frame."""
        frame = self.frame(packet, destination)
        self.link.send(frame)
        return frame

    def is_mine(self, frame: bytes) -> bool:
        """Unicast to this host, that is not an announcement to everybody."""
        return frame[:6] == bytes.fromhex(self.mac.replace(":", ""))

    def collect(self, count: int, deadline: float = 5) -> list[bytes]:
        """The next frames to this host, fewer if the deadline passes."""
        return [frame.data for frame in self.link.collect(count, deadline, self.is_mine)]

    def until_echo(self) -> list[bytes]:
        """What came to this host up to now: everything but the answers to echo requests of both
        families that are sent now to the gateway. Twice, because the router may answer the packets of
        one burst in another order."""
        four, six = self.station.gateways
        seen: list[bytes] = []
        for _ in range(2):
            self._marks += 1
            mark = f"mark {self._marks}".encode()
            self.send(IP(src=self.ipv4, dst=four) / ICMP(id=0x4D4D) / Raw(mark))
            self.send(IPv6(src=self.ipv6, dst=six) / ICMPv6EchoRequest(id=0x4D4D, data=mark))
            missing = {4, 6}
            while missing:
                got = self.collect(1)
                assert got, "the gateway answers no echo request"
                if got[0].endswith(mark) and offsets(got[0])[2] in (1, 58):
                    missing.discard(got[0][14] >> 4)
                else:
                    seen += got
        return seen

    def answers(self, *sent: bytes) -> list[bytes]:
        """Sends frames; answers what this host got in return."""
        self.until_echo()
        for frame in sent:
            self.link.send(frame)
        return self.until_echo()


def apply_with(site: Site, *hosts: Host) -> None:
    """Site.apply(), and the hosts listen."""
    site.apply()
    for host in hosts:
        host.open()


def ip(version: int, source: str, destination: str, **fields: Any) -> Packet:
    """An IP header of either version; `ttl` is the hop limit of the one."""
    if version == 4:
        return IP(src=source, dst=destination, **fields)
    if "ttl" in fields:
        fields["hlim"] = fields.pop("ttl")
    return IPv6(src=source, dst=destination, **fields)


def assert_icmp(frame: bytes) -> Packet:
    """Fails unless the checksums of an ICMP or ICMPv6 message are right; answers the packet."""
    packet = Ether(frame)
    if IP in packet:
        header = (frame[14] & 15) * 4
        assert _sum(frame[14:14 + header]) == 0xFFFF, f"IPv4 checksum of {packet.summary()}"
        assert frame[23] == 1, f"not ICMP: {packet.summary()}"
        message = frame[14 + header:14 + packet[IP].len]
        assert len(frame) >= 14 + packet[IP].len
        assert _sum(message) == 0xFFFF, f"ICMP checksum of {packet.summary()}"
    else:
        assert frame[20] == 58, f"not ICMPv6: {packet.summary()}"
        assert len(frame) >= 54 + packet[IPv6].plen
        message = frame[54:54 + packet[IPv6].plen]
        total = _sum(frame[22:54] + struct.pack("!II", len(message), 58) + message)
        assert total == 0xFFFF, f"ICMPv6 checksum of {packet.summary()}"
    return packet
