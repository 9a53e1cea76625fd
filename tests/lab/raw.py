"""Frames as they are: an AF_PACKET socket on an interface, with vnet headers where wanted."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from lab.netns import Namespace

_SOL_PACKET = 263
_PACKET_AUXDATA = 8
_PACKET_VNET_HDR = 15
_PACKET_IGNORE_OUTGOING = 23
_SO_RCVBUFFORCE = 33
_ETH_P_ALL = 3
_TP_STATUS_CSUMNOTREADY = 1 << 3
_TP_STATUS_VLAN_VALID = 1 << 4
_AUXDATA = struct.Struct("=IIIHHHH")

NEEDS_CSUM = 1
GSO_NONE, GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4 = 0, 1, 4, 5
GSO_ECN = 0x80


@dataclass
class VnetHeader:
    """struct virtio_net_hdr (virtio 1.2, 5.1.6), little endian as the kernel's here."""

    flags: int = 0
    gso_type: int = GSO_NONE
    hdr_len: int = 0
    gso_size: int = 0
    csum_start: int = 0
    csum_offset: int = 0

    _FORMAT = struct.Struct("<BBHHHH")

    def pack(self) -> bytes:
        return self._FORMAT.pack(self.flags, self.gso_type, self.hdr_len, self.gso_size,
                                 self.csum_start, self.csum_offset)

    @classmethod
    def unpack(cls, data: bytes) -> VnetHeader:
        return cls(*cls._FORMAT.unpack(data[:10]))


@dataclass
class Frame:
    """A received frame, its VLAN tag put back."""

    data: bytes
    partial: bool  # the kernel says that the L4 checksum is still to be completed
    header: VnetHeader | None


class RawLink:
    """One interface of a namespace, read and written frame by frame."""

    def __init__(self, namespace: Namespace, interface: str = "eth0", vnet: bool = False) -> None:
        with namespace.entered():
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._vnet = vnet
        self._socket.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        self._socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 64 << 20)
        if vnet:
            self._socket.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
        self._socket.bind((interface, _ETH_P_ALL))

    def close(self) -> None:
        self._socket.close()

    def send(self, frame: bytes, header: VnetHeader | None = None) -> None:
        """Sends one frame; OSError if the kernel refuses it. A header needs `vnet`."""
        prefix = (header or VnetHeader()).pack() if self._vnet else b""
        self._socket.send(prefix + frame)

    def receive(self, timeout: float) -> Frame | None:
        """The next frame, or None after `timeout` seconds."""
        self._socket.settimeout(max(timeout, 0.0001))
        try:
            data, ancillary, _, _ = self._socket.recvmsg(70000, 256)
        except (TimeoutError, BlockingIOError):
            return None
        header = None
        if self._vnet:
            header, data = VnetHeader.unpack(data), data[10:]
        status = tci = 0
        tpid = 0x8100
        for level, kind, payload in ancillary:
            if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
                status, _, _, _, _, tci, tpid = _AUXDATA.unpack(payload[:_AUXDATA.size])
        if status & _TP_STATUS_VLAN_VALID:
            data = data[:12] + struct.pack("!HH", tpid or 0x8100, tci) + data[12:]
        return Frame(data, bool(status & _TP_STATUS_CSUMNOTREADY), header)

    def collect(self, count: int, deadline: float = 5,
                match: Callable[[bytes], bool] = lambda frame: True) -> list[Frame]:
        """Waits for `count` matching frames; fewer if the deadline passes."""
        end = time.monotonic() + deadline
        frames: list[Frame] = []
        while len(frames) < count and (left := end - time.monotonic()) > 0:
            frame = self.receive(left)
            if frame is not None and match(frame.data):
                frames.append(frame)
        return frames

    def drain(self) -> list[Frame]:
        """Whatever has arrived already."""
        frames = []
        while (frame := self.receive(0)) is not None:
            frames.append(frame)
        return frames
