"""iperf3 between two namespaces: one TCP stream of cubic."""

from __future__ import annotations

import json
from dataclasses import dataclass

from lab import shell
from lab.netns import Namespace


@dataclass
class TcpResult:
    """One iperf3 run."""

    gbits: float  # received, Gbit/s
    bytes: int
    retransmits: int


def tcp(client: Namespace, server: Namespace, address: str, seconds: float,
        reverse: bool = False, cpus: tuple[int, int] | None = None, port: int = 5201) -> TcpResult:
    """Runs one stream; `reverse` makes the server send. `cpus` pins client and server."""
    pin_client: list[str] = []
    pin_server: list[str] = []
    if cpus is not None:
        pin_client = ["taskset", "-c", str(cpus[0])]
        pin_server = ["taskset", "-c", str(cpus[1])]
    listener = server.spawn(*pin_server, "iperf3", "-s", "-1", "-p", str(port), "--forceflush",
                            stdout=-1, stderr=-1)
    try:
        assert listener.stdout is not None
        for line in listener.stdout:  # the banner is printed before it accepts
            if "listening" in line:
                break
        options = ["-R"] if reverse else []
        done = client.run(*pin_client, "iperf3", "-J", "-C", "cubic", "-c", address, "-p", str(port),
                          "-t", str(seconds), "--connect-timeout", "5000", *options,
                          check=False, timeout=seconds + 30)
        report = json.loads(done.stdout)
        if "error" in report:
            raise shell.CommandError(f"iperf3 to {address}: {report['error']}")
        received = report["end"]["sum_received"]
        return TcpResult(received["bits_per_second"] / 1e9, received["bytes"],
                         report["end"]["sum_sent"].get("retransmits", 0))
    finally:
        shell.stop(listener, 2)


def ping_ms(client: Namespace, address: str, count: int = 5, interval: float = 0.2) -> float:
    """Average round-trip time in milliseconds; every echo must be answered."""
    done = client.run("ping", "-n", "-q", "-c", str(count), "-i", str(interval), "-W", "2", address,
                      check=False)
    if done.returncode != 0 or " 0% packet loss" not in done.stdout:
        raise shell.CommandError(f"ping {address} from {client.name}:\n{done.stdout}{done.stderr}")
    return float(done.stdout.rsplit("= ", 1)[1].split("/")[1])
