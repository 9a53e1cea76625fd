"""Capture files, written and read without a library: fast, and exact about what is in them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

_MICROSECONDS = 0xA1B2C3D4
_NANOSECONDS = 0xA1B23C4D
_HEADER = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")
_ETHERNET = 1


def write(path: Path, frames: Iterable[bytes]) -> None:
    """Frames of one capture, with time stamps of zero."""
    with path.open("wb") as out:
        out.write(_HEADER.pack(_MICROSECONDS, 2, 4, 0, 0, 262144, _ETHERNET))
        for frame in frames:
            out.write(_RECORD.pack(0, 0, len(frame), len(frame)) + frame)


def read(path: Path) -> list[bytes]:
    """The whole frames of a capture that may still be growing."""
    data = path.read_bytes() if path.exists() else b""
    if len(data) < _HEADER.size:
        return []
    assert _HEADER.unpack_from(data)[0] in (_MICROSECONDS, _NANOSECONDS), f"{path}: not a capture"
    frames = []
    at = _HEADER.size
    while at + _RECORD.size <= len(data):
        _, _, captured, _ = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        if at + captured > len(data):
            break
        frames.append(data[at:at + captured])
        at += captured
    return frames


def udp_frames(pairs: int, source_base: int = 0x02_00_00_00_00_00,
               destination_base: int = 0x02_00_01_00_00_00) -> list[bytes]:
    """60-byte UDP frames, one per pair of MAC addresses, with valid IPv4 header checksums and no
    UDP checksum: what small-packet benchmarks send."""
    frames = []
    for pair in range(pairs):
        addresses = struct.pack("!II", 0x0A000000 + pair, 0x0A800000 + pair)
        header = struct.pack("!BBHHHBBH", 0x45, 0, 46, 0, 0, 64, 17, 0) + addresses
        total = sum(struct.unpack("!10H", header))
        total = (total & 0xFFFF) + (total >> 16)
        total = (total & 0xFFFF) + (total >> 16)
        header = header[:10] + struct.pack("!H", total ^ 0xFFFF) + header[12:]
        ethernet = ((destination_base + pair).to_bytes(6, "big")
                    + (source_base + pair).to_bytes(6, "big") + b"\x08\x00")
        udp = struct.pack("!HHHH", 1024 + pair % 60000, 53, 26, 0) + bytes(18)
        frames.append(ethernet + header + udp)
    return frames
