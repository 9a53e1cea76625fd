"""Network namespaces and veth pairs, with unique names and sure removal."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab import shell

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def entered(path: str) -> Iterator[None]:
    """Moves the calling thread into a network namespace. Sockets made inside stay there."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        target = os.open(path, os.O_RDONLY)
        try:
            _setns(target)
        finally:
            os.close(target)
        try:
            yield
        finally:
            _setns(home)
    finally:
        os.close(home)


def _setns(fd: int) -> None:
    if _libc.setns(fd, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Namespace:
    """A network namespace under /run/netns, with lo up."""

    def __init__(self, name: str, ipv6: bool = True) -> None:
        """Without `ipv6` the kernel sends nothing of its own in it (no MLD, no router
        solicitations): for ends that a test drives with raw frames."""
        self.name = name
        self.path = f"/run/netns/{name}"
        shell.run("ip", "netns", "add", name)
        self.run("ip", "link", "set", "lo", "up")
        # No duplicate address detection: addresses are usable at once.
        for scope in ("all", "default"):
            self.sysctl(f"net.ipv6.conf.{scope}.accept_dad", "0")
            self.sysctl(f"net.ipv6.conf.{scope}.router_solicitations", "0")
            self.sysctl(f"net.ipv6.conf.{scope}.disable_ipv6", "0" if ipv6 else "1")

    def entered(self) -> contextlib.AbstractContextManager[None]:
        return entered(self.path)

    def sysctl(self, key: str, value: str) -> None:
        with self.entered():
            Path("/proc/sys", key.replace(".", "/")).write_text(value)

    def run(self, *command: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return shell.run("ip", "netns", "exec", self.name, *command, **options)

    def spawn(self, *command: str, **options: Any) -> subprocess.Popen[str]:
        return shell.spawn(("ip", "netns", "exec", self.name, *command), **options)

    def links(self) -> list[dict[str, Any]]:
        return json.loads(self.run("ip", "-details", "-json", "link", "show").stdout)

    def link(self, interface: str) -> dict[str, Any] | None:
        return next((link for link in self.links() if link["ifname"] == interface), None)

    def checksum_errors(self) -> int:
        """Received IPv4 and IPv6 TCP, UDP and ICMP packets whose checksum the kernel refused."""
        with self.entered():
            snmp = Path("/proc/thread-self/net/snmp").read_text()
            snmp6 = Path("/proc/thread-self/net/snmp6").read_text()
        errors = 0
        lines = [line.split() for line in snmp.splitlines()]
        for names, values in zip(lines[::2], lines[1::2]):
            errors += sum(int(value) for name, value in zip(names, values)
                          if name == "InCsumErrors")
        errors += sum(int(n) for n in re.findall(r"^\w+InCsumErrors\s+(\d+)$", snmp6, re.M))
        return errors


class Lab:
    """Makes namespaces and links and removes them again, in reverse order."""

    _numbers = itertools.count(1)

    def __init__(self) -> None:
        self._cleanup = contextlib.ExitStack()
        self.namespaces: list[Namespace] = []

    def unique(self, kind: str) -> str:
        """A name for an interface or a namespace: at most 15 characters, ours alone."""
        return f"h{os.getpid()}{kind}{next(self._numbers)}"

    def namespace(self, name: str | None = None, ipv6: bool = True) -> Namespace:
        name = name or self.unique("n")
        self._cleanup.callback(shell.run, "ip", "netns", "delete", name, check=False)
        namespace = Namespace(name, ipv6)
        self.namespaces.append(namespace)
        return namespace

    def veth(self, namespace: Namespace, peer: str = "eth0", host: str | None = None,
             mtu: int = 1500, queues: int = 1) -> str:
        """A veth pair, both ends up: `peer` inside the namespace; answers the host end's name."""
        host = host or self.unique("v")
        count = ["numrxqueues", str(queues), "numtxqueues", str(queues)]
        shell.run("ip", "link", "add", host, "mtu", str(mtu), *count, "type", "veth",
                  "peer", "name", peer, "mtu", str(mtu), "netns", namespace.name, *count)
        self._cleanup.callback(shell.run, "ip", "link", "delete", host, check=False)
        shell.run("ip", "link", "set", host, "up")
        namespace.run("ip", "link", "set", peer, "up")
        # The host stack has no business on this link.
        Path(f"/proc/sys/net/ipv6/conf/{host}/disable_ipv6").write_text("1")
        return host

    def router(self, ends: list[Namespace]) -> Namespace:
        """A namespace that forwards between veth pairs: the Nth end gets 10.0.N.N and fd00:N::N, counted
        from 1, and the router, 10.0.N.254 and fd00:N::fe, as its gateway."""
        home = self.namespace()
        for number, end in enumerate(ends, 1):
            host = self.veth(end)
            shell.run("ip", "link", "set", host, "netns", home.name)
            home.run("ip", "link", "set", host, "up")
            home.sysctl(f"net.ipv6.conf.{host}.disable_ipv6", "0")
            for ours, theirs, length in ((f"10.0.{number}.254", f"10.0.{number}.{number}", 24),
                                         (f"fd00:{number}::fe", f"fd00:{number}::{number}", 64)):
                home.run("ip", "address", "add", f"{ours}/{length}", "dev", host)
                end.run("ip", "address", "add", f"{theirs}/{length}", "dev", "eth0")
                end.run("ip", "route", "add", "default", "via", ours)
        home.sysctl("net.ipv4.ip_forward", "1")
        home.sysctl("net.ipv6.conf.all.forwarding", "1")
        return home

    def bridge(self, interfaces: list[str]) -> Namespace:
        """A Linux bridge over these host ends, in a namespace of its own, where netfilter can be kept
        off the bridged frames without touching the machine's settings."""
        home = self.namespace(ipv6=False)
        home.run("ip", "link", "add", "br0", "type", "bridge")
        for table in ("iptables", "ip6tables", "arptables"):
            with home.entered():
                if Path(f"/proc/sys/net/bridge/bridge-nf-call-{table}").exists():
                    Path(f"/proc/sys/net/bridge/bridge-nf-call-{table}").write_text("0")
        for interface in interfaces:
            shell.run("ip", "link", "set", interface, "netns", home.name)
            home.run("ip", "link", "set", interface, "master", "br0", "up")
        home.run("ip", "link", "set", "br0", "up")
        return home

    def on_close(self, callback: Any, *arguments: Any) -> None:
        self._cleanup.callback(callback, *arguments)

    def close(self) -> None:
        self._cleanup.close()

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
