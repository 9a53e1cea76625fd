"""Ways for one TCP stream to go between two namespaces: Heddle and its peers. Each is a context
manager that builds everything and removes it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from lab import iperf, shell
from lab.daemon import Daemon
from lab.netns import Lab, Namespace
from lab.site import Site, Station
from ovs import OpenVSwitch

CLIENT, SERVER = "10.0.0.1", "10.0.0.2"
CLIENT6, SERVER6 = "fd00::1", "fd00::2"


@dataclass
class Connection:
    """Two connected namespaces."""

    client: Namespace
    server: Namespace

    def wait(self) -> Connection:
        """Until both families are answered."""
        def answered() -> bool:
            return all(self.client.run("ping", "-n", "-q", "-c", "1", "-W", "1", address,
                                       check=False).returncode == 0
                       for address in (SERVER, SERVER6))
        shell.wait_until(answered, "the namespaces reach each other", 20)
        return self


def _addresses(client: Namespace, server: Namespace) -> None:
    for namespace, four, six in ((client, CLIENT, CLIENT6), (server, SERVER, SERVER6)):
        namespace.run("ip", "address", "add", f"{four}/24", "dev", "eth0")
        namespace.run("ip", "address", "add", f"{six}/64", "dev", "eth0")


@contextlib.contextmanager
def linux_bridge(rps: bool) -> Iterator[Connection]:
    """Two veth pairs on a Linux bridge, with or without receive packet steering to all CPUs."""
    with Lab() as lab:
        client, server = lab.namespace(), lab.namespace()
        hosts = [lab.veth(client), lab.veth(server)]
        home = lab.bridge(hosts)
        _addresses(client, server)
        if rps:
            mask = f"{(1 << (os.cpu_count() or 1)) - 1:x}"
            for namespace, interface in ((home, hosts[0]), (home, hosts[1]), (client, "eth0"),
                                         (server, "eth0")):
                namespace.run("sh", "-c",
                              f"echo {mask} > /sys/class/net/{interface}/queues/rx-0/rps_cpus")
        yield Connection(client, server).wait()


@contextlib.contextmanager
def open_vswitch(kind: str, tso: bool, cpu: int) -> Iterator[Connection]:
    """OVS with DPDK: `tap` is its internal port, `netdev` the host end of a veth pair."""
    with Lab() as lab, OpenVSwitch(cpu, tso) as ovs:
        client, server = lab.namespace(), lab.namespace()
        for number, namespace in enumerate((client, server)):
            if kind == "tap":
                ovs.add_internal(f"ovs{os.getpid()}p{number}", namespace)
            else:
                ovs.add_system(lab.veth(namespace))
        _addresses(client, server)
        yield Connection(client, server).wait()


@contextlib.contextmanager
def heddle(kind: str, cpu: int | None) -> Iterator[Connection]:
    """Heddle with one worker, on `cpu` if given."""
    with Lab() as lab, contextlib.closing(Daemon()) as daemon:
        daemon.start()
        site = Site(lab, daemon)
        site.document["settings"] = {"workers": 1}
        ends: list[Station] = [site.tap() if kind == "tap" else site.veth() for _ in range(2)]
        site.apply()
        if cpu is not None:
            pin_workers(daemon, [cpu])
        yield Connection(ends[0].namespace, ends[1].namespace).wait()


FAR = "10.0.2.2"  # of the server, behind a router


@contextlib.contextmanager
def heddle_router(kind: str) -> Iterator[Connection]:
    """Two subnets and a router of Heddle's between them, one worker."""
    with Lab() as lab, contextlib.closing(Daemon()) as daemon:
        daemon.start()
        site = Site(lab, daemon)
        site.document["settings"] = {"workers": 1}
        site.router("r", 1, 2)
        make = site.tap if kind == "tap" else site.veth
        client, server = make(subnet=1), make(subnet=2)
        site.apply()
        site.wait_for_ping(client, server)
        yield Connection(client.namespace, server.namespace)


@contextlib.contextmanager
def namespace_router() -> Iterator[Connection]:
    """The same with a namespace that forwards between two veth pairs."""
    with Lab() as lab:
        client, server = lab.namespace(), lab.namespace()
        lab.router([client, server])
        shell.wait_until(lambda: client.run("ping", "-n", "-q", "-c", "1", "-W", "1", FAR,
                                            check=False).returncode == 0, "the server answers")
        yield Connection(client, server)


def pin_workers(daemon: Daemon, cpus: list[int]) -> None:
    """Puts worker number n on the n-th CPU."""
    for worker in daemon.client.get("workers"):
        cpu = cpus[worker.get("worker", 0) % len(cpus)]
        shell.run("taskset", "-c", "-p", str(cpu), str(worker["thread_id"]))


def round_trip_us(path: Connection, server: str = SERVER) -> float:
    return iperf.ping_ms(path.client, server, count=100, interval=0.01) * 1000
