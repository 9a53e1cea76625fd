#!/usr/bin/env python3
"""Writes the seeds of vnet_header_fuzz to corpus/vnet_header: one honest header per kind of frame."""

import pathlib
import struct

import parser_seeds as frames

NEEDS_CSUM, DATA_VALID = 1, 2
TCP4, TCP6, UDP_L4, ECN = 1, 4, 5, 0x80

VXLAN = bytes([8, 0, 0, 0, 0, 0, 42, 0])
GENEVE = bytes([1, 0, 0x65, 0x58, 0, 0, 42, 0]) + bytes(4)


def pseudo_sum(addresses, protocol, length):
    words = struct.unpack(f"!{len(addresses) // 2}H", addresses)
    total = sum(words) + protocol + length
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return struct.pack("!H", total)


def seed(frame, gso_type=0, gso_size=0, flags=NEEDS_CSUM, split=(), tag=b"", l4_at=None):
    """A frame with the pseudo header's sum in its checksum field, behind the header Linux would send."""
    v6 = frame[12:14] == b"\x86\xdd"
    addresses = frame[22:54] if v6 else frame[26:34]
    start = l4_at or (54 if v6 else 34)
    udp = (frame[20] if v6 else frame[23]) == 17
    offset = 6 if udp else 16
    field = start + offset
    if flags & NEEDS_CSUM:
        total = pseudo_sum(addresses, 17 if udp else 6, len(frame) - start)
        frame = frame[:field] + total + frame[field + 2:]
    frame = frame[:12] + tag + frame[12:]
    header = struct.pack("<BBHHHH", flags, gso_type, start + len(tag), gso_size, start, offset)
    return header + bytes([1 if tag else 0, len(split)]) + bytes(split) + frame


def ethernet(packet):
    return frames.ETHERNET + packet


def tunnel_seed(ip, port, header, inner, gso_type, gso_size, checksum=0, split=()):
    """A superframe `inner`, an Ethernet frame, behind UDP and the header of a tunnel."""
    inside = seed(inner, gso_type, gso_size)
    flags, gso_type, start, gso_size, _, offset = struct.unpack("<BBHHHH", inside[:10])
    payload = header + inside[12:]
    outer = struct.pack("!HHHH", 50000, port, 8 + len(payload), checksum)
    frame = ethernet(ip(17, outer + payload))
    start = len(frame) - len(inner) + (54 if inner[12:14] == b"\x86\xdd" else 34)
    head = struct.pack("<BBHHHH", flags, gso_type, start + 20, gso_size, start, offset)
    return head + bytes([0, len(split)]) + bytes(split) + frame


def main():
    payload = bytes(range(256)) * 3
    tcp4 = ethernet(frames.ipv4(6, frames.tcp() + payload))
    tcp6 = ethernet(frames.ipv6(6, frames.tcp(bytes(12)) + payload))
    udp4 = ethernet(frames.ipv4(17, frames.udp(payload)))
    udp6 = ethernet(frames.ipv6(17, frames.udp(payload)))
    seeds = {
        "plain": seed(tcp4, flags=0),
        "data_valid": seed(tcp4, flags=DATA_VALID),
        "partial_tcp4": seed(tcp4),
        "partial_tcp6": seed(tcp6, split=(14, 20, 20, 20)),
        "partial_udp4": seed(udp4, split=(60, 1, 1)),
        "partial_udp6": seed(udp6),
        "partial_options": seed(ethernet(frames.ipv4(6, frames.tcp() + payload, options=bytes(8))),
                                l4_at=42),
        "partial_reinserted_tag": seed(tcp4, tag=b"\x81\x00\x00\x07"),
        "partial_fragment": seed(ethernet(frames.ipv4(17, frames.udp(payload), fragment=0x2000))),
        "partial_inside_tunnel": seed(ethernet(frames.ipv4(17, frames.udp(bytes(8) + udp4))),
                                      l4_at=34 + 16 + 34),
        "tso4": seed(tcp4, TCP4, 100),
        "tso4_ecn": seed(tcp4, TCP4 | ECN, 100, split=(54, 255, 0, 3)),
        "tso6": seed(tcp6, TCP6, 255, split=(1, 100)),
        "uso4": seed(udp4, UDP_L4, 99),
        "uso6": seed(udp6, UDP_L4, 500),
        "vxlan_tso4": tunnel_seed(frames.ipv4, 4789, VXLAN, tcp4, TCP4, 100),
        "vxlan_checksum_tso6": tunnel_seed(frames.ipv4, 8472, VXLAN, tcp6, TCP6, 255, checksum=1,
                                           split=(14, 60, 3)),
        "vxlan6_uso4": tunnel_seed(frames.ipv6, 4789, VXLAN, udp4, UDP_L4, 99, checksum=1),
        "vxlan_like_tso4": tunnel_seed(frames.ipv4, 9, VXLAN, tcp4, TCP4, 900),
        "geneve_options_tso4": tunnel_seed(frames.ipv4, 6081, GENEVE, tcp4, TCP4 | ECN, 100),
        "lro4": seed(tcp4, TCP4, 100, flags=DATA_VALID),
    }
    out = pathlib.Path(__file__).parent / "corpus" / "vnet_header"
    out.mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (out / name).write_bytes(content)


if __name__ == "__main__":
    main()
