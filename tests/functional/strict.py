"""Readers that take no promise for a checksum: what they see is what a wire would carry."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import time
from collections.abc import Callable
from pathlib import Path

from lab import pcap, shell
from lab.netns import Lab

_TUNSETIFF = 0x400454CA
_IFF_TAP_NO_PI = 0x0002 | 0x1000


class StrictTap:
    """A tap device without vnet header whose far end is this process. The kernel completes partial
    checksums on the way here, but only where the sender declared them partial."""

    def __init__(self, lab: Lab) -> None:
        self.interface = lab.unique("s")
        self._fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        lab.on_close(os.close, self._fd)
        fcntl.ioctl(self._fd, _TUNSETIFF,
                    struct.pack("16sH22x", self.interface.encode(), _IFF_TAP_NO_PI))
        Path(f"/proc/sys/net/ipv6/conf/{self.interface}/disable_ipv6").write_text("1")
        shell.run("ip", "link", "set", self.interface, "up")

    def send(self, frame: bytes) -> None:
        os.write(self._fd, frame)

    def read(self, match: Callable[[bytes], bool], deadline: float = 5) -> bytes:
        """The next frame that matches."""
        end = time.monotonic() + deadline
        while (left := end - time.monotonic()) > 0:
            if select.select([self._fd], [], [], left)[0]:
                with contextlib.suppress(BlockingIOError):
                    frame = os.read(self._fd, 70000)
                    if match(frame):
                        return frame
        raise AssertionError(f"no matching frame within {deadline} s")


class CaptureSink:
    """An ethdev port that writes every frame sent to it into a capture file."""

    def __init__(self, path: Path, name: str = "sink", device: int = 0) -> None:
        self.path = path
        self.name = name
        self.devargs = f"net_pcap{device},tx_pcap={path}"

    def frames(self, count: int, match: Callable[[bytes], bool] = lambda frame: True,
               deadline: float = 5) -> list[bytes]:
        """Waits until the capture holds `count` matching frames; answers all of them."""
        def found() -> list[bytes] | None:
            frames = [frame for frame in pcap.read(self.path) if match(frame)]
            return frames if len(frames) >= count else None
        return shell.wait_until(found, lambda: f"{count} frames in {self.path.name}, there are "
                                               f"{len(pcap.read(self.path))}", deadline) or []
