"""Cycles per packet of routing on one worker: a pcap source of 60-byte packets that never ends, to a
null sink, in a table of ten thousand and of a million prefixes. Peer: our own switching of the same
capture. Alternating; ratio = routed over switched, so less is better."""

from __future__ import annotations

import argparse
import contextlib
import random
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import paths
from lab import pcap, shell
from lab.daemon import Daemon
from report import Results

SINK = "net_null1,no-rx=1"
ROUTER_MAC = "02:00:00:00:ff:01"
HOST_MAC = "02:00:00:00:ff:02"
HOSTS = 32  # next hops, all behind the sink
SIZES = {"10k": 10_000, "1m": 1_000_000}


def prefixes(count: int) -> list[tuple[int, int]]:
    """Address and length of random prefixes, distributed about as in a full table of the Internet:
    most are /24."""
    chosen = random.Random(1)
    found: set[tuple[int, int]] = set()
    while len(found) < count:
        length = chosen.choices((24, 23, 22, 21, 20, 19, 18, 17, 16),
                                (62, 10, 12, 5, 5, 2, 1, 1, 2))[0]
        address = chosen.randrange(1 << 24, 223 << 24) >> (32 - length) << (32 - length)
        if address >> 24 not in (10, 127, 169, 172):
            found.add((address, length))
    return sorted(found)


def dotted(address: int) -> str:
    return ".".join(str(byte) for byte in address.to_bytes(4, "big"))


def write_routes(path: Path, table: list[tuple[int, int]]) -> None:
    with path.open("w") as out:
        for number, (address, length) in enumerate(table):
            out.write(f"{dotted(address)}/{length} via 172.16.2.{1 + number % HOSTS}\n")


def write_capture(path: Path, destinations: list[int]) -> None:
    """One packet per destination, each from a station of its own, all to the router."""
    frames = []
    for frame, destination in zip(pcap.udp_frames(len(destinations)), destinations):
        header = bytearray(frame[14:34])
        header[16:20] = struct.pack("!I", destination)
        header[10:12] = bytes(2)
        total = sum(struct.unpack("!10H", header))
        total = (total & 0xFFFF) + (total >> 16)
        total = (total & 0xFFFF) + (total >> 16)
        header[10:12] = struct.pack("!H", total ^ 0xFFFF)
        router = bytes.fromhex(ROUTER_MAC.replace(":", ""))
        frames.append(router + frame[6:14] + bytes(header) + frame[34:])
    pcap.write(path, frames)


@contextlib.contextmanager
def running(capture: Path, destinations: int, routes: Path | None, cpu: int) -> Iterator[Daemon]:
    """Between source and sink a router with these routes or, without any, a network."""
    source = f"net_pcap0,rx_pcap={capture},infinite_rx=1"
    with contextlib.closing(Daemon()) as daemon:
        daemon.start()
        document = {
            "settings": {"workers": 1},
            "networks": [{"name": "one", "fdb_limit": 2 * destinations},
                         {"name": "two", "static_fdb": [{"mac": HOST_MAC, "port": "sink"}]}],
            "ports": [{"name": "sink", "ethdev": {"devargs": SINK}, "network": "two",
                       "mac": HOST_MAC,
                       "addresses": [f"172.16.2.{1 + n}" for n in range(HOSTS)]}],
            "routers": [{"name": "r", "mac": ROUTER_MAC, "interfaces": [
                {"network": "one", "addresses": ["172.16.1.254/24"]},
                {"network": "two", "addresses": ["172.16.2.254/24"]}]}]}
        if routes is None:
            document["networks"] = [{"name": "one", "fdb_limit": 2 * destinations,
                                     "static_fdb": [{"mac": ROUTER_MAC, "port": "sink"}]}]
            document["ports"][0]["network"] = "one"
            del document["routers"]
        daemon.client.apply(document)
        if routes is not None:
            daemon.client.run("update-routes", "r", "--source", "bench", "-f", str(routes))
        document["ports"].append({"name": "source", "ethdev": {"devargs": source},
                                  "network": "one"})
        daemon.client.apply(document)
        paths.pin_workers(daemon, [cpu])
        yield daemon


def measure(daemon: Daemon, seconds: float, warm_up: float) -> tuple[float, float]:
    """Cycles per packet, and Mpps that left through the sink."""
    time.sleep(warm_up)
    sent, start = daemon.client.counters("sink")["tx_frames"], time.monotonic()
    time.sleep(seconds)
    sent = daemon.client.counters("sink")["tx_frames"] - sent
    mpps = sent / (time.monotonic() - start) / 1e6
    drops = daemon.client.drops()
    assert sent > 0 and not drops, f"nothing is to be dropped: {dict(drops)}"
    return daemon.client.get("workers")[0]["cycles_per_frame"], mpps


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench l3-pps", description=__doc__)
    parser.add_argument("--destinations", type=int, nargs="+", default=[1, 1000, 10000])
    parser.add_argument("--tables", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--warm-up", type=float, default=2)
    parser.add_argument("--cpu", type=int, default=1)
    options = parser.parse_args()
    shell.raise_on_sigterm()

    results = Results("l3-pps")
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as directory:
        files: dict[str, Path] = {}
        tables: dict[str, list[tuple[int, int]]] = {}
        for name in options.tables:
            tables[name] = prefixes(SIZES[name])
            files[name] = Path(directory) / f"{name}.routes"
            write_routes(files[name], tables[name])
        for destinations in options.destinations:
            for name in options.tables:
                chosen = random.Random(2).sample(tables[name], destinations)
                capture = Path(directory) / f"{destinations}-{name}.pcap"
                write_capture(capture, [address + 9 for address, _ in chosen])
                case = f"{destinations}-{name}"
                for _ in range(options.rounds):
                    for way, routes in (("routed", files[name]), ("switched", None)):
                        with running(capture, destinations, routes, options.cpu) as daemon:
                            cycles, mpps = measure(daemon, options.seconds, options.warm_up)
                        results.add(f"{way}-{case}", cycles, "cycles/packet", f"{mpps:.2f} Mpps")
    results.print_values("cycles/packet")
    print()
    for destinations in options.destinations:
        for name in options.tables:
            case = f"{destinations}-{name}"
            results.case(case, f"routed-{case}", [f"switched-{case}"], "cycles/packet")


if __name__ == "__main__":
    main()
