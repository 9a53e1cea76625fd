"""Segmentation offload: superframes stay whole where they may, and become right segments elsewhere."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import frames
import pytest
from lab import flow, shell
from lab.site import Site
from scapy.layers.inet import TCP, UDP
from scapy.layers.l2 import Ether
from strict import CaptureSink

SINK_MAC = frames.mac(99)
MSS = 1400


def superframe(source: str, destination: str, version: int, protocol: str, size: int = 60_000,
               vlan: int | None = None, flags: str = "PA", options: bytes = b"") -> bytes:
    """A frame of many segments' payload, its checksum valid."""
    return frames.l4_packet(source, destination, version, protocol, os.urandom(size), vlan, flags,
                            options)


@pytest.mark.parametrize("kind", ["tap", "veth"])
@pytest.mark.parametrize("version", [4, 6])
def test_superframe_stays_one_frame_to_a_capable_port(site: Site, kind: str, version: int) -> None:
    """Field case 1.8."""
    source = site.veth(silent=True)
    target = site.tap(silent=True) if kind == "tap" else site.veth(silent=True)
    site.apply()
    reader = target.raw(vnet=True)
    frame = superframe(source.mac, target.mac, version, "tcp")
    source.raw(vnet=True).send(*frames.make_partial(frame, MSS))
    got = reader.collect(1, match=lambda data: TCP in Ether(data))
    assert len(got) == 1 and got[0].header is not None
    assert got[0].header.gso_size == MSS
    assert frames.complete(got[0].data, got[0].header) == frame
    assert reader.drain() == []
    counters = site.client.counters(target.port)
    assert counters["tx_packets"] - counters["tx_frames"] >= 60_000 // MSS - 1


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("size", [MSS + 1, 10 * MSS, 60_000])
def test_superframe_is_lost_on_the_way_to_a_port_without_offload(
        site: Site, tmp_path: Path, version: int, protocol: str, size: int) -> None:
    """Field case 1.8: every segment verified."""
    source = site.veth(silent=True)
    sink = CaptureSink(tmp_path / "out.pcap")
    site.ethdev(sink.name, sink.devargs)
    site.apply()
    frame = superframe(source.mac, SINK_MAC, version, protocol, size)
    source.raw(vnet=True).send(*frames.make_partial(frame, MSS))
    segments = sink.frames(-(-size // MSS))
    frames.assert_segments_of(frame, MSS, segments)


@pytest.mark.parametrize("flags", ["A", "PA", "FPA", "CA", "CFPA"])
def test_flags_of_a_superframe_are_repeated_on_every_segment(
        site: Site, tmp_path: Path, flags: str) -> None:
    """Field case 1.8: PSH and FIN on the last only, CWR on the first only."""
    source = site.veth(silent=True)
    sink = CaptureSink(tmp_path / "out.pcap")
    site.ethdev(sink.name, sink.devargs)
    site.apply()
    frame = superframe(source.mac, SINK_MAC, 4, "tcp", 5 * MSS, flags=flags)
    source.raw(vnet=True).send(*frames.make_partial(frame, MSS, ecn="C" in flags))
    frames.assert_segments_of(frame, MSS, sink.frames(5))


def test_superframe_with_vlan_tag_and_ip_options_is_segmented_wrongly(
        site: Site, tmp_path: Path) -> None:
    source = site.veth(silent=True, network=None, vlans=[{"vlan": 7, "network": "blue"}])
    sink = CaptureSink(tmp_path / "out.pcap")
    site.document["ports"].append({"name": sink.name, "ethdev": {"devargs": sink.devargs},
                                   "vlans": [{"vlan": 7, "network": "blue"}]})
    site.apply()
    frame = superframe(source.mac, SINK_MAC, 4, "tcp", 20_000, vlan=7, options=b"\x01" * 8)
    source.raw(vnet=True).send(*frames.make_partial(frame, MSS))
    frames.assert_segments_of(frame, MSS, sink.frames(-(-20_000 // MSS)))


def test_superframe_flooded_to_capable_and_other_ports_at_once(site: Site, tmp_path: Path) -> None:
    """Field case 1.8, last part."""
    source, veth, tap = (site.veth(silent=True), site.veth(silent=True), site.tap(silent=True))
    sinks = [CaptureSink(tmp_path / f"{n}.pcap", f"sink{n}", n) for n in range(2)]
    for sink in sinks:
        site.ethdev(sink.name, sink.devargs)
    site.apply()
    readers = [veth.raw(vnet=True), tap.raw(vnet=True)]
    frame = superframe(source.mac, SINK_MAC, 4, "tcp")
    source.raw(vnet=True).send(*frames.make_partial(frame, MSS))
    for reader in readers:
        got = reader.collect(1, match=lambda data: TCP in Ether(data))
        assert len(got) == 1 and frames.complete(got[0].data, got[0].header) == frame
    for sink in sinks:
        frames.assert_segments_of(frame, MSS, sink.frames(-(-60_000 // MSS)))


def test_gso_of_a_payload_that_fits_one_segment(site: Site, tmp_path: Path) -> None:
    """A GSO type with no more payload than gso_size is a plain frame with a partial checksum."""
    source = site.veth(silent=True)
    sink = CaptureSink(tmp_path / "out.pcap")
    site.ethdev(sink.name, sink.devargs)
    site.apply()
    frame = superframe(source.mac, SINK_MAC, 4, "tcp", 500)
    source.raw(vnet=True).send(*frames.make_partial(frame, MSS))
    assert sink.frames(1) == [frame]


@pytest.mark.parametrize("mtu", [1450, 9000])
@pytest.mark.parametrize("kinds", [("tap", "tap"), ("veth", "veth"), ("tap", "veth")],
                         ids="-".join)
def test_tcp_collapses_when_the_mtu_is_not_1500(
        site: Site, mtu: int, kinds: tuple[str, str]) -> None:
    """Field case 1.20: gso_size, not the frame length, is what the MTU limits."""
    client, server = (site.tap(mtu=mtu) if kind == "tap" else site.veth(mtu=mtu) for kind in kinds)
    site.apply()
    site.wait_for_ping(client, server)
    site.exercise(client, server, size=20_000_000)
    assert site.client.drops()["tx-mtu"] == 0
    counters = site.client.counters(server.port)
    assert counters["tx_packets"] > counters["tx_frames"], "no superframe crossed the switch"


def test_superframe_with_segments_beyond_the_mtu_of_the_egress(site: Site) -> None:
    """Field case 1.20: gso_size + headers above the MTU is tx-mtu; one whose segments fit passes."""
    source, target = site.veth(silent=True, mtu=9000), site.tap(silent=True, mtu=1500)
    site.apply()
    reader, link = target.raw(vnet=True), source.raw(vnet=True)
    too_long = superframe(source.mac, target.mac, 4, "tcp", 30_000)
    link.send(*frames.make_partial(too_long, 8900))
    site.wait_for_drop("tx-mtu", 1, target.port)
    link.send(*frames.make_partial(too_long, 1460))
    assert reader.collect(1, match=lambda data: TCP in Ether(data))
    assert site.client.drops(target.port)["tx-mtu"] == 1


def test_udp_segmentation_offload_of_a_socket(site: Site) -> None:
    """UDP_SEGMENT of a real sender: every datagram arrives by itself."""
    client, server = site.tap(), site.veth()
    site.apply()
    site.wait_for_ping(client, server)
    for address in server.addresses:
        received = flow.udp_segments(client.namespace, server.namespace, address, 1000, 30_500)
        assert received == [1000] * 30 + [500]
    assert client.namespace.checksum_errors() + server.namespace.checksum_errors() == 0


def test_ordering_in_a_burst_with_a_first_packet(site: Site) -> None:
    """Field case 2.5: eight segments of one flow keep their order, PSH in the middle, also when the
    destination is not yet known."""
    source, target = site.veth(silent=True), site.tap(silent=True)
    site.apply()
    reader, link = target.raw(), source.raw()
    for burst in range(50):
        destination = target.mac if burst % 2 else frames.mac(1000 + burst)
        for n in range(8):
            link.send(frames.l4_packet(source.mac, destination, 4, "tcp",
                                       bytes([burst, n]) * 20, flags="PA" if n == 4 else "A"))
    got = reader.collect(400, match=lambda data: TCP in Ether(data))
    order = [tuple(frame.data[54:56]) for frame in got]
    assert order == [(burst, n) for burst in range(50) for n in range(8)]


def test_fragments_of_one_datagram_are_spread_and_lost(site: Site) -> None:
    """Field case 1.25: several queues and two workers, datagrams of four fragments."""
    site.document["settings"] = {"workers": 2}
    client, server = site.tap(queues=2), site.tap(queues=2)
    site.apply()
    site.wait_for_ping(client, server)
    for address in server.addresses:
        for _ in range(100):
            flow.udp_echo(client.namespace, server.namespace, address, 5500)


def test_large_datagram_arrives_whole(site: Site) -> None:
    """Field case 1.6, the switched part: fragments made by the sender's kernel."""
    client, server = site.veth(), site.tap()
    site.apply()
    site.wait_for_ping(client, server)
    for address in server.addresses:
        flow.udp_echo(client.namespace, server.namespace, address, 4000)
        flow.udp_echo(client.namespace, server.namespace, address, 60_000)


def test_peer_has_a_larger_mtu_than_the_port(site: Site) -> None:
    """Field case 1.17: frames of 9000 bytes into a port of 1500 do no harm (the pair itself refuses
    them, its host end has the port's MTU); then the MTU is raised at run time."""
    source = site.veth(silent=True, peer_mtu=9000, mtu=1500)
    target = site.tap(silent=True, mtu=9000)
    site.apply()
    reader, link = target.raw(), source.raw()
    with contextlib.suppress(OSError):
        link.send(frames.l4_packet(source.mac, target.mac, 4, "udp", bytes(8900)))
    link.send(frames.plain(source.mac, target.mac, "after"))
    assert [frames.text_of(frame.data) for frame in
            reader.collect(1, match=frames.is_plain)] == ["after"]
    site.port_document(source.port)["mtu"] = 9000
    site.apply()
    shell.wait_until(lambda: site.client.port(source.port)["mtu"] == 9000, "the MTU is raised")
    link.send(frames.l4_packet(source.mac, target.mac, 4, "udp", bytes(8900)))
    got = reader.collect(1, match=lambda data: UDP in Ether(data) and len(data) > 8900)
    assert got, "a frame of the raised MTU did not pass"
