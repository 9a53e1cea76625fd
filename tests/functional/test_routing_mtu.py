"""Path MTU: errors, fragments and superframes on the way from one subnet to another."""

from __future__ import annotations

import os
import re
import struct

import frames
import pytest
from frames import ROUTER, Host, ip
from lab import flow
from lab.site import Site, Station
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6PacketTooBig, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

SMALL = 1400


def small_far_side(site: Site, kind: str = "tap") -> tuple[Station, Station]:
    """A client, and a server in a network whose MTU is less than anybody's who sends into it."""
    site.network("net2", mtu=SMALL)
    site.router("r1", 1, 2)
    make = site.tap if kind == "tap" else site.veth
    return make(subnet=1), make(subnet=2)


def hosts(site: Site, vnet: bool = False, **far: int) -> tuple[Host, Host]:
    site.router("r1", 1, 2, mac=ROUTER)
    near, other = Host(site, 1, vnet=vnet), Host(site, 2, vnet=vnet, **far)
    frames.apply_with(site, near, other)
    return near, other


def path_mtu(client: Station, address: str) -> int | None:
    """What the client's kernel has learned."""
    shown = client.namespace.run("ip", "route", "get", address).stdout
    found = re.search(r" mtu (\d+)", shown)
    return int(found[1]) if found else None


@pytest.mark.parametrize("kind", ["tap", "veth"])
def test_tcp_hangs_when_the_far_network_has_a_smaller_mtu(site: Site, kind: str) -> None:
    """Field case 4.2: senders set DF, superframes included, and learn the MTU from the error."""
    client, server = small_far_side(site, kind)
    site.apply()
    site.wait_for_ping(client, server)
    site.exercise(client, server)
    for address in server.addresses:
        assert path_mtu(client, address) == SMALL
    for address in client.addresses:
        assert path_mtu(server, address) is None
    assert site.client.drops(client.port)["packet-too-big"] > 0
    assert site.client.drops(server.port)["packet-too-big"] == 0


@pytest.mark.parametrize("family", [0, 1], ids=["ipv4", "ipv6"])
def test_ping_that_is_too_large_is_told_the_mtu(site: Site, family: int) -> None:
    """RFC 1191, section 4; RFC 8201: and one that just fits passes."""
    client, server = small_far_side(site)
    site.apply()
    site.wait_for_ping(client, server)
    overhead = (28, 48)[family]

    def ping(packet: int) -> str:
        return client.namespace.run("ping", "-n", "-c", "1", "-W", "2", "-M", "do", "-s",
                                    str(packet - overhead), server.addresses[family],
                                    check=False).stdout
    assert " 0% packet loss" in ping(SMALL)
    assert path_mtu(client, server.addresses[family]) is None
    expected = ("Frag needed and DF set (mtu = 1400)", "Packet too big: mtu=1400")[family]
    assert expected in ping(SMALL + 1)
    assert path_mtu(client, server.addresses[family]) == SMALL
    assert " 0% packet loss" in ping(SMALL)


@pytest.mark.parametrize("version", [4, 6])
def test_error_says_the_mtu_of_the_next_link(site: Site, version: int) -> None:
    """RFC 1191, section 4; RFC 4443, section 3.2."""
    site.network("net2", mtu=SMALL)
    near, other = hosts(site)
    fields = {"flags": "DF"} if version == 4 else {}
    header = ip(version, near.source(version), other.source(version), **fields)
    overhead = 28 if version == 4 else 48
    for size in (SMALL - 1, SMALL):
        sent = near.frame(header / UDP(sport=1, dport=2) / Raw(os.urandom(size - overhead)))
        assert near.answers(sent) == []
        [got] = other.until_echo()
        assert got[34 if version == 4 else 54:] == sent[34 if version == 4 else 54:]
    for size in (SMALL + 1, 1500):
        sent = near.frame(header / UDP(sport=1, dport=2) / Raw(os.urandom(size - overhead)))
        [answer] = near.answers(sent)
        packet = frames.assert_icmp(answer)
        if version == 4:
            assert (packet[ICMP].type, packet[ICMP].code, packet[ICMP].nexthopmtu) == (3, 4, SMALL)
            assert packet[IP].src == near.station.gateways[0]
        else:
            assert packet[ICMPv6PacketTooBig].mtu == SMALL
            assert packet[IPv6].src == near.station.gateways[1]
        assert other.until_echo() == []
    assert site.client.drops(near.port)["packet-too-big"] == 2


def test_port_with_a_smaller_mtu_than_its_network_counts_as_well(site: Site) -> None:
    near, other = hosts(site, mtu=1300)
    other.until_echo()  # from now on it is known at which port it is
    for version in (4, 6):
        fields = {"flags": "DF"} if version == 4 else {}
        header = ip(version, near.source(version), other.source(version), **fields)
        [answer] = near.answers(near.frame(header / UDP() / Raw(bytes(1300))))
        packet = frames.assert_icmp(answer)
        mtu = packet[ICMP].nexthopmtu if version == 4 else packet[ICMPv6PacketTooBig].mtu
        assert mtu == 1300
    assert site.client.drops()["tx-mtu"] == 0


# ---- Fragments ---------------------------------------------------------------------------------

def reassembled(pieces: list[bytes]) -> bytes:
    """The payload of IPv4 fragments in whatever order; they must neither overlap nor leave a gap."""
    parts = []
    for frame in pieces:
        header = (frame[14] & 15) * 4
        total, _, field = struct.unpack_from("!HHH", frame, 16)
        assert frames.checksum(frame[14:14 + header]) == 0, "IPv4 header checksum"
        parts.append(((field & 0x1FFF) * 8, bool(field & 0x2000), frame[14 + header:14 + total]))
    parts.sort()
    payload = b""
    for number, (offset, more, data) in enumerate(parts):
        assert offset == len(payload), f"offset {offset} behind {len(payload)} bytes"
        assert more == (number < len(parts) - 1)
        payload += data
    return payload


@pytest.mark.parametrize("size", [1401, 1500])
def test_ipv4_without_df_arrives_in_fragments(site: Site, size: int) -> None:
    """RFC 791, section 3.2; field case 1.6: they make up the datagram, whose checksum is right."""
    site.network("net2", mtu=SMALL)
    near, other = hosts(site)
    payload = os.urandom(size - 28)
    sent = near.frame(IP(src=near.ipv4, dst=other.ipv4, id=0xBEEF, tos=0x28)
                      / UDP(sport=1000, dport=2000) / Raw(payload))
    assert near.answers(sent) == []
    pieces = other.until_echo()
    assert len(pieces) == 2
    assert reassembled(pieces) == sent[34:]
    for frame in pieces:
        packet = Ether(frame)[IP]
        assert packet.id == 0xBEEF and packet.ttl == 63 and packet.tos == 0x28
        assert packet.len <= SMALL and packet.proto == 17


def test_fragment_is_cut_again(site: Site) -> None:
    """RFC 791, section 3.2: offsets add up, and more-fragments stays on the last piece."""
    site.network("net2", mtu=SMALL)
    near, other = hosts(site)
    data = os.urandom(1480)
    sent = near.frame(IP(src=near.ipv4, dst=other.ipv4, id=7, proto=17, flags="MF", frag=200)
                      / Raw(data))
    assert near.answers(sent) == []
    pieces = [Ether(frame)[IP] for frame in other.until_echo()]
    assert len(pieces) == 2
    assert all("MF" in str(piece.flags) and piece.id == 7 for piece in pieces)
    assert pieces[0].frag == 200
    assert pieces[1].frag == 200 + len(bytes(pieces[0].payload)) // 8
    assert b"".join(bytes(piece.payload) for piece in pieces) == data


def test_options_are_copied_into_the_fragments_they_belong_to(site: Site) -> None:
    """RFC 791, section 3.1: the copied flag. Field case 1.10: the header checksum covers options."""
    site.network("net2", mtu=SMALL)
    near, other = hosts(site)
    copied, once = b"\x9e\x06copy", b"\x5e\x06once"  # RFC 4727: experimental, with and without the flag
    options = copied + once
    sent = near.frame(IP(src=near.ipv4, dst=other.ipv4, id=9, options=options)
                      / UDP(sport=1, dport=2) / Raw(os.urandom(1450)))
    assert sent[34:46] == options, "scapy laid out other options"
    assert near.answers(sent) == []
    pieces = other.until_echo()
    assert len(pieces) == 2
    header = (sent[14] & 15) * 4
    assert reassembled(pieces) == sent[14 + header:]
    first, second = sorted(pieces, key=lambda frame: struct.unpack_from("!H", frame, 20)[0] & 0x1FFF)
    assert first[34:46] == options
    length = (second[14] & 15) * 4
    assert second[34:40] == copied
    assert once not in second[34:14 + length]
    assert set(second[40:14 + length]) <= {0, 1}, "padding"


def test_ids_of_fragments_are_the_senders(site: Site) -> None:
    """Several datagrams, interleaved with small ones: no id is used twice."""
    site.network("net2", mtu=SMALL)
    near, other = hosts(site)
    sent = [near.frame(IP(src=near.ipv4, dst=other.ipv4, id=number) / UDP(sport=number, dport=1)
                       / Raw(os.urandom(1450 if number % 2 else 10))) for number in range(1, 41)]
    assert near.answers(*sent) == []
    got = other.until_echo()
    by_id: dict[int, list[bytes]] = {}
    for frame in got:
        by_id.setdefault(Ether(frame)[IP].id, []).append(frame)
    assert sorted(by_id) == list(range(1, 41))
    for number, frame in enumerate(sent, 1):
        assert reassembled(by_id[number]) == frame[34:]
        assert len(by_id[number]) == (2 if number % 2 else 1)


@pytest.mark.parametrize("size", [1472, 3000, 20000, 65507])
def test_large_udp_works_unfragmented_but_is_lost_in_fragments(site: Site, size: int) -> None:
    """Field case 1.6: fragmented by the host, and once more by the router where it must."""
    client, server = small_far_side(site)
    site.apply()
    site.wait_for_ping(client, server)
    for station in (client, server):
        station.namespace.sysctl("net.ipv4.ip_no_pmtu_disc", "1")  # no DF
    flow.udp_echo(client.namespace, server.namespace, server.ipv4, size)
    flow.udp_echo(server.namespace, client.namespace, client.ipv4, size)
    assert client.namespace.checksum_errors() + server.namespace.checksum_errors() == 0


def test_large_udp_over_ipv6_arrives(site: Site) -> None:
    """Fragments of the host are ordinary packets to a router: RFC 8200, section 4.5."""
    site.router("r1", 1, 2)
    client, server = site.tap(subnet=1), site.veth(subnet=2)
    site.apply()
    site.wait_for_ping(client, server)
    for size in (3000, 20000, 65000):
        flow.udp_echo(client.namespace, server.namespace, server.ipv6, size)


def test_tcp_without_df_is_fragmented_on_the_way(site: Site) -> None:
    """Superframes of segments that are too long: cut into segments, and those into fragments."""
    client, server = small_far_side(site)
    site.apply()
    client.namespace.sysctl("net.ipv4.ip_no_pmtu_disc", "1")
    site.wait_for_ping(client, server)
    flow.tcp_transfer(client.namespace, server.namespace, server.ipv4, 1_000_000)
    assert path_mtu(client, server.ipv4) is None
    assert site.client.drops(client.port)["packet-too-big"] == 0
    assert server.namespace.checksum_errors() == 0


# ---- Superframes -------------------------------------------------------------------------------

def superframe(near: Host, other: Host, version: int, protocol: str, size: int = 30_000,
               **fields: str) -> bytes:
    l4 = (TCP(sport=4000, dport=5000, seq=1000, ack=1, flags="PA") if protocol == "tcp"
          else UDP(sport=4000, dport=5000))
    return near.frame(ip(version, near.source(version), other.source(version), **fields)
                      / l4 / Raw(os.urandom(size)))


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_superframe_stays_one_through_a_router(site: Site, version: int, protocol: str) -> None:
    """docs/routing.md: the MTU is checked by gso_size; field case 1.20."""
    near, other = hosts(site, vnet=True)
    frame = superframe(near, other, version, protocol)
    near.link.send(*frames.make_partial(frame, 1400))
    got = other.link.collect(1, match=other.is_mine)
    assert len(got) == 1 and got[0].header is not None
    assert got[0].header.gso_size == 1400
    whole = frames.complete(got[0].data, got[0].header)
    l4 = 34 if version == 4 else 54
    assert whole[l4:] == frame[l4:]
    packet = Ether(whole)
    assert (packet[IP].ttl if version == 4 else packet[IPv6].hlim) == 63
    if version == 4:
        assert frames.checksum(whole[14:34]) == 0
    assert other.link.collect(1, 0.05, other.is_mine) == []


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("gso_size", ["exact", "one more"])
def test_superframe_is_judged_by_its_segments(site: Site, version: int, gso_size: str) -> None:
    """Segments that fit pass as one frame; one byte more, and the sender is told the MTU."""
    site.network("net2", mtu=SMALL)
    near, other = hosts(site, vnet=True)
    fields = {"flags": "DF"} if version == 4 else {}
    frame = superframe(near, other, version, "tcp", **fields)
    exact = SMALL - (40 if version == 4 else 60)
    near.link.send(*frames.make_partial(frame, exact + (gso_size == "one more")))
    if gso_size == "exact":
        got = other.link.collect(1, match=other.is_mine)
        assert len(got) == 1 and got[0].header is not None and got[0].header.gso_size == exact
        return
    [answer] = near.collect(1)
    packet = frames.assert_icmp(answer)
    mtu = packet[ICMP].nexthopmtu if version == 4 else packet[ICMPv6PacketTooBig].mtu
    assert mtu == SMALL
    site.wait_for_drop("packet-too-big", 1, near.port)


def test_tcp_between_subnets_is_carried_in_superframes(site: Site) -> None:
    """Real stacks: far fewer frames than packets cross both ports."""
    site.router("r1", 1, 2)
    client, server = site.tap(subnet=1), site.tap(subnet=2)
    site.apply()
    site.wait_for_ping(client, server)
    before = site.client.counters(server.port)
    flow.tcp_transfer(client.namespace, server.namespace, server.ipv4, 20_000_000)
    after = site.client.counters(server.port)
    sent = {key: after[key] - before[key] for key in ("tx_frames", "tx_packets")}
    assert sent["tx_packets"] > 3 * sent["tx_frames"], sent
