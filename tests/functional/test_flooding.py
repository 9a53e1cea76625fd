"""What is limited or kept apart when a frame goes to many: isolation, storms, reserved groups."""

from __future__ import annotations

import frames
from lab import shell
from lab.site import Site

LLDP = "01:80:c2:00:00:0e"


def test_isolated_ports_reach_the_others_but_not_each_other(site: Site) -> None:
    first, second = site.veth(silent=True, isolated=True), site.tap(silent=True, isolated=True)
    router = site.tap(silent=True)
    site.apply()
    links = [station.raw() for station in (first, second, router)]
    links[0].send(frames.plain(frames.mac(1), frames.BROADCAST, "who"))
    assert [frames.text_of(frame.data) for frame in
            links[2].collect(1, match=frames.is_plain)] == ["who"]
    links[1].send(frames.plain(frames.mac(2), frames.mac(1), "direct"))
    site.wait_for_drop("port-isolated", 1, second.port)
    links[2].send(frames.plain(frames.mac(3), frames.mac(1), "answer"))
    got = links[0].collect(1, match=frames.is_plain)
    assert [frames.text_of(frame.data) for frame in got] == ["answer"]
    assert not [frame for frame in links[1].drain() if frames.is_plain(frame.data)]


def test_broadcast_storm_is_cut_to_the_ports_limit(site: Site) -> None:
    stormy = site.veth(silent=True, storm_limit_pps=100)
    target = site.tap(silent=True)
    site.apply()
    reader, link = target.raw(), stormy.raw()
    for number in range(2000):
        link.send(frames.plain(frames.mac(1), frames.BROADCAST, str(number)))
    site.wait_for_drop("storm-limit", 1000, stormy.port)
    counters = site.client.counters(stormy.port)
    assert site.client.drops(stormy.port)["storm-limit"] < counters["rx_frames"]
    assert reader.collect(1, match=frames.is_plain)


def test_storm_limit_leaves_unicast_alone(site: Site) -> None:
    stormy, target = site.veth(silent=True, storm_limit_pps=10), site.tap(silent=True)
    site.network("blue", static_fdb=[{"mac": frames.mac(9), "port": target.port}])
    site.apply()
    reader, link = target.raw(), stormy.raw()
    for number in range(500):
        link.send(frames.plain(frames.mac(1), frames.mac(9), str(number)))
    assert len(reader.collect(500, match=frames.is_plain)) == 500
    assert site.client.drops(stormy.port)["storm-limit"] == 0


def test_storm_limit_of_zero_lifts_the_limit(site: Site) -> None:
    stormy, target = site.veth(silent=True, storm_limit_pps=0), site.tap(silent=True)
    site.apply()
    reader, link = target.raw(), stormy.raw()
    for number in range(500):
        link.send(frames.plain(frames.mac(1), frames.BROADCAST, str(number)))
    assert len(reader.collect(500, match=frames.is_plain)) == 500


def test_link_local_group_addresses_are_not_forwarded(site: Site) -> None:
    """IEEE 802.1D table 7-10: a bridge keeps 01:80:c2:00:00:00 to :0f to itself."""
    source, target = site.veth(silent=True), site.tap(silent=True)
    site.apply()
    reader, link = target.raw(), source.raw()
    for last in range(16):
        link.send(frames.plain(frames.mac(1), f"01:80:c2:00:00:{last:02x}", "reserved"))
    link.send(frames.plain(frames.mac(1), "01:80:c2:00:00:10", "ordinary"))
    got = reader.collect(1, match=frames.is_plain)
    assert [frames.text_of(frame.data) for frame in got] == ["ordinary"]
    site.wait_for_drop("link-local-group", 16, source.port)


def test_group_forward_mask_lets_lldp_pass(site: Site) -> None:
    site.network("blue", group_forward_mask=1 << 14)
    source, target = site.veth(silent=True), site.tap(silent=True)
    site.apply()
    reader, link = target.raw(), source.raw()
    link.send(frames.plain(frames.mac(1), LLDP, "lldp"))
    got = reader.collect(1, match=frames.is_plain)
    assert [frames.text_of(frame.data) for frame in got] == ["lldp"]


def test_flooding_a_network_of_one_port_is_a_named_drop(site: Site) -> None:
    alone = site.veth(silent=True)
    site.apply()
    alone.raw().send(frames.plain(frames.mac(1), frames.BROADCAST, "anybody"))
    site.wait_for_drop("no-destination", 1, alone.port)


def test_port_without_network_forwards_nothing(site: Site) -> None:
    alone, other = site.veth(silent=True, network=None), site.tap(silent=True)
    site.apply()
    reader = other.raw()
    alone.raw().send(frames.plain(frames.mac(1), frames.BROADCAST, "anybody"))
    site.wait_for_drop("port-not-attached", 1, alone.port)
    assert not reader.drain()


def test_flooded_copies_are_counted(site: Site) -> None:
    source = site.veth(silent=True)
    targets = [site.tap(silent=True) for _ in range(4)]
    site.apply()
    readers = [target.raw() for target in targets]
    source.raw().send(frames.plain(frames.mac(1), frames.BROADCAST, "copies"))
    for reader in readers:
        assert reader.collect(1, match=frames.is_plain)
    shell.wait_until(lambda: site.client.counters(source.port)["replicated"] == 3,
                     "three copies beside the original")
