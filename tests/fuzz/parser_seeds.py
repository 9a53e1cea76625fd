#!/usr/bin/env python3
"""Writes the seeds of parser_fuzz to corpus/parser: one small frame per path of the parser.

A seed is two bytes, the length of the head (ffff: all of it), and the frame.
"""

import pathlib
import struct

ETHERNET = bytes(5) + b"\x02" + bytes(5) + b"\x01"


def ipv4(protocol, payload, fragment=0, options=b""):
    words = 5 + len(options) // 4
    length = 4 * words + len(payload)
    header = struct.pack("!BBHHHBBH4s4s", 0x40 | words, 0, length, 1, fragment, 64, protocol, 0,
                         bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    return b"\x08\x00" + header + options + payload


def ipv6(next_header, payload):
    addresses = b"\xfd" + bytes(14) + b"\x01" + b"\xfd" + bytes(14) + b"\x02"
    return b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(payload), next_header, 64) + addresses + payload


def tcp(options=b""):
    words = 5 + len(options) // 4
    return struct.pack("!HHIIBBHHH", 1, 2, 3, 4, words << 4, 2, 1000, 0, 0) + options


def udp(payload=b""):
    return struct.pack("!HHHH", 1, 2, 8 + len(payload), 0) + payload


def extension(next_header):
    return bytes([next_header, 0, 1, 4, 0, 0, 0, 0])


def ipv6_fragment(next_header, offset_flags):
    return struct.pack("!BBHI", next_header, 0, offset_flags, 7)


AUTHENTICATION = struct.pack("!BBHII", 6, 4, 0, 1, 1) + bytes(12)

FRAMES = {
    "arp": b"\x08\x06" + bytes.fromhex("0001080006040001") + bytes(20),
    "ipv4-tcp": ipv4(6, tcp() + b"data"),
    "ipv4-tcp-options": ipv4(6, tcp(b"\x02\x04\x05\xb4"), options=b"\x94\x04\x00\x00"),
    "ipv4-udp": ipv4(17, udp(b"data")),
    "ipv4-icmp": ipv4(1, bytes([8, 0, 0, 0, 0, 1, 0, 1])),
    "ipv4-protocol-0": ipv4(0, bytes(8)),
    "ipv4-first-fragment": ipv4(17, udp(b"data"), fragment=0x2000),
    "ipv4-later-fragment": ipv4(17, bytes(16), fragment=0x0010),
    "vlan-ipv4": b"\x81\x00\x00\x05" + ipv4(17, udp()),
    "two-vlans-ipv6": b"\x88\xa8\x00\x05\x81\x00\x00\x06" + ipv6(6, tcp()),
    "three-vlans": b"\x81\x00\x00\x01\x81\x00\x00\x02\x81\x00\x00\x03" + ipv4(6, tcp()),
    "ipv6-tcp": ipv6(6, tcp() + b"data"),
    "ipv6-udp": ipv6(17, udp(b"data")),
    "ipv6-icmpv6": ipv6(58, bytes([128, 0, 0, 0, 0, 1, 0, 1])),
    "ipv6-no-next-header": ipv6(59, b""),
    "ipv6-chain": ipv6(0, extension(60) + extension(43) + extension(51) + AUTHENTICATION + tcp()),
    "ipv6-first-fragment": ipv6(44, ipv6_fragment(60, 1) + extension(17) + udp(b"data")),
    "ipv6-later-fragment": ipv6(44, ipv6_fragment(60, 64) + bytes(16)),
    "ipv6-atomic-fragment": ipv6(44, ipv6_fragment(6, 0) + tcp()),
}


def main():
    corpus = pathlib.Path(__file__).parent / "corpus" / "parser"
    corpus.mkdir(parents=True, exist_ok=True)
    for name, rest in FRAMES.items():
        (corpus / name).write_bytes(b"\xff\xff" + ETHERNET + rest)
    (corpus / "short-head").write_bytes(b"\x00\x28" + ETHERNET + FRAMES["ipv4-tcp"])


if __name__ == "__main__":
    main()
