"""Partial checksums: nobody has to run ethtool, and what leaves for a wire is complete."""

from __future__ import annotations

import socket
from pathlib import Path

import frames
import pytest
from lab import flow
from lab.netns import Namespace
from lab.raw import GSO_TCPV4, NEEDS_CSUM, VnetHeader
from lab.site import Site, Station
from scapy.layers.dhcp import BOOTP
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from strict import CaptureSink, StrictTap

SINK_MAC = frames.mac(99)


def station(site: Site, kind: str, **fields: object) -> Station:
    return site.tap(**fields) if kind == "tap" else site.veth(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("kinds", [("tap", "tap"), ("veth", "veth"), ("tap", "veth")],
                         ids="-".join)
def test_ping_works_but_every_tcp_connection_hangs(site: Site, kinds: tuple[str, str]) -> None:
    """Field case 1.1."""
    client, server = (station(site, kind) for kind in kinds)
    site.apply()
    site.wait_for_ping(client, server)
    site.exercise(client, server, size=10_000_000)


@pytest.mark.parametrize("kind", ["tap", "veth"])
def test_answers_of_a_service_namespace_are_discarded_by_a_strict_guest(
        site: Site, kind: str) -> None:
    """Field case 1.2: DHCP and HTTP answers reach a reader that verifies every checksum."""
    service = station(site, kind)
    guest = StrictTap(site.lab)
    site.document["ports"].append({"name": "guest", "netdev": {"interface": guest.interface},
                                   "network": "blue"})
    site.apply()

    with service.namespace.entered():
        dhcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        web = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with dhcp, web:
        dhcp.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        dhcp.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
        dhcp.bind((service.ipv4, 67))
        dhcp.sendto(bytes(BOOTP(op=2)), ("255.255.255.255", 68))
        offer = guest.read(lambda frame: UDP in Ether(frame) and Ether(frame)[UDP].sport == 67)
        frames.assert_checksums(offer)

        web.bind((service.ipv4, 80))
        web.listen()
        mac, address = frames.mac(50), "10.0.0.50"
        answer_arp = bytes(Ether(src=mac, dst=service.mac) / ARP(
            op=2, hwsrc=mac, psrc=address, hwdst=service.mac, pdst=service.ipv4))
        guest.send(answer_arp)
        service.namespace.run("ip", "neighbour", "replace", address, "lladdr", mac, "dev", "eth0")
        guest.send(bytes(Ether(src=mac, dst=service.mac) / IP(src=address, dst=service.ipv4)
                         / TCP(sport=3333, dport=80, flags="S", seq=1)))
        reply = guest.read(lambda frame: TCP in Ether(frame))
        assert frames.assert_checksums(reply)[TCP].flags == "SA"


@pytest.mark.parametrize("kind", ["tap", "veth"])
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_frame_leaves_for_a_wire_with_only_the_pseudo_header_sum(
        site: Site, tmp_path: Path, kind: str, version: int, protocol: str) -> None:
    """Field case 1.1: the egress has no offload, so the sum is completed in software; odd and even
    lengths, and a payload that makes the sum zero."""
    source = station(site, kind, silent=True)
    sink = CaptureSink(tmp_path / "out.pcap")
    site.ethdev(sink.name, sink.devargs)
    site.network("blue", static_fdb=[{"mac": SINK_MAC, "port": sink.name}])
    site.apply()
    link = source.raw(vnet=True)
    sent = [frames.l4_packet(source.mac, SINK_MAC, version, protocol, bytes(range(length)))
            for length in (0, 1, 2, 17, 18, 100, 255)]
    sent.append(frames.l4_packet(source.mac, SINK_MAC, version, protocol, zero_sum_payload(
        version, protocol, source.mac)))
    for frame in sent:
        link.send(*frames.make_partial(frame))
    captured = sink.frames(len(sent))
    assert captured[:-1] == sent[:-1]
    # Zero may be written as either of its two forms, except that UDP has but one.
    packet = frames.assert_checksums(captured[-1])
    assert UDP not in packet or packet[UDP].chksum == 0xFFFF


def zero_sum_payload(version: int, protocol: str, source: str) -> bytes:
    """Two bytes that make the L4 checksum 0x0000 (which UDP writes as 0xffff)."""
    frame = frames.l4_packet(source, SINK_MAC, version, protocol, b"\0\0")
    packet = Ether(frame)
    checksum = packet[TCP].chksum if TCP in packet else packet[UDP].chksum
    return checksum.to_bytes(2, "big")


@pytest.mark.parametrize("kind", ["tap", "veth", "wire"])
def test_tcp_inside_a_vlan_tag_stalls_over_a_virtio_like_port(
        site: Site, tmp_path: Path, kind: str) -> None:
    """Field case 1.5: NEEDS_CSUM behind an 802.1Q tag, to three kinds of egress."""
    source = site.veth(silent=True, network=None, vlans=[{"vlan": 7, "network": "blue"}])
    trunk = {"network": None, "vlans": [{"vlan": 8, "network": "blue"}]}
    sink = CaptureSink(tmp_path / "out.pcap")
    if kind == "wire":
        site.document["ports"].append({"name": sink.name, "ethdev": {"devargs": sink.devargs},
                                       "vlans": trunk["vlans"]})
    else:
        target = station(site, kind, silent=True, **trunk)
    site.apply()
    reader = target.raw(vnet=True) if kind != "wire" else None
    frame = frames.l4_packet(source.mac, SINK_MAC, 4, "tcp", b"tagged", vlan=7)
    source.raw(vnet=True).send(*frames.make_partial(frame))
    if reader is None:
        got = sink.frames(1, lambda data: frames.vlan_of(data) == 8)[0]
    else:
        received = reader.collect(1, match=lambda data: frames.vlan_of(data) == 8)[0]
        # The reader's header counts from the frame without the tag that the kernel took out.
        if received.header is not None and received.header.flags & NEEDS_CSUM and \
                received.header.csum_start == 34:
            received.header.csum_start += 4
        got = frames.complete(received.data, received.header)
    assert frames.assert_checksums(got[:len(frame)])[TCP].payload.load == b"tagged"


def test_wrong_checksum_of_a_sender_is_not_made_right(site: Site, tmp_path: Path) -> None:
    """A switch does not repair (and so hide) corruption that it received."""
    source = site.veth(silent=True)
    sink = CaptureSink(tmp_path / "out.pcap")
    site.ethdev(sink.name, sink.devargs)
    site.apply()
    frame = bytearray(frames.l4_packet(source.mac, SINK_MAC, 4, "udp", b"payload " * 8))
    frame[-1] ^= 0x55
    source.raw().send(bytes(frame))
    assert sink.frames(1)[0] == bytes(frame)


def test_ipv4_options_move_the_checksum(site: Site, tmp_path: Path) -> None:
    """Field case 1.10: IHL 6 to 15; the L4 header is found behind the options."""
    source = site.veth(silent=True)
    sink = CaptureSink(tmp_path / "out.pcap")
    site.ethdev(sink.name, sink.devargs)
    site.apply()
    link = source.raw(vnet=True)
    sent = []
    for words in range(1, 11):
        sent.append(frames.l4_packet(source.mac, SINK_MAC, 4, "tcp", b"options",
                                     options=b"\x01" * 4 * words))
        link.send(*frames.make_partial(sent[-1]))
    assert sink.frames(len(sent)) == sent


def test_tcp_that_probes_the_mtu_gets_checksum_errors(site: Site) -> None:
    """Field case 1.12: odd-sized segments, from the kernel's own MTU probing."""
    client, server = site.tap(), site.veth()
    for end in (client, server):
        end.namespace.sysctl("net.ipv4.tcp_mtu_probing", "2")
        end.namespace.sysctl("net.ipv4.tcp_base_mss", "537")
    site.apply()
    site.wait_for_ping(client, server)
    site.exercise(client, server, size=5_000_001)


def test_back_to_back_segments_of_odd_size_are_changed(site: Site) -> None:
    """Field case 1.12: 1447, 1447 and 733 bytes in a row arrive byte for byte, in order."""
    source, target = site.veth(silent=True), site.tap(silent=True)
    site.apply()
    reader, link = target.raw(vnet=True), source.raw(vnet=True)
    sent = [frames.l4_packet(source.mac, target.mac, 4, "tcp", bytes([n]) * size)
            for n, size in enumerate((1447, 1447, 733))]
    for frame in sent:
        link.send(*frames.make_partial(frame))
    got = reader.collect(3, match=lambda data: TCP in Ether(data))
    assert [frames.complete(frame.data, frame.header) for frame in got] == sent


def vxlan(namespace: Namespace, local: Station, remote: Station, address: str) -> None:
    namespace.run("ip", "link", "add", "vx0", "type", "vxlan", "id", "42", "local", local.ipv4,
                  "remote", remote.ipv4, "dstport", "4789", "dev", "eth0")
    namespace.run("ip", "address", "add", address, "dev", "vx0")
    namespace.run("ip", "link", "set", "vx0", "up")


@pytest.mark.parametrize("kind", ["tap", "veth"])
def test_udp_over_a_kernel_vxlan_device_has_a_bad_checksum(site: Site, kind: str) -> None:
    """Field case 1.23: csum_start points into the packet inside the tunnel."""
    client, server = station(site, kind), station(site, "veth")
    site.apply()
    site.wait_for_ping(client, server)
    vxlan(client.namespace, client, server, "192.168.7.1/24")
    vxlan(server.namespace, server, client, "192.168.7.2/24")
    before = client.namespace.checksum_errors() + server.namespace.checksum_errors()
    flow.udp_echo(client.namespace, server.namespace, "192.168.7.2", 600)
    flow.tcp_transfer(client.namespace, server.namespace, "192.168.7.2", 2_000_000)
    flow.tcp_transfer(server.namespace, client.namespace, "192.168.7.1", 2_000_000)
    assert client.namespace.checksum_errors() + server.namespace.checksum_errors() == before


def test_vnet_header_of_a_container_contradicts_its_frame(site: Site) -> None:
    """Field case 9.15: offsets and sizes that the sender's kernel lets pass are refused by name or
    forwarded, and the port goes on."""
    source, target = site.veth(silent=True), site.tap(silent=True)
    site.apply()
    link, reader = source.raw(vnet=True), target.raw()
    frame = frames.l4_packet(source.mac, target.mac, 4, "tcp", bytes(3000))
    for gso_type in (0, GSO_TCPV4, 4, 5, GSO_TCPV4 | 0x80):
        for gso_size in (0, 1, 7, 1448, 65535):
            for csum_start in (0, 13, 14, 33, 34, 54, 3000, 65535):
                for csum_offset in (0, 6, 16, 65535):
                    header = VnetHeader(NEEDS_CSUM, gso_type, 54, gso_size, csum_start, csum_offset)
                    try:
                        link.send(frame, header)
                    except OSError:
                        continue  # the sender's own kernel refused it
    link.send(frames.plain(source.mac, target.mac, "still here"))
    assert reader.collect(1, match=frames.is_plain), "the port stopped"
