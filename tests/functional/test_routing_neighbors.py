"""ARP and neighbour discovery of routers: what is answered, asked, learned, and refused."""

from __future__ import annotations

import socket
import time

import frames
import pytest
from frames import ROUTER, Host, ip
from lab import flow, shell
from lab.site import Site
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (ICMPv6ND_NA, ICMPv6ND_NS,
                                ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, IPv6)
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

ALL_NODES = "ff02::1"
STRANGER = frames.mac(0x7777)


def neighbors(site: Site, address: str | None = None) -> list[dict[str, object]]:
    return [entry for entry in site.client.get("neighbors")
            if address is None or entry["address"] == address]


def mac_of(site: Site, address: str) -> str | None:
    """The MAC address that the routers have for a neighbour, if any."""
    found = neighbors(site, address)
    return str(found[0]["mac"]) if found and found[0].get("mac") else None


def arp(source: str, **fields: object) -> bytes:
    """An ARP frame to everybody, by default with the Ethernet source as its sender."""
    destination = fields.pop("dst", frames.BROADCAST)
    return bytes(Ether(src=source, dst=destination, type=0x0806)
                 / ARP(**({"hwsrc": source} | fields))).ljust(60, b"\0")


def solicited_node(address: str) -> tuple[str, str]:
    """Group address and its MAC address: RFC 4291, section 2.7.1; RFC 2464, section 7."""
    last = socket.inet_pton(socket.AF_INET6, address)[-3:]
    group = socket.inet_ntop(socket.AF_INET6, bytes.fromhex("ff0200000000000000000001ff") + last)
    return group, "33:33:ff:" + last.hex(":")


def solicitation(source: str, sender: str, target: str, option: str | None = None,
                 hlim: int = 255) -> bytes:
    group, group_mac = solicited_node(target)
    message: Packet = ICMPv6ND_NS(tgt=target)
    if option:
        message = message / ICMPv6NDOptSrcLLAddr(lladdr=option)
    return bytes(Ether(src=source, dst=group_mac) / IPv6(src=sender, dst=group, hlim=hlim) / message)


def advertisement(source: str, target: str, option: str | None, destination: str = ALL_NODES,
                  to: str = "33:33:00:00:00:01", hlim: int = 255, **flags: int) -> bytes:
    message: Packet = ICMPv6ND_NA(tgt=target, R=0, S=0, O=1)
    for name, value in flags.items():
        setattr(message, name, value)
    if option:
        message = message / ICMPv6NDOptDstLLAddr(lladdr=option)
    return bytes(Ether(src=source, dst=to) / IPv6(src=target, dst=destination, hlim=hlim) / message)


def routed(site: Site, known: bool = True, **fields: object) -> tuple[Host, Host]:
    site.router("r1", 1, 2, mac=ROUTER, **fields)
    hosts = Host(site, 1), Host(site, 2, known=known)
    frames.apply_with(site, *hosts)
    return hosts


def packet_to(near: Host, other: Host, version: int, number: int = 0) -> bytes:
    return near.frame(ip(version, near.source(version), other.source(version))
                      / UDP(sport=1000, dport=2000) / Raw(f"number {number:4}".encode()))


def wait_for_request(host: Host, version: int, address: str, deadline: float = 5) -> bytes:
    """The next ARP request or neighbour solicitation for an address."""
    packed = socket.inet_pton(socket.AF_INET if version == 4 else socket.AF_INET6, address)

    def asks(frame: bytes) -> bool:
        if version == 4:
            return frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\1" and frame[38:42] == packed
        return frame[12:14] == b"\x86\xdd" and frame[20] == 58 and frame[54] == 135 \
            and frame[62:78] == packed
    got = host.link.collect(1, deadline, asks)
    assert got, f"nobody asked for {address}"
    return got[0].data


def answer(host: Host, version: int, mac: str | None = None) -> bytes:
    """The answer of a host to a router's request."""
    own = mac or host.mac
    if version == 4:
        return arp(own, op=2, psrc=host.ipv4, pdst=host.station.gateways[0], hwdst=ROUTER, dst=ROUTER)
    return advertisement(own, host.ipv6, own, host.station.gateways[1], ROUTER, S=1)


def make_known(site: Site, near: Host, other: Host, version: int) -> None:
    """Makes the router resolve a host, which answers."""
    near.link.send(packet_to(near, other, version))
    wait_for_request(other, version, other.source(version))
    other.link.send(answer(other, version))
    assert len(other.collect(1)) == 1
    assert mac_of(site, other.source(version)) == other.mac


# ---- Answering ---------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["tap", "veth", "trunk"])
def test_gateway_answers_on_every_kind_of_port(site: Site, kind: str) -> None:
    """RFC 826; RFC 4861, section 7.2.4: solicited, override, router."""
    site.router("r1", 1, mac=ROUTER)
    fields = {"network": None, "vlans": [{"vlan": 7, "network": "net1"}]} if kind == "trunk" else {}
    host = Host(site, 1, known=False, veth=kind != "tap", **fields)
    frames.apply_with(site, host)
    tag = b"\x81\x00\x00\x07" if kind == "trunk" else b""

    def ask(frame: bytes) -> bytes:
        host.link.send(frame[:12] + tag + frame[12:])
        [got] = host.collect(1)
        assert got[12:12 + len(tag)] == tag
        return got[:12] + got[12 + len(tag):]
    four, six = host.station.gateways
    reply = Ether(ask(arp(host.mac, psrc=host.ipv4, pdst=four)))
    assert (reply.src, reply[ARP].op) == (ROUTER, 2)
    assert (reply[ARP].hwsrc, reply[ARP].psrc) == (ROUTER, four)
    assert (reply[ARP].hwdst, reply[ARP].pdst) == (host.mac, host.ipv4)
    frame = ask(solicitation(host.mac, host.ipv6, six, host.mac))
    packet = frames.assert_icmp(frame)
    message = packet[ICMPv6ND_NA]
    assert (packet.src, packet[IPv6].src, packet[IPv6].dst) == (ROUTER, six, host.ipv6)
    assert packet[IPv6].hlim == 255
    assert (message.tgt, message.R, message.S, message.O) == (six, 1, 1, 1)
    assert message[ICMPv6NDOptDstLLAddr].lladdr == ROUTER


def test_request_for_the_gateway_is_not_flooded(site: Site) -> None:
    """Field case 4.8; and one for another host is."""
    site.router("r1", 1, mac=ROUTER)
    host, third = Host(site, 1), Host(site, 1)
    frames.apply_with(site, host, third)
    host.link.send(arp(host.mac, psrc=host.ipv4, pdst=host.station.gateways[0]))
    host.link.send(solicitation(host.mac, host.ipv6, host.station.gateways[1], host.mac))
    host.link.send(arp(host.mac, psrc=host.ipv4, pdst="10.0.1.99"))
    first = third.link.collect(1, match=lambda frame: frame[6:12] != bytes.fromhex(
        ROUTER.replace(":", "")))[0].data
    assert first[12:14] == b"\x08\x06" and first[38:42] == bytes([10, 0, 1, 99])


def test_unicast_request_is_answered(site: Site) -> None:
    """How a host confirms that its gateway is still there: RFC 1122, section 2.3.2.1."""
    host, _ = routed(site)
    [reply] = host.answers(arp(host.mac, psrc=host.ipv4, pdst=host.station.gateways[0], dst=ROUTER))
    assert Ether(reply)[ARP].hwsrc == ROUTER
    six = host.station.gateways[1]
    probe = host.frame(IPv6(src=host.ipv6, dst=six, hlim=255) / ICMPv6ND_NS(tgt=six))
    [frame] = host.answers(probe)
    message = frames.assert_icmp(frame)[ICMPv6ND_NA]
    assert (message.tgt, message.R, message.S) == (six, 1, 1)


def test_duplicate_address_detection_finds_the_gateway(site: Site) -> None:
    """RFC 5227, section 2.1.1; RFC 4862, section 5.4.3: the answer to :: goes to all nodes."""
    host, _ = routed(site)
    [reply] = host.answers(arp(host.mac, psrc="0.0.0.0", pdst=host.station.gateways[0]))
    assert Ether(reply)[ARP].hwsrc == ROUTER and Ether(reply)[ARP].psrc == host.station.gateways[0]
    assert neighbors(site, "0.0.0.0") == []
    host.link.drain()
    six = host.station.gateways[1]
    host.link.send(solicitation(host.mac, "::", six))
    got = host.link.collect(1, match=lambda frame: frame[12:14] == b"\x86\xdd" and frame[54] == 136
                            and Ether(frame)[ICMPv6ND_NA].tgt == six)
    packet = frames.assert_icmp(got[0].data)
    assert packet[IPv6].dst == ALL_NODES and packet.dst == "33:33:00:00:00:01"
    assert (packet[ICMPv6ND_NA].S, packet[ICMPv6ND_NA].O, packet[ICMPv6ND_NA].R) == (0, 1, 1)


# ---- Learning ----------------------------------------------------------------------------------

def test_whoever_asks_for_the_gateway_is_known(site: Site) -> None:
    """RFC 826: "it is usually a good idea to add the sender"; its first packet waits for nothing."""
    near, other = routed(site, known=False)
    other.link.send(arp(other.mac, psrc=other.ipv4, pdst=other.station.gateways[0]))
    other.link.send(solicitation(other.mac, other.ipv6, other.station.gateways[1], other.mac))
    for address in (other.ipv4, other.ipv6):
        shell.wait_until(lambda to=address: mac_of(site, to) == other.mac, f"{address} is known")
    other.link.drain()
    for version in (4, 6):
        near.link.send(packet_to(near, other, version))
        assert len(other.collect(1)) == 1


@pytest.mark.parametrize("version", [4, 6])
def test_announcement_creates_no_entry_but_updates_one(site: Site, version: int) -> None:
    """RFC 826 (merge flag); RFC 4861, section 7.2.5. Field case 4.6: the new owner is used at once."""
    near, other = routed(site, known=False)
    address = other.source(version)

    def announce(mac: str) -> list[bytes]:
        if version == 6:
            return [advertisement(mac, address, mac)]
        return [arp(mac, op=1, psrc=address, pdst=address),
                arp(mac, op=2, psrc=address, pdst=address, hwdst=mac)]
    for frame in announce(other.mac):
        other.link.send(frame)
    other.link.send(arp(other.mac, psrc="10.0.2.77", pdst=other.station.gateways[0]))
    shell.wait_until(lambda: mac_of(site, "10.0.2.77"), "what came behind has been seen")
    assert neighbors(site, address) == []
    make_known(site, near, other, version)
    for frame in announce(STRANGER):
        other.link.send(frame)
    shell.wait_until(lambda: mac_of(site, address) == STRANGER, "the entry was updated")
    near.link.send(packet_to(near, other, version))
    got = other.link.collect(1, match=lambda frame: frame[12:14] in (b"\x08\x00", b"\x86\xdd")
                             and b"number" in frame)
    assert Ether(got[0].data).dst == STRANGER


FORGED_ARP = {
    "another sender than the frame's": lambda me: arp(STRANGER, hwsrc=me.mac, psrc="10.0.2.50",
                                                      pdst="10.0.2.254"),
    "sender 00:00:00:00:00:00": lambda me: arp(me.mac, hwsrc="00:00:00:00:00:00", psrc="10.0.2.50",
                                               pdst="10.0.2.254"),
    "multicast sender": lambda me: arp(me.mac, hwsrc="01:00:5e:00:00:01", psrc="10.0.2.50",
                                       pdst="10.0.2.254"),
    "broadcast sender": lambda me: arp(me.mac, hwsrc=frames.BROADCAST, psrc="10.0.2.50",
                                       pdst="10.0.2.254"),
    "another hardware type": lambda me: arp(me.mac, hwtype=6, psrc="10.0.2.50", pdst="10.0.2.254",
                                            dst=ROUTER),
    "another protocol type": lambda me: arp(me.mac, ptype=0x86DD, psrc="10.0.2.50",
                                            pdst="10.0.2.254", dst=ROUTER),
    "operation 0": lambda me: arp(me.mac, op=0, psrc="10.0.2.50", pdst="10.0.2.254"),
    "reverse ARP": lambda me: arp(me.mac, op=3, psrc="10.0.2.50", pdst="10.0.2.254"),
    "cut": lambda me: arp(me.mac, psrc="10.0.2.50", pdst="10.0.2.254", dst=ROUTER)[:40],
}


@pytest.mark.parametrize("what", FORGED_ARP)
def test_forged_arp_never_enters_the_table(site: Site, what: str) -> None:
    """Field case 4.11; RFC 826: it is dropped by name."""
    near, other = routed(site, known=False)
    other.link.send(FORGED_ARP[what](other))
    site.wait_for_drop("bad-arp", 1, other.port)
    assert neighbors(site, "10.0.2.50") == []


def test_directed_broadcast_is_not_forwarded_to_whoever_claims_the_address(site: Site) -> None:
    """RFC 2644: not even after an ARP request in which somebody says that it is his."""
    near, other = routed(site, known=False)
    other.link.send(arp(other.mac, psrc="10.0.2.255", pdst=other.station.gateways[0]))
    assert len(other.collect(1, 0.5)) <= 1  # it may be answered
    assert near.answers(near.frame(IP(src=near.ipv4, dst="10.0.2.255") / UDP())) == []
    assert site.client.drops(near.port) == {"martian": 1}


@pytest.mark.parametrize("address", ["10.0.1.50", "203.0.113.1", "0.0.0.0", "127.0.0.1", "224.0.0.1",
                                     "255.255.255.255", "10.0.2.255", "10.0.2.0"])
def test_sender_outside_the_subnet_never_enters_the_table(site: Site, address: str) -> None:
    """Field case 4.11: nor does what no host can have."""
    near, other = routed(site, known=False)
    other.link.send(arp(other.mac, psrc=address, pdst=other.station.gateways[0]))
    other.link.send(arp(other.mac, psrc="10.0.2.77", pdst=other.station.gateways[0]))
    shell.wait_until(lambda: mac_of(site, "10.0.2.77"), "what came behind has been seen")
    assert neighbors(site, address) == []


@pytest.mark.parametrize("version", [4, 6])
def test_somebody_claims_to_be_the_gateway(site: Site, version: int) -> None:
    """Field case 4.11; RFC 5227, section 2.4 (c): neither believed nor passed on, and the gateway
    says who it is."""
    site.router("r1", 1, mac=ROUTER)
    thief, victim = Host(site, 1), Host(site, 1)
    frames.apply_with(site, thief, victim)
    gateway = thief.station.gateways[version == 6]
    forged = (arp(thief.mac, op=2, psrc=gateway, pdst=gateway, hwdst=frames.BROADCAST)
              if version == 4 else advertisement(thief.mac, gateway, thief.mac))

    def announces(frame: bytes) -> bool:
        packet = Ether(frame)
        if version == 4:
            return ARP in packet and packet[ARP].psrc == gateway == packet[ARP].pdst
        return ICMPv6ND_NA in packet and packet[ICMPv6ND_NA].tgt == gateway \
            and packet[IPv6].dst == ALL_NODES
    # The announcements of a new interface, one second apart, are over.
    while victim.link.collect(1, 1.5, announces):
        pass
    thief.link.send(forged)
    site.wait_for_drop("bad-arp" if version == 4 else "bad-nd", 1, thief.port)
    [defence] = victim.link.collect(1, match=announces)
    packet = Ether(defence.data)
    assert packet.src == ROUTER
    assert (packet[ARP].hwsrc if version == 4
            else packet[ICMPv6NDOptDstLLAddr].lladdr) == ROUTER
    thief.link.drain()
    assert all(Ether(frame.data).src == ROUTER for frame in victim.link.drain()), \
        "the forged message was passed on"
    assert mac_of(site, gateway) in (None, ROUTER)


def bad_advertisement(kind: str, host: Host) -> bytes:
    good = {"destination": host.station.gateways[1], "to": ROUTER, "S": 1}
    own = host.mac
    if kind == "hop limit 254":
        return advertisement(own, host.ipv6, own, hlim=254, **good)
    if kind == "another MAC address than the frame's":
        return advertisement(own, host.ipv6, STRANGER, **good)
    if kind == "multicast MAC address":
        return advertisement(own, host.ipv6, "33:33:00:00:00:01", **good)
    if kind == "MAC address 0":
        return advertisement(own, host.ipv6, "00:00:00:00:00:00", **good)
    if kind == "multicast target":
        frame = bytearray(advertisement(own, host.ipv6, own, **good))
        frame[62:78] = socket.inet_pton(socket.AF_INET6, "ff02::99")
        return repaired(frame)
    if kind == "solicited to a group":
        return advertisement(own, host.ipv6, own, S=1)
    frame = bytearray(advertisement(own, host.ipv6, own, **good))
    if kind == "wrong checksum":
        frame[57] ^= 1
        return bytes(frame)
    if kind == "option of length 0":
        frame[79] = 0
    elif kind == "option longer than the message":
        frame[79] = 2
    elif kind == "code 1":
        frame[55] = 1
    elif kind == "multicast sender":
        frame[22:38] = socket.inet_pton(socket.AF_INET6, "ff02::5")
    return repaired(frame)


def repaired(frame: bytearray) -> bytes:
    """With the ICMPv6 checksum that belongs to what was changed."""
    frame[56:58] = b"\0\0"
    message = bytes(frame[54:])
    pseudo = bytes(frame[22:54]) + len(message).to_bytes(4, "big") + b"\0\0\0\x3a"
    frame[56:58] = frames.checksum(pseudo + message).to_bytes(2, "big")
    return bytes(frame)


@pytest.mark.parametrize("kind", [
    "hop limit 254", "another MAC address than the frame's", "multicast MAC address",
    "MAC address 0", "multicast target", "solicited to a group", "wrong checksum",
    "option of length 0", "option longer than the message", "code 1"])
def test_forged_advertisement_never_enters_the_table(site: Site, kind: str) -> None:
    """RFC 4861, section 7.1.2; field case 4.11. The router waits for just this answer."""
    near, other = routed(site, known=False)
    near.link.send(packet_to(near, other, 6))
    wait_for_request(other, 6, other.ipv6)
    other.link.send(bad_advertisement(kind, other))
    # The next request shows that the answer was not taken.
    wait_for_request(other, 6, other.ipv6)
    assert mac_of(site, other.ipv6) is None
    assert neighbors(site, "ff02::99") == []
    other.link.send(answer(other, 6))
    assert len(other.collect(1)) == 1
    assert mac_of(site, other.ipv6) == other.mac


FORGED_NS = {
    "hop limit 254": lambda me, to: solicitation(me.mac, me.ipv6, to, me.mac, hlim=254),
    "another source than the frame's": lambda me, to: solicitation(me.mac, me.ipv6, to, STRANGER),
    "an option from nobody": lambda me, to: solicitation(me.mac, "::", to, me.mac),
    "option of length 0": lambda me, to: repaired(bytearray(
        solicitation(me.mac, me.ipv6, to, me.mac))[:79] + b"\0"
        + solicitation(me.mac, me.ipv6, to, me.mac)[80:]),
    "wrong checksum": lambda me, to: solicitation(me.mac, me.ipv6, to, me.mac)[:57] + b"\xaa"
    + solicitation(me.mac, me.ipv6, to, me.mac)[58:],
}


@pytest.mark.parametrize("what", FORGED_NS)
def test_forged_solicitation_is_neither_answered_nor_learned(site: Site, what: str) -> None:
    """RFC 4861, section 7.1.1; field case 4.11."""
    near, other = routed(site, known=False)
    other.link.send(FORGED_NS[what](other, other.station.gateways[1]))
    site.wait_for_drop("bad-nd", 1, other.port)
    assert neighbors(site, other.ipv6) == []
    assert [frame for frame in other.link.drain() if other.is_mine(frame.data)] == []


def test_address_of_somebody_else_is_claimed_in_a_solicitation(site: Site) -> None:
    """Field case 4.11: a host of the port table keeps its MAC address."""
    site.router("r1", 1, 2, mac=ROUTER)
    near, other, thief = Host(site, 1), Host(site, 2), Host(site, 2)
    frames.apply_with(site, near, other, thief)
    four, six = thief.station.gateways
    thief.link.send(arp(thief.mac, psrc=other.ipv4, pdst=four))
    thief.link.send(arp(thief.mac, op=2, psrc=other.ipv4, pdst=four, hwdst=ROUTER, dst=ROUTER))
    thief.link.send(arp(thief.mac, psrc=other.ipv4, pdst=other.ipv4))
    thief.link.send(solicitation(thief.mac, other.ipv6, six, thief.mac))
    thief.link.send(advertisement(thief.mac, other.ipv6, thief.mac))
    thief.link.send(advertisement(thief.mac, other.ipv6, thief.mac, six, ROUTER, S=1))
    thief.until_echo()
    for address in other.ipv4, other.ipv6:
        assert mac_of(site, address) == other.mac
        assert neighbors(site, address)[0]["state"] == "permanent"
    thief.link.drain()
    other.until_echo()
    for version in (4, 6):
        near.link.send(packet_to(near, other, version))
        assert len(other.collect(1)) == 1
    assert [frame for frame in thief.link.drain() if b"number" in frame.data] == []


# ---- The port table ----------------------------------------------------------------------------

@pytest.mark.parametrize("version", [4, 6])
def test_host_of_the_port_table_needs_no_arp(site: Site, version: int) -> None:
    near, other = routed(site)
    near.link.send(packet_to(near, other, version))
    assert len(other.collect(1)) == 1
    assert neighbors(site, other.source(version))[0]["state"] == "permanent"
    asked = [frame.data for frame in other.link.drain()
             if frame.data[12:14] == b"\x08\x06" and frame.data[28:32] != frame.data[38:42]]
    assert asked == []


def test_packets_to_a_host_of_the_port_table_are_flooded(site: Site) -> None:
    """It is known behind which port the host is, even if it has never said a word: nobody else gets
    its packets."""
    site.router("r1", 1, 2, mac=ROUTER)
    near, other, third = Host(site, 1), Host(site, 2), Host(site, 2)
    frames.apply_with(site, near, other, third)
    for version in (4, 6):
        near.link.send(packet_to(near, other, version))
        assert len(other.collect(1)) == 1
    near.link.send(packet_to(near, third, 4))
    [first] = third.link.collect(1, match=lambda frame: b"number" in frame)
    assert third.is_mine(first.data), "a packet to somebody else"


def test_host_that_left_the_port_table_is_asked_for(site: Site) -> None:
    near, other = routed(site)
    port = site.port_document(other.port)
    del port["mac"], port["addresses"]
    site.apply()
    make_known(site, near, other, 4)
    assert neighbors(site, other.ipv4)[0]["state"] == "reachable"


def test_host_of_the_port_table_gets_another_mac(site: Site) -> None:
    near, other = routed(site)
    site.port_document(other.port)["mac"] = other.mac = STRANGER
    site.apply()
    for version in (4, 6):
        near.link.send(packet_to(near, other, version))
        assert len(other.collect(1)) == 1
    assert mac_of(site, other.ipv4) == STRANGER


def test_known_hosts_are_answered_for_and_unknown_ones_asked(site: Site) -> None:
    """Field case 4.8: `proxy_arp` keeps requests for hosts of the port table off other ports."""
    site.network("net1", proxy_arp=True)
    site.router("r1", 1, mac=ROUTER)
    asker, known, third = Host(site, 1), Host(site, 1), Host(site, 1)
    frames.apply_with(site, asker, known, third)
    for host in (known, third):
        host.until_echo()
        host.link.drain()
    asker.until_echo()
    [reply] = asker.answers(arp(asker.mac, psrc=asker.ipv4, pdst=known.ipv4))
    packet = Ether(reply)
    assert (packet[ARP].op, packet[ARP].psrc, packet[ARP].hwsrc) == (2, known.ipv4, known.mac)
    [reply] = asker.answers(solicitation(asker.mac, asker.ipv6, known.ipv6, asker.mac))
    packet = frames.assert_icmp(reply)
    message = packet[ICMPv6ND_NA]
    assert (message.tgt, message[ICMPv6NDOptDstLLAddr].lladdr) == (known.ipv6, known.mac)
    assert (message.R, message.S) == (0, 1)
    asker.link.send(arp(asker.mac, psrc=asker.ipv4, pdst="10.0.1.99"))
    asker.link.send(solicitation(asker.mac, asker.ipv6, "fd00:1::99", asker.mac))
    for host in (known, third):
        got = host.link.collect(2, match=lambda frame: frame[12:14] in (b"\x08\x06", b"\x86\xdd")
                                and frame[6:12] == bytes.fromhex(asker.mac.replace(":", "")))
        assert [frame.data[12:14] for frame in got] == [b"\x08\x06", b"\x86\xdd"]
        assert got[0].data[38:42] == bytes([10, 0, 1, 99]), "a request for a known host was flooded"
        assert got[1].data[77] == 0x99


def test_proxy_works_without_a_router(site: Site) -> None:
    """It belongs to the network."""
    site.network("net1", proxy_arp=True)
    asker, known = Host(site, 1), Host(site, 1)
    frames.apply_with(site, asker, known)
    asker.link.send(arp(asker.mac, psrc=asker.ipv4, pdst=known.ipv4))
    [reply] = asker.collect(1)
    assert Ether(reply)[ARP].hwsrc == known.mac
    asker.link.send(solicitation(asker.mac, asker.ipv6, known.ipv6, asker.mac))
    [reply] = asker.collect(1)
    assert Ether(reply)[ICMPv6NDOptDstLLAddr].lladdr == known.mac


def test_somebody_else_tries_the_address_of_a_known_host(site: Site) -> None:
    """RFC 5227, section 2.1.1: a probe must reach the owner, or be answered for it; the owner's own
    probe must not be answered by anybody."""
    site.network("net1", proxy_arp=True)
    asker, known = Host(site, 1), Host(site, 1)
    frames.apply_with(site, asker, known)
    asker.link.send(arp(asker.mac, psrc="0.0.0.0", pdst=known.ipv4))
    got = known.link.collect(1, match=lambda frame: frame[12:14] == b"\x08\x06")
    assert len(got) == 1 and got[0].data[38:42] == socket.inet_aton(known.ipv4)


# ---- Waiting -----------------------------------------------------------------------------------

@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("count", [10, 64])
def test_first_packets_of_a_flow_are_lost(site: Site, version: int, count: int) -> None:
    """Field cases 5.3 and 4.26: all arrive, in order."""
    near, other = routed(site, known=False)
    other.link.drain()
    sent = [packet_to(near, other, version, number) for number in range(count)]
    for frame in sent:
        near.link.send(frame)
    wait_for_request(other, version, other.source(version))
    near.until_echo()
    assert neighbors(site, other.source(version))[0]["waiting"] == count
    other.link.send(answer(other, version))
    got = other.collect(count)
    at = 34 if version == 4 else 54
    assert [frame[at:] for frame in got] == [frame[at:] for frame in sent]
    assert all(Ether(frame).src == ROUTER for frame in got)
    assert mac_of(site, other.source(version)) == other.mac
    assert site.client.drops(near.port) == {}


def test_more_packets_wait_than_there_is_room_for(site: Site) -> None:
    """64 wait, in order; the others have a name."""
    near, other = routed(site, known=False)
    sent = [packet_to(near, other, 4, number) for number in range(100)]
    for frame in sent:
        near.link.send(frame)
    site.wait_for_drop("neighbor-queue-full", 36, near.port)
    wait_for_request(other, 4, other.ipv4)
    other.link.send(answer(other, 4))
    got = other.collect(64)
    assert [frame[34:] for frame in got] == [frame[34:] for frame in sent[:64]]
    assert site.client.drops(near.port) == {"neighbor-queue-full": 36}


def test_second_request_is_answered(site: Site) -> None:
    """RFC 4861, section 7.2.2: retransmitted each second; what waits is not lost."""
    near, other = routed(site, known=False)
    for version in (4, 6):
        begin = time.monotonic()
        near.link.send(packet_to(near, other, version))
        for _ in range(2):
            request = Ether(wait_for_request(other, version, other.source(version)))
            assert request.src == ROUTER
            if version == 4:
                assert request[ARP].psrc == other.station.gateways[0]
                assert request.dst == frames.BROADCAST
            else:
                group, group_mac = solicited_node(other.ipv6)
                assert (request[IPv6].dst, request.dst) == (group, group_mac)
                assert request[ICMPv6NDOptSrcLLAddr].lladdr == ROUTER
                assert request[IPv6].hlim == 255
        assert time.monotonic() - begin > 0.5
        other.link.send(answer(other, version))
        assert len(other.collect(1)) == 1


def test_scan_of_a_subnet_is_limited(site: Site) -> None:
    """A port that makes the router ask for hosts that are not there: the rest of it goes on. Each
    packet is accounted for while it waits and afterwards."""
    near, other = routed(site)
    for number in range(250):
        near.send(IP(src=near.ipv4, dst=f"10.0.2.{number % 250 + 3}") / UDP() / Raw(b"scan"))
        if number % 50 == 0:
            near.until_echo()
    near.until_echo()
    near.link.send(packet_to(near, other, 4))
    assert len(other.collect(1)) == 1
    shell.wait_until(lambda: sum(site.client.drops(near.port).values()) == 250,
                     lambda: f"all 250 are dropped: {site.client.drops(near.port)}", 8)
    assert set(site.client.drops(near.port)) <= {"neighbor-unreachable", "neighbor-limit"}


def test_neighbour_in_use_is_confirmed_without_loss(site: Site) -> None:
    """RFC 4861, section 7.3: a unicast request after 30 s; packets go on meanwhile."""
    site.router("r1", 1, 2)
    client, server = site.tap(subnet=1), site.tap(subnet=2)
    site.apply()
    site.wait_for_ping(client, server)
    reader = server.raw()
    router = bytes.fromhex(site.client.get("routers")[0]["mac"].replace(":", ""))
    own = bytes.fromhex(server.mac.replace(":", ""))
    target = socket.inet_aton(server.ipv4)

    def confirms(frame: bytes) -> bool:
        return (frame[:6] == own and frame[6:12] == router and frame[12:14] == b"\x08\x06"
                and frame[20:22] == b"\0\1" and frame[38:42] == target)
    with flow.paced_flow(client.namespace, server.namespace, server.ipv4, 200) as result:
        assert reader.collect(1, 45, confirms), "no unicast request within 45 s"
        shell.wait_until(lambda: neighbors(site, server.ipv4)[0]["state"] == "reachable",
                         "it is reachable again")
    assert result.lost == 0 and result.late == 0, result
    assert result.sent > 2000


# ---- What goes while packets wait --------------------------------------------------------------

@pytest.mark.parametrize("what", ["ingress port", "egress port", "network", "interface", "router"])
def test_something_is_removed_while_packets_wait(site: Site, what: str) -> None:
    """Nothing that waits is lost without a name, and no buffer stays behind."""
    near, other = routed(site, known=False)
    for number in range(20):
        near.link.send(packet_to(near, other, 4, number))
        near.link.send(packet_to(near, other, 6, number))
    near.until_echo()
    assert sum(int(str(entry.get("waiting", 0))) for entry in neighbors(site)) == 40
    if what == "ingress port":
        near.station.close_links()
        site.remove_port(near.port)
    elif what == "egress port":
        other.station.close_links()
        site.remove_port(other.port)
    else:
        if what == "network":
            site.port_document(other.port)["network"] = "blue"
            site.document["networks"] = [network for network in site.document["networks"]
                                         if network["name"] != "net2"]
        if what == "router":
            del site.document["routers"]
        else:
            del site.document["routers"][0]["interfaces"][1]
        site.apply("--replace")
    shell.wait_until(lambda: sum(int(str(entry.get("waiting", 0))) for entry in neighbors(site)) == 0,
                     lambda: f"nothing waits: {neighbors(site)}", 8)
    drops = shell.wait_until(lambda: sum(site.client.status().get("totals", {}).get(name, 0)
                                         for name in ("dropped",)) >= 40 and site.client.drops(),
                             lambda: f"40 drops: {site.client.drops()}", 8)
    assert set(drops) <= {"port-gone", "interface-gone", "neighbor-unreachable"}
