"""A daemon with many idle ports: half on taps, half on veth pairs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lab import shell
from lab.daemon import Daemon
from lab.netns import Lab
from lab.site import Site


@contextlib.contextmanager
def idle_site(lab: Lab, ports: int) -> Iterator[Site]:
    """Yields once all ports are up and silent."""
    with contextlib.closing(Daemon()) as daemon:
        daemon.start()
        site = Site(lab, daemon)
        namespace = lab.namespace(ipv6=False)
        for number in range(ports):
            port: dict[str, object] = {"name": f"p{number}", "network": "blue"}
            if number % 2:
                port["netdev"] = {"interface": lab.veth(namespace, f"v{number}")}
            else:
                port["tap"] = {"interface": f"t{number}", "namespace": namespace.name}
            site.document["ports"].append(port)
        site.client.apply(site.document)
        shell.wait_until(lambda: site.client.status().get("ports_up", 0) == ports,
                         f"{ports} ports are up", 120)
        yield site
