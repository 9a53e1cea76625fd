"""Two containers on tap ports and two on veth ports talk through heddled, and the same over a Linux
bridge in the same minute. Prints one table and removes everything; exit code 0 only if all of it
worked. No ethtool anywhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab import iperf, shell
from lab.daemon import Daemon
from lab.netns import Lab, Namespace

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "two-containers.yaml"
SECONDS = 2.0


@dataclass
class Container:
    """A namespace with an eth0."""

    label: str
    namespace: Namespace
    number: int

    def address(self, family: int) -> str:
        return f"10.0.0.{self.number}" if family == 4 else f"fd00::{self.number}"


@dataclass
class Row:
    """One line of the table: a path between two containers, over one IP version."""

    path: str
    family: int
    ping_ms: float
    forward: float
    backward: float


@contextlib.contextmanager
def step(text: str) -> Iterator[None]:
    """A progress line."""
    start = time.monotonic()
    print(f"  {text:<58}", end="", flush=True)
    try:
        yield
    except BaseException:
        print(" FAILED", flush=True)
        raise
    print(f" ok {time.monotonic() - start:5.1f} s", flush=True)


def add_addresses(container: Container) -> None:
    """What an orchestrator's IPAM does for a veth end."""
    for family, length in ((4, 24), (6, 64)):
        container.namespace.run("ip", "address", "add", f"{container.address(family)}/{length}",
                                "dev", "eth0")


def make_containers(lab: Lab) -> list[Container]:
    """Four namespaces with the names and devices of the example."""
    taps = [Container(f"tap{n}", lab.namespace(f"heddle-demo-t{n}"), n) for n in (1, 2)]
    veths = [Container(f"veth{n}", lab.namespace(f"heddle-demo-v{n}"), n + 2) for n in (1, 2)]
    for number, container in enumerate(veths, 1):
        lab.veth(container.namespace, host=f"hdl-demo-v{number}")
        add_addresses(container)
    return taps + veths


def make_bridge(lab: Lab) -> list[Container]:
    """Two more, on a Linux bridge."""
    ends = [Container(f"bridge{n}", lab.namespace(f"heddle-demo-b{n}"), n) for n in (1, 2)]
    hosts = [lab.veth(container.namespace) for container in ends]
    for container in ends:
        add_addresses(container)
    lab.bridge(hosts)
    return ends


def wait_for(client: Container, server: Container) -> None:
    for family in (4, 6):
        def answered(address: str = server.address(family)) -> bool:
            return client.namespace.run("ping", "-n", "-q", "-c", "1", "-W", "1", address,
                                        check=False).returncode == 0
        shell.wait_until(answered, f"{client.label} reaches {server.label}")


def measure(path: str, client: Container, server: Container, family: int) -> Row:
    """Ping, then one TCP stream each way."""
    address = server.address(family)
    ping = iperf.ping_ms(client.namespace, address, count=20, interval=0.01)
    forward = iperf.tcp(client.namespace, server.namespace, address, SECONDS)
    backward = iperf.tcp(client.namespace, server.namespace, address, SECONDS, reverse=True)
    return Row(path, family, ping, forward.gbits, backward.gbits)


def print_table(rows: list[Row]) -> None:
    print()
    print(f"  {'path':<24}{'IP':>4}{'ping':>12}{'TCP ->':>16}{'TCP <-':>16}")
    for row in rows:
        print(f"  {row.path:<24}{row.family:>4}{row.ping_ms:>9.3f} ms{row.forward:>9.2f} Gbit/s"
              f"{row.backward:>9.2f} Gbit/s")
    print()


def run() -> None:
    rows: list[Row] = []
    with contextlib.ExitStack() as cleanup:
        lab = cleanup.enter_context(Lab())
        with step("four containers: two for taps, two on veth pairs"):
            containers = make_containers(lab)
        with step("starting heddled"):
            daemon = cleanup.enter_context(contextlib.closing(Daemon()))
            daemon.start()
        # Runs first when things unwind: a second Ctrl-C must not interrupt the removal.
        cleanup.callback(shell.ignore_interrupts)
        with step(f"heddle apply -f examples/{EXAMPLE.name}"):
            daemon.client.run("apply", "-f", str(EXAMPLE))
            shell.wait_until(lambda: daemon.client.status().get("ports_up") == 4, "4 ports are up")
        with step("ping: every container to every other, IPv4 and IPv6"):
            for client in containers:
                for server in containers:
                    if client is not server:
                        wait_for(client, server)
        tap1, tap2, veth1, veth2 = containers
        pairs = [("heddle tap - tap", tap1, tap2), ("heddle veth - veth", veth1, veth2),
                 ("heddle tap - veth", tap1, veth1)]
        with step("a Linux bridge with two more containers beside it"):
            bridge = make_bridge(lab)
            wait_for(*bridge)
        for family in (4, 6):
            for path, client, server in (*pairs, ("Linux bridge", *bridge)):
                with step(f"{path}: ping and TCP both ways, IPv{family}"):
                    rows.append(measure(path, client, server, family))
        with step("no packet arrived with a wrong checksum"):
            errors = {container.label: container.namespace.checksum_errors()
                      for container in containers}
            assert not any(errors.values()), errors
        print()
        print(daemon.client.run("get", "ports").stdout.rstrip())
        with step("stopping heddled: no device of its own stays"):
            assert daemon.stop() == 0, daemon.log()
            for container in (tap1, tap2):
                assert container.namespace.link("eth0") is None, container.label
    print_table(rows)


def main() -> int:
    shell.raise_on_sigterm()
    print("Heddle: containers on tap and veth ports, beside a Linux bridge")
    try:
        run()
    except KeyboardInterrupt:
        print("\ninterrupted; everything was removed")
        return 130
    except AssertionError as error:
        print(f"\n{error}")
        return 1
    print("all of it worked; everything was removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
