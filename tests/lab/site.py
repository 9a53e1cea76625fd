"""heddled with stations (namespaces on tap or veth ports) around it, and the standing assertions."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab import flow, iperf, shell
from lab.daemon import Daemon
from lab.netns import Lab, Namespace
from lab.raw import RawLink


@dataclass
class Station:
    """A namespace behind one port; its interface is eth0."""

    port: str
    namespace: Namespace
    number: int
    host_interface: str | None  # the host end, of a veth port
    subnet: int = 0  # of the station's addresses; the router's are .254 and ::fe
    _links: list[RawLink] = field(default_factory=list)

    @property
    def ipv4(self) -> str:
        return f"10.0.{self.subnet}.{self.number}"

    @property
    def ipv6(self) -> str:
        return f"fd00:{self.subnet:x}::{self.number:x}" if self.subnet else f"fd00::{self.number:x}"

    @property
    def addresses(self) -> tuple[str, str]:
        return self.ipv4, self.ipv6

    @property
    def gateways(self) -> tuple[str, str]:
        return gateways(self.subnet)

    @property
    def mac(self) -> str:
        link = self.namespace.link("eth0")
        assert link is not None, f"{self.port} has no eth0"
        return link["address"]

    def raw(self, vnet: bool = False) -> RawLink:
        """The station's end, frame by frame."""
        link = RawLink(self.namespace, "eth0", vnet)
        self._links.append(link)
        return link

    def close_links(self) -> None:
        for link in self._links:
            link.close()
        self._links.clear()


def gateways(subnet: int) -> tuple[str, str]:
    """The addresses of Site.router() in a subnet."""
    return f"10.0.{subnet}.254", f"fd00:{subnet:x}::fe"


class Site:
    """Collects stations and other objects into one document, and applies it."""

    def __init__(self, lab: Lab, daemon: Daemon) -> None:
        self.lab = lab
        self.daemon = daemon
        self.client = daemon.client
        self.document: dict[str, Any] = {"networks": [{"name": "blue"}], "ports": []}
        self.stations: list[Station] = []

    # ---- building the document -----------------------------------------------------------------

    def network(self, name: str, **fields: Any) -> None:
        """Adds a network, or changes `blue`, which is always there."""
        self.document["networks"] = [network for network in self.document["networks"]
                                     if network["name"] != name] + [{"name": name, **fields}]

    def router(self, name: str, *subnets: int, interface: dict[str, Any] | None = None,
               **fields: Any) -> dict[str, Any]:
        """Adds a router with an interface on the network of each subnet, net1, net2, ..., which are
        added as well unless they are there; answers its document."""
        for subnet in subnets:
            if all(network["name"] != f"net{subnet}" for network in self.document["networks"]):
                self.network(f"net{subnet}")
        router = {"name": name,
                  "interfaces": [{"network": f"net{subnet}",
                                  "addresses": [f"{ipv4}/24", f"{ipv6}/64"]} | (interface or {})
                                 for subnet in subnets for ipv4, ipv6 in [gateways(subnet)]]}
        router |= fields
        self.document.setdefault("routers", []).append(router)
        return router

    def tap(self, mtu: int | None = None, silent: bool = False, tap: dict[str, Any] | None = None,
            subnet: int = 0, **fields: Any) -> Station:
        """A station on a tap port. A `silent` one has no addresses and a kernel that says nothing.
        With a `subnet` it is in its network and has the router there as its gateway."""
        station = self._station("tap", silent, None, subnet, fields)
        device: dict[str, Any] = {"interface": "eth0", "namespace": station.namespace.name}
        if not silent:
            device["addresses"] = [f"{station.ipv4}/24", f"{station.ipv6}/64"]
            if subnet:
                device["gateways"] = list(station.gateways)
        self._port(station, {"tap": device | (tap or {})}, mtu, fields)
        return station

    def veth(self, mtu: int | None = None, silent: bool = False, peer_mtu: int | None = None,
             subnet: int = 0, **fields: Any) -> Station:
        """A station on the far end of a veth pair whose host end is the port."""
        station = self._station("veth", silent, "later", subnet, fields)
        station.host_interface = self.lab.veth(station.namespace, mtu=peer_mtu or mtu or 1500)
        if silent:
            station.namespace.run("ip", "link", "set", "eth0", "arp", "off")
        else:
            for address, length in zip(station.addresses, (24, 64)):
                station.namespace.run("ip", "address", "add", f"{address}/{length}", "dev", "eth0")
            for gateway in station.gateways if subnet else ():
                station.namespace.run("ip", "route", "add", "default", "via", gateway)
        self._port(station, {"netdev": {"interface": station.host_interface}}, mtu, fields)
        return station

    def ethdev(self, name: str, devargs: str, **fields: Any) -> None:
        self.document["ports"].append(
            {"name": name, "ethdev": {"devargs": devargs}, "network": "blue"} | fields)

    def _station(self, kind: str, silent: bool, host: str | None, subnet: int,
                 fields: dict[str, Any]) -> Station:
        number = len(self.stations) + 1
        namespace = self.lab.namespace(ipv6=not silent)
        station = Station(f"{kind}{number}", namespace, number, host, subnet)
        if subnet:
            fields.setdefault("network", f"net{subnet}")
        self.stations.append(station)
        return station

    def _port(self, station: Station, device: dict[str, Any], mtu: int | None,
              fields: dict[str, Any]) -> None:
        port = {"name": station.port, **device, "network": "blue", **fields}
        if mtu is not None:
            port["mtu"] = mtu
        self.document["ports"].append({key: value for key, value in port.items()
                                       if value is not None})

    def port_document(self, name: str) -> dict[str, Any]:
        return next(port for port in self.document["ports"] if port["name"] == name)

    # ---- running -------------------------------------------------------------------------------

    def apply(self, *options: str) -> None:
        """Applies the document and waits until every port is up."""
        self.client.apply(self.document, *options)
        names = [port["name"] for port in self.document["ports"]]
        if names:
            shell.wait_until(lambda: all(self.client.port(name).get("up") for name in names),
                             "all ports are up")

    def remove_port(self, name: str) -> None:
        self.client.run("delete", "port", name)
        self.document["ports"] = [port for port in self.document["ports"] if port["name"] != name]

    def wait_for_ping(self, client: Station, server: Station) -> None:
        """Ping both ways of addressing, from the first echo on that is answered."""
        for address in server.addresses:
            def answered(to: str = address) -> bool:
                done = client.namespace.run("ping", "-n", "-q", "-c", "1", "-W", "1", to,
                                            check=False)
                return done.returncode == 0
            shell.wait_until(answered, f"{client.port} reaches {address}")

    def exercise(self, client: Station, server: Station, size: int = 2_000_000) -> None:
        """Ping, TCP both ways and UDP over IPv4 and IPv6; no checksum error anywhere."""
        errors = client.namespace.checksum_errors() + server.namespace.checksum_errors()
        for here, there in zip(client.addresses, server.addresses):
            iperf.ping_ms(client.namespace, there, count=2)
            flow.tcp_transfer(client.namespace, server.namespace, there, size)
            flow.tcp_transfer(server.namespace, client.namespace, here, size)
            flow.udp_echo(client.namespace, server.namespace, there, 1000)
        after = client.namespace.checksum_errors() + server.namespace.checksum_errors()
        assert after == errors, f"{after - errors} packets arrived with a wrong checksum"

    def wait_for_drop(self, reason: str, frames: int = 1, port: str | None = None) -> None:
        """Waits until at least that many frames have been dropped for the reason."""
        shell.wait_until(lambda: self.client.drops(port)[reason] >= frames,
                         lambda: f"{frames} drops '{reason}' of {port or 'all ports'}; "
                                 f"there are {self.client.drops(port)}")

    # ---- at the end of every test --------------------------------------------------------------

    def close_links(self) -> None:
        for station in self.stations:
            station.close_links()

    def verify_accounts(self) -> None:
        """rx + replicated = tx + consumed + dropped, and all buffers back. The kernels of the
        stations speak now and then, so equality is awaited: what was lost once never comes back."""
        assert self.daemon.running(), f"heddled died:\n{self.daemon.log()}"
        shell.wait_until(lambda: self._difference() == 0,
                         lambda: f"every frame accounted for: {self.client.status()}", 10)

        def buffers_back() -> bool:
            status = self.client.status()
            return status.get("buffers_in_use", 0) == status.get("buffers_base", 0)
        shell.wait_until(buffers_back, lambda: f"all packet buffers are back: {self.client.status()}",
                         10)

    def _difference(self) -> int:
        totals = self.client.status().get("totals", {})
        gone_in = totals.get("rx_frames", 0) + totals.get("replicated", 0)
        come_out = (totals.get("tx_frames", 0) + totals.get("consumed", 0)
                    + totals.get("dropped", 0))
        return gone_in - come_out

    def verify_clean_stop(self) -> None:
        """SIGTERM ends it with exit code 0, in order, and only persistent devices stay."""
        taps = [port["tap"] | {"name": port["name"]}
                for port in self.client.topology().get("ports", []) if "tap" in port]
        code = self.daemon.stop()
        reports = self.daemon.sanitizer_reports()
        assert not reports, "\n".join(reports)
        assert code == 0, f"heddled ended with exit code {code}:\n{self.daemon.log()}"
        for tap in taps:
            if tap.get("persistent"):
                continue
            interface = tap.get("interface", tap["name"])
            home = next((namespace for namespace in self.lab.namespaces
                         if namespace.name == tap.get("namespace")), None)
            if home is not None and Path(home.path).exists():
                assert home.link(interface) is None, f"{interface} stayed behind in {home.name}"
            elif not tap.get("namespace"):
                assert not Path(f"/sys/class/net/{interface}").exists(), \
                    f"{interface} stayed behind"

