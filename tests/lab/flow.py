"""Traffic between namespaces: whole TCP transfers, UDP echoes, and a paced UDP flow.

As a script it is one end of a paced flow (`paced_flow` starts both):
    flow.py send ADDRESS PORT RATE     until a line on stdin; prints the number of datagrams sent
    flow.py receive ADDRESS PORT       until the number sent on stdin; prints {"received", "late"}
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lab import shell
from lab.netns import Namespace

_SO_RCVBUFFORCE = 33
_SOL_UDP = 17
_UDP_SEGMENT = 103


def _socket(namespace: Namespace, address: str, kind: socket.SocketKind) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with namespace.entered():
        made = socket.socket(family, kind)
    made.settimeout(15)
    return made


def tcp_transfer(client: Namespace, server: Namespace, address: str, size: int) -> None:
    """Sends `size` random bytes from client to server and checks that they arrive as they were."""
    payload = os.urandom(min(size, 1 << 20))
    received = hashlib.sha256()
    sent = hashlib.sha256()
    total = 0
    with _socket(server, address, socket.SOCK_STREAM) as listener, \
            _socket(client, address, socket.SOCK_STREAM) as sender:
        listener.bind((address, 0))
        listener.listen()

        def serve() -> None:
            nonlocal total
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(15)
                while data := connection.recv(1 << 18):
                    received.update(data)
                    total += len(data)

        failure: list[BaseException] = []

        def guarded() -> None:
            try:
                serve()
            except OSError as error:
                failure.append(error)

        thread = threading.Thread(target=guarded)
        thread.start()
        try:
            sender.connect(listener.getsockname()[:2])
            left = size
            while left > 0:
                chunk = payload[:left]
                sender.sendall(chunk)
                sent.update(chunk)
                left -= len(chunk)
            sender.shutdown(socket.SHUT_WR)
        finally:
            thread.join(20)
        assert not failure, f"the receiver of {size} bytes failed after {total}: {failure[0]}"
    assert total == size, f"{total} of {size} bytes arrived"
    assert received.digest() == sent.digest(), "the bytes arrived changed"


def udp_echo(client: Namespace, server: Namespace, address: str, size: int) -> None:
    """One datagram of `size` bytes there and back, byte for byte."""
    payload = os.urandom(size)
    with _socket(server, address, socket.SOCK_DGRAM) as echo, \
            _socket(client, address, socket.SOCK_DGRAM) as sender:
        echo.bind((address, 0))
        sender.connect(echo.getsockname()[:2])
        sender.send(payload)
        data, back = echo.recvfrom(1 << 16)
        assert data == payload, f"the request of {size} bytes arrived changed"
        echo.sendto(data, back)
        assert sender.recv(1 << 16) == payload, f"the reply of {size} bytes arrived changed"


def udp_segments(client: Namespace, server: Namespace, address: str, segment: int,
                 size: int) -> list[int]:
    """One send() of `size` bytes with UDP_SEGMENT; answers the lengths of the datagrams received."""
    with _socket(server, address, socket.SOCK_DGRAM) as receiver, \
            _socket(client, address, socket.SOCK_DGRAM) as sender:
        receiver.bind((address, 0))
        sender.setsockopt(_SOL_UDP, _UDP_SEGMENT, segment)
        sender.sendto(bytes(size), receiver.getsockname()[:2])
        lengths: list[int] = []
        while sum(lengths) < size:
            lengths.append(len(receiver.recv(1 << 16)))
        return lengths


@dataclass
class FlowResult:
    """What became of a paced flow."""

    sent: int = 0
    received: int = 0
    late: int = 0  # arrived behind a later one

    @property
    def lost(self) -> int:
        return self.sent - self.received


@contextlib.contextmanager
def paced_flow(client: Namespace, server: Namespace, address: str, rate: int,
               port: int = 9000) -> Iterator[FlowResult]:
    """A UDP flow of `rate` datagrams a second while the body runs; the result is filled in at the
    end of it, after everything had time to arrive."""
    result = FlowResult()
    script = os.path.abspath(__file__)
    receiver = server.spawn(sys.executable, script, "receive", address, str(port),
                            stdin=-1, stdout=-1)
    sender = None
    try:
        assert receiver.stdout is not None and receiver.stdout.readline() == "ready\n"
        sender = client.spawn(sys.executable, script, "send", address, str(port), str(rate),
                              stdin=-1, stdout=-1)
        yield result
        output, _ = sender.communicate("end\n", timeout=30)
        result.sent = int(output)
        output, _ = receiver.communicate(f"{result.sent}\n", timeout=30)
        answer = json.loads(output)
        result.received, result.late = answer["received"], answer["late"]
    finally:
        for process in (sender, receiver):
            if process is not None:
                shell.stop(process, 2)


def _send(address: str, port: int, rate: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as out:
        out.connect((address, port))
        start = time.monotonic()
        sent = 0
        while not select.select([sys.stdin], [], [], 0)[0]:
            due = int((time.monotonic() - start) * rate)
            # After a pause the backlog is not sent at once: that would be a burst, not a pace.
            due = min(due, sent + 64)
            while sent < due:
                out.send(struct.pack("!Q", sent) + bytes(56))
                sent += 1
            start = max(start, time.monotonic() - (sent + 64) / rate)
            time.sleep(0.001)
    print(sent)


def _receive(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    received = late = 0
    highest = -1
    expected: int | None = None
    quiet_since = time.monotonic()
    with socket.socket(family, socket.SOCK_DGRAM) as incoming:
        incoming.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 64 << 20)
        incoming.bind((address, port))
        print("ready", flush=True)
        while expected is None or (received < expected and time.monotonic() - quiet_since < 1):
            watched = [incoming] if expected is not None else [incoming, sys.stdin]
            ready, _, _ = select.select(watched, [], [], 0.1)
            if incoming in ready:
                number = struct.unpack_from("!Q", incoming.recv(2048))[0]
                received += 1
                late += number < highest
                highest = max(highest, number)
                quiet_since = time.monotonic()
            elif sys.stdin in ready:
                expected = int(sys.stdin.readline() or 0)
                quiet_since = time.monotonic()
    print(json.dumps({"received": received, "late": late}))


if __name__ == "__main__":
    if sys.argv[1] == "send":
        _send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        _receive(sys.argv[2], int(sys.argv[3]))
