"""Ports of different MTU on one network."""

from __future__ import annotations

import frames
import pytest
from lab import shell
from lab.site import Site


def ping_passes(site: Site, size: int) -> bool:
    """One ping that may not be fragmented, from the first to the second station."""
    client, server = site.stations[:2]
    done = client.namespace.run("ping", "-n", "-c", "1", "-W", "1", "-M", "do", "-s", str(size),
                                server.ipv4, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("kind", ["tap", "veth"])
def test_replies_vanish_because_one_port_has_a_smaller_mtu(site: Site, kind: str) -> None:
    """Field case 1.4: the drop is counted as tx-mtu on the small port and logged with both names."""
    big = site.tap(mtu=9000)
    small = site.tap(mtu=1500) if kind == "tap" else site.veth(mtu=1500)
    site.apply()
    site.wait_for_ping(big, small)
    before = site.client.drops(small.port)["tx-mtu"]
    assert not ping_passes(site, 4000)
    site.wait_for_drop("tx-mtu", before + 1, small.port)
    assert ping_passes(site, 1472)
    shell.wait_until(lambda: any(big.port in line and small.port in line and "mtu" in line.lower()
                                 for line in site.daemon.log().splitlines()),
                     "a log line that names both ports and the MTU")


def test_mtu_of_a_tap_port_is_what_was_asked_for(site: Site) -> None:
    station = site.tap(mtu=4000)
    site.apply()
    link = station.namespace.link("eth0")
    assert link is not None and link["mtu"] == 4000
    site.port_document(station.port)["mtu"] = 2000
    site.apply()
    shell.wait_until(lambda: (station.namespace.link("eth0") or {}).get("mtu") == 2000,
                     "the MTU is changed at run time")


def test_netdev_port_takes_the_mtu_of_its_interface(site: Site) -> None:
    station = site.veth(peer_mtu=3000)
    site.apply()
    assert site.client.port(station.port)["mtu"] == 3000


def test_full_sized_frames_with_a_vlan_tag_fit(site: Site) -> None:
    """The MTU is about the L3 packet: a tag does not count."""
    trunk = site.veth(silent=True, network=None, vlans=[{"vlan": 7, "network": "blue"}])
    access = site.tap(silent=True)
    site.apply()
    reader, link = access.raw(), trunk.raw()
    link.send(frames.plain(frames.mac(1), frames.BROADCAST, "in", vlan=7, size=1518))
    got = reader.collect(1, match=frames.is_plain)
    assert [len(frame.data) for frame in got] == [1514]
    back = trunk.raw()
    access.raw().send(frames.plain(frames.mac(2), frames.mac(1), "out", size=1514))
    got = back.collect(1, match=frames.is_plain)
    assert [len(frame.data) for frame in got] == [1518]
