"""Containers on tap and veth ports talk through heddled: on one network, beside a Linux bridge, and
through a router between two subnets, beside a router made of a Linux namespace; in the same minutes.
Prints one table and removes everything; exit code 0 only if all of it worked. No ethtool anywhere."""

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

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SECONDS = 2.0


@dataclass
class Container:
    """A namespace with an eth0."""

    label: str
    namespace: Namespace
    number: int
    subnet: int = 0  # behind a router, which has .254 and ::fe there

    def address(self, family: int) -> str:
        return self._of(family, self.number)

    def gateway(self, family: int) -> str:
        return self._of(family, 254)

    def _of(self, family: int, number: int) -> str:
        if family == 4:
            return f"10.0.{self.subnet}.{number}"
        prefix = f"fd00:{self.subnet}::" if self.subnet else "fd00::"
        return prefix + (f"{number}" if number != 254 else "fe")


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
        if container.subnet:
            container.namespace.run("ip", "route", "add", "default", "via",
                                    container.gateway(family))


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


def make_subnets(lab: Lab) -> list[Container]:
    """Two containers in each of two subnets, with the names and devices of the example."""
    made = []
    for subnet, color in ((1, "red"), (2, "green")):
        letter = color[0]
        made.append(Container(f"{color}-tap", lab.namespace(f"heddle-demo-{letter}t"), 1, subnet))
        veth = Container(f"{color}-veth", lab.namespace(f"heddle-demo-{letter}v"), 2, subnet)
        lab.veth(veth.namespace, host=f"hdl-demo-{letter}v")
        add_addresses(veth)
        made.append(veth)
    return made


def make_namespace_router(lab: Lab) -> list[Container]:
    """Two more, with a Linux namespace as the router between them."""
    ends = [Container(f"routed{n}", lab.namespace(f"heddle-demo-n{n}"), n, n) for n in (1, 2)]
    lab.router([end.namespace for end in ends])
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


def compare(rows: list[Row], pairs: list[tuple[str, Container, Container]]) -> None:
    for family in (4, 6):
        for path, client, server in pairs:
            with step(f"{path}: ping and TCP both ways, IPv{family}"):
                rows.append(measure(path, client, server, family))


def expect_clean(containers: list[Container]) -> None:
    with step("no packet arrived with a wrong checksum"):
        errors = {container.label: container.namespace.checksum_errors()
                  for container in containers}
        assert not any(errors.values()), errors


@contextlib.contextmanager
def heddled(example: str, ports: int) -> Iterator[Daemon]:
    """A daemon with an example applied. Afterwards it stops, and no device of its own stays."""
    with contextlib.ExitStack() as cleanup:
        daemon = cleanup.enter_context(contextlib.closing(Daemon()))
        with step("starting heddled"):
            daemon.start()
        # Runs first when things unwind: a second Ctrl-C must not interrupt the removal.
        cleanup.push(lambda kind, *_: shell.ignore_interrupts() if kind else None)
        with step(f"heddle apply -f examples/{example}"):
            daemon.client.run("apply", "-f", str(EXAMPLES / example))
            shell.wait_until(lambda: daemon.client.status().get("ports_up") == ports,
                             f"{ports} ports are up")
        yield daemon
        print()
        print(daemon.client.run("get", "ports").stdout.rstrip())
        with step("stopping heddled"):
            assert daemon.stop() == 0, daemon.log()


def one_network(rows: list[Row]) -> None:
    """Switching, beside a Linux bridge."""
    with Lab() as lab:
        with step("four containers: two for taps, two on veth pairs"):
            containers = make_containers(lab)
        with heddled("two-containers.yaml", 4):
            with step("ping: every container to every other, IPv4 and IPv6"):
                for client in containers:
                    for server in containers:
                        if client is not server:
                            wait_for(client, server)
            tap1, tap2, veth1, veth2 = containers
            with step("a Linux bridge with two more containers beside it"):
                bridge = make_bridge(lab)
                wait_for(*bridge)
            compare(rows, [("heddle tap - tap", tap1, tap2), ("heddle veth - veth", veth1, veth2),
                           ("heddle tap - veth", tap1, veth1), ("Linux bridge", *bridge)])
            expect_clean(containers)
        for container in (tap1, tap2):
            assert container.namespace.link("eth0") is None, container.label


def two_subnets(rows: list[Row]) -> None:
    """Routing, beside a Linux namespace as a router."""
    with Lab() as lab:
        with step("two containers in each of two subnets"):
            red_tap, red_veth, green_tap, green_veth = containers = make_subnets(lab)
        with heddled("two-subnets.yaml", 4) as daemon:
            with step("ping: from each subnet to the other, IPv4 and IPv6"):
                for client in (red_tap, red_veth):
                    for server in (green_tap, green_veth):
                        wait_for(client, server)
            with step("a Linux namespace as a router between two more"):
                routed = make_namespace_router(lab)
                wait_for(*routed)
            compare(rows, [("routed tap - tap", red_tap, green_tap),
                           ("routed veth - veth", red_veth, green_veth),
                           ("Linux router namespace", *routed)])
            expect_clean(containers)
            print()
            print(daemon.client.run("lookup", "r1", green_tap.address(4)).stdout.rstrip())


def run() -> None:
    rows: list[Row] = []
    one_network(rows)
    two_subnets(rows)
    print_table(rows)


def main() -> int:
    shell.raise_on_sigterm()
    print("Heddle: containers on tap and veth ports, beside a Linux bridge and a Linux router")
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
