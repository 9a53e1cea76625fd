"""Field cases of group 2: idle CPU, storms, changes under traffic, placement of queues."""

from __future__ import annotations

import os
import time
from pathlib import Path

import frames
import pytest
from lab import flow, pcap, shell
from lab.daemon import SANITIZED
from lab.site import Site

# Datagrams a second of the flow that must not suffer: what two cores can also generate and count
# while a sanitizer build switches them.
RATE = 2_000 if SANITIZED else 10_000


def cpu_share(site: Site, seconds: float) -> float:
    """Share of one core that heddled uses during that time."""
    before, start = site.daemon.cpu_seconds(), time.monotonic()
    time.sleep(seconds)  # the measured interval itself
    return (site.daemon.cpu_seconds() - before) / (time.monotonic() - start)


def test_idle_daemon_burns_a_core(site: Site) -> None:
    """Field case 2.1: four idle ports, then a first packet, then a burst out of the silence."""
    stations = [site.tap(silent=True), site.tap(silent=True),
                site.veth(silent=True), site.veth(silent=True)]
    site.apply()
    links = [station.raw() for station in stations]
    shell.wait_until(lambda: all(worker.get("sleeping") for worker in site.client.get("workers")),
                     "all workers sleep")
    assert cpu_share(site, 3) < 0.05
    links[0].send(frames.plain(frames.mac(1), stations[2].mac, "first"))
    assert links[2].collect(1, match=frames.is_plain)
    site.network("blue", static_fdb=[{"mac": stations[3].mac, "port": stations[3].port}])
    site.apply()
    for number in range(1000):
        links[1].send(frames.plain(frames.mac(2), stations[3].mac, str(number)))
    assert len(links[3].collect(1000, match=frames.is_plain)) == 1000


@pytest.mark.parametrize("kind", ["tap", "veth"])
def test_single_packets_wait_for_the_next_one(site: Site, kind: str) -> None:
    """Field case 1.18: each packet leaves at once, although nothing follows it."""
    source = site.tap(silent=True) if kind == "tap" else site.veth(silent=True)
    target = site.veth(silent=True) if kind == "tap" else site.tap(silent=True)
    site.apply()
    reader, link = target.raw(), source.raw()
    delays = []
    for number in range(20):
        shell.wait_until(lambda: all(w.get("sleeping") for w in site.client.get("workers")),
                         "all workers sleep")
        start = time.monotonic()
        link.send(frames.plain(source.mac, target.mac, str(number)))
        got = reader.collect(1, deadline=2, match=lambda data: data[12:14] == b"\x88\xb5")
        delays.append(time.monotonic() - start)
        assert [frames.text_of(frame.data) for frame in got] == [str(number)]
    assert sorted(delays)[len(delays) // 2] < 0.05, delays


@pytest.mark.parametrize("storm", ["syn", "ipv6", "arp"])
def test_storm_of_new_flows_starves_the_established_one(site: Site, storm: str) -> None:
    """Field case 2.2: c3 floods frames for unknown destinations; the others lose less than 0.1 %, and
    the excess is accounted to c3."""
    client, server, stormy = site.tap(), site.veth(), site.veth(silent=True)
    site.port_document(stormy.port)["storm_limit_pps"] = 200
    site.apply()
    site.wait_for_ping(client, server)
    link = stormy.raw()
    template = {
        "syn": frames.l4_packet(frames.mac(66), frames.mac(5000), 4, "tcp", b"", flags="S"),
        "ipv6": frames.l4_packet(frames.mac(66), frames.mac(5000), 6, "udp", b"x"),
        "arp": frames.arp_request(frames.mac(66), "10.0.0.66", "10.0.0.77"),
    }[storm]
    with flow.paced_flow(client.namespace, server.namespace, server.ipv4, RATE) as result:
        end = time.monotonic() + 3
        sent = 0
        while time.monotonic() < end:
            tail = os.urandom(6)
            destination = template[:6] if storm == "arp" else b"\x02" + tail[:5]
            frame = destination + template[6:26] + tail + template[32:]
            for _ in range(16):
                link.send(frame)
                sent += 1
    assert result.sent > RATE
    assert result.lost <= result.sent // 1000, result
    drops = site.client.drops(stormy.port)
    assert drops["storm-limit"] > sent // 4, drops
    for quiet in (client, server):
        assert site.client.drops(quiet.port)["storm-limit"] == 0


def test_adding_and_removing_ports_stops_other_traffic(site: Site) -> None:
    """Field case 2.4: nothing is lost elsewhere while ports with traffic come and go."""
    client, server = site.tap(), site.veth()
    partner = site.veth(silent=True)
    site.apply()
    site.wait_for_ping(client, server)
    rounds = 10 if SANITIZED else 40
    spare = site.lab.namespace(ipv6=False)
    link = partner.raw()
    with flow.paced_flow(client.namespace, server.namespace, server.ipv4, RATE) as result:
        for number in range(rounds):
            name = f"coming{number % 3}"
            site.client.apply({"ports": [{
                "name": name, "network": "blue",
                "tap": {"interface": "x0", "namespace": spare.name}}]})
            for _ in range(50):  # flooded to it, also while it goes
                link.send(frames.plain(frames.mac(1), frames.mac(2), "traffic"))
            site.client.run("delete", "port", name)
    assert result.sent > RATE // 2
    assert result.lost == 0, result
    assert len(site.client.get("ports")) == 3


def test_port_removed_while_it_carries_traffic(site: Site) -> None:
    """Field case 2.4: frames for it become port-gone or are flooded, and the daemon lives on."""
    client, server = site.veth(), site.tap()
    site.apply()
    site.wait_for_ping(client, server)
    doomed = server.port
    with flow.paced_flow(client.namespace, server.namespace, server.ipv4, RATE):
        shell.wait_until(lambda: site.client.counters(doomed)["tx_frames"] > 500, "traffic flows")
        site.remove_port(doomed)
        before = site.client.counters(client.port)["rx_frames"]
        shell.wait_until(lambda: site.client.counters(client.port)["rx_frames"] > before,
                         "the sender goes on")


def test_changing_the_number_of_workers_stops_traffic(site: Site) -> None:
    """Field case 2.4: 1 to 4 workers and back, without a lost or a late datagram."""
    client, server = site.tap(), site.veth()
    site.document["settings"] = {"workers": 1}
    site.apply()
    site.wait_for_ping(client, server)
    with flow.paced_flow(client.namespace, server.namespace, server.ipv4, RATE) as result:
        for workers in (2, 4, 1, 3, 2, 1):
            site.client.apply({"settings": {"workers": workers}})
            shell.wait_until(lambda: len(site.client.get("workers")) == workers,
                             f"{workers} workers run")
            before = site.client.counters(server.port)["tx_frames"]
            shell.wait_until(lambda: site.client.counters(server.port)["tx_frames"] > before + 200,
                             "the flow goes on")
    assert result.lost == 0 and result.late == 0, result


def test_tcp_under_many_workers_is_in_order(site: Site) -> None:
    """Field case 2.5: several queues and workers; the receiver sees no reordering."""
    site.document["settings"] = {"workers": 3}
    client, server = site.tap(queues=2), site.tap(queues=2)
    site.apply()
    site.wait_for_ping(client, server)
    site.exercise(client, server, size=20_000_000)
    with flow.paced_flow(client.namespace, server.namespace, server.ipv4, RATE) as result:
        shell.wait_until(lambda: site.client.counters(server.port)["tx_frames"] > 2 * RATE,
                         "the flow has run for a while", 30)
    assert result.lost == 0 and result.late == 0, result


def hot_ports(site: Site, directory: Path, count: int) -> list[str]:
    """Sources that keep a worker busy each, and a sink for all that they send."""
    names = []
    frames_of = pcap.udp_frames(64)
    for number in range(count):
        capture = directory / f"hot{number}.pcap"
        pcap.write(capture, frames_of)
        names.append(f"hot{number}")
        site.ethdev(names[-1], f"net_pcap{number},rx_pcap={capture},infinite_rx=1",
                    network=f"net{number}")
        site.ethdev(f"sink{number}", f"net_null{number},no-rx=1", network=f"net{number}")
        site.network(f"net{number}", static_fdb=[
            {"mac": ":".join(f"{byte:02x}" for byte in frame[:6]), "port": f"sink{number}"}
            for frame in frames_of])
    return names


def workers_of(site: Site, ports: list[str]) -> list[int]:
    return [site.client.port(name)["queues"][0].get("worker", 0) for name in ports]


def test_one_worker_is_overloaded_while_the_other_idles(site: Site, tmp_path: Path) -> None:
    """Field case 2.7: two hot queues on one worker are drawn apart, again and again."""
    site.document["settings"] = {"workers": 2}
    names = hot_ports(site, tmp_path, 2)
    site.apply()
    shell.wait_until(lambda: len(set(workers_of(site, names))) == 2,
                     lambda: f"each hot queue has a worker of its own: {workers_of(site, names)}",
                     30)
    for name in names:
        queue = site.client.port(name)["queues"][0]
        assert 0 < queue["load"] <= 1.01
    site.document["ports"] = []
    site.document["networks"] = []
    site.client.apply(site.document, "--replace")


def test_queues_follow_a_growing_number_of_workers(site: Site, tmp_path: Path) -> None:
    """Field case 2.9, the placement part: a second worker takes over one of two hot queues."""
    site.document["settings"] = {"workers": 1}
    names = hot_ports(site, tmp_path, 2)
    site.apply()
    assert len(set(workers_of(site, names))) == 1
    site.client.apply({"settings": {"workers": 2}})
    shell.wait_until(lambda: len(set(workers_of(site, names))) == 2,
                     lambda: f"the second worker has a queue: {workers_of(site, names)}", 30)
    site.document["ports"] = []
    site.document["networks"] = []
    site.client.apply(site.document, "--replace")


def test_one_hot_queue_is_spread_over_workers(site: Site, tmp_path: Path) -> None:
    """Design section 6: one queue saturates its worker; others get flows of it by hash."""
    site.document["settings"] = {"workers": 2}
    names = hot_ports(site, tmp_path, 1)
    site.apply()

    def both_work() -> bool:
        workers = site.client.get("workers")
        return len(workers) == 2 and any(worker.get("handed_over", 0) > 0 for worker in workers)
    if (os.cpu_count() or 1) >= 2:
        shell.wait_until(both_work, lambda: f"flows are spread: {site.client.get('workers')}", 30)
    site.remove_port(names[0])


def test_another_program_pins_all_threads_to_one_core(site: Site) -> None:
    """Field case 2.16: traffic goes on."""
    client, server = site.tap(), site.veth()
    site.document["settings"] = {"workers": 2}
    site.apply()
    site.wait_for_ping(client, server)
    shell.run("taskset", "-a", "-p", "-c", "0", str(site.daemon.pid))
    site.exercise(client, server)
