"""VLAN modes of a port: access, trunk, native; transparent networks."""

from __future__ import annotations

import frames
from lab.raw import RawLink
from lab.site import Site, Station


def seen(link: RawLink, count: int) -> list[tuple[int | None, str | None]]:
    """VLAN id and text of the next `count` test frames."""
    return [(frames.vlan_of(frame.data), frames.text_of(frame.data))
            for frame in link.collect(count, match=frames.is_plain)]


def trunk(site: Site, *vlans: tuple[int, str], native: str | None = None,
          kind: str = "veth") -> Station:
    fields = {"network": native,
              "vlans": [{"vlan": vlan, "network": network} for vlan, network in vlans]}
    return site.veth(silent=True, **fields) if kind == "veth" else site.tap(silent=True, **fields)


def test_trunk_carries_each_network_under_its_tag(site: Site) -> None:
    site.network("red")
    trunk_port = trunk(site, (10, "blue"), (20, "red"))
    blue, red = site.tap(silent=True), site.tap(silent=True, network="red")
    site.apply()
    link, blue_link, red_link = trunk_port.raw(), blue.raw(), red.raw()
    link.send(frames.plain(frames.mac(1), frames.BROADCAST, "to blue", vlan=10))
    link.send(frames.plain(frames.mac(1), frames.BROADCAST, "to red", vlan=20))
    assert seen(blue_link, 1) == [(None, "to blue")]
    assert seen(red_link, 1) == [(None, "to red")]
    blue_link.send(frames.plain(frames.mac(2), frames.mac(1), "from blue"))
    red_link.send(frames.plain(frames.mac(3), frames.mac(1), "from red"))
    assert sorted(seen(link, 2)) == [(10, "from blue"), (20, "from red")]


def test_untagged_frames_of_a_trunk_belong_to_the_native_network(site: Site) -> None:
    site.network("red")
    trunk_port = trunk(site, (20, "red"), native="blue", kind="tap")
    blue = site.veth(silent=True)
    site.apply()
    link, blue_link = trunk_port.raw(), blue.raw()
    link.send(frames.plain(frames.mac(1), frames.BROADCAST, "native"))
    assert seen(blue_link, 1) == [(None, "native")]
    blue_link.send(frames.plain(frames.mac(2), frames.mac(1), "answer"))
    assert seen(link, 1) == [(None, "answer")]


def test_priority_tag_counts_as_untagged(site: Site) -> None:
    """VLAN id 0 carries a priority only (IEEE 802.1Q): the network is the untagged one."""
    source, target = site.veth(silent=True), site.tap(silent=True)
    site.apply()
    link = target.raw()
    source.raw().send(frames.plain(source.mac, target.mac, "priority", vlan=0))
    assert [text for _, text in seen(link, 1)] == ["priority"]


def test_untagged_frame_on_a_trunk_without_native_network_is_dropped(site: Site) -> None:
    trunk_port = trunk(site, (10, "blue"))
    site.apply()
    trunk_port.raw().send(frames.plain(frames.mac(1), frames.BROADCAST, "lost"))
    site.wait_for_drop("vlan-not-allowed", 1, trunk_port.port)


def test_tag_that_the_port_does_not_carry_is_dropped(site: Site) -> None:
    trunk_port, access = trunk(site, (10, "blue")), site.tap(silent=True)
    site.apply()
    trunk_port.raw().send(frames.plain(frames.mac(1), frames.BROADCAST, "hop", vlan=11))
    site.wait_for_drop("vlan-not-allowed", 1, trunk_port.port)
    access.raw().send(frames.plain(frames.mac(2), frames.BROADCAST, "hop", vlan=10))
    site.wait_for_drop("vlan-not-allowed", 1, access.port)


def test_vlan_id_4095_and_truncated_tag_are_dropped(site: Site) -> None:
    # On a tap: from a veth pair, the kernel drops a truncated tag before anybody sees it.
    trunk_port = trunk(site, (10, "blue"), kind="tap")
    site.apply()
    link = trunk_port.raw()
    link.send(frames.plain(frames.mac(1), frames.BROADCAST, "reserved", vlan=4095))
    site.wait_for_drop("bad-vlan-tag", 1, trunk_port.port)
    whole = frames.plain(frames.mac(1), frames.BROADCAST, "cut", vlan=10)
    link.send(whole[:16])
    site.wait_for_drop("bad-vlan-tag", 2, trunk_port.port)


def test_transparent_network_passes_the_tenants_tags(site: Site) -> None:
    site.network("blue", vlan_transparent=True)
    source, target = site.veth(silent=True), site.tap(silent=True)
    site.apply()
    link = target.raw()
    sender = source.raw()
    sender.send(frames.plain(source.mac, target.mac, "tagged", vlan=77))
    sender.send(frames.plain(source.mac, target.mac, "plain"))
    assert seen(link, 2) == [(77, "tagged"), (None, "plain")]


def test_one_network_under_two_tags_of_one_trunk(site: Site) -> None:
    """Both attachments are places of their own: flooding reaches the other tag."""
    trunk_port = trunk(site, (10, "blue"), (11, "blue"))
    site.apply()
    link = trunk_port.raw()
    link.send(frames.plain(frames.mac(1), frames.BROADCAST, "across", vlan=10))
    assert seen(link, 1) == [(11, "across")]


def test_static_entry_on_a_trunk_names_its_tag(site: Site) -> None:
    trunk_port, access = trunk(site, (10, "blue")), site.tap(silent=True)
    site.network("blue", static_fdb=[{"mac": frames.mac(9), "port": trunk_port.port, "vlan": 10}])
    site.apply()
    link = trunk_port.raw()
    access.raw().send(frames.plain(frames.mac(1), frames.mac(9), "static"))
    assert seen(link, 1) == [(10, "static")]


def test_changing_a_ports_vlans_takes_effect_at_once(site: Site) -> None:
    site.network("red")
    trunk_port, red = trunk(site, (10, "blue")), site.tap(silent=True, network="red")
    site.apply()
    link, red_link = trunk_port.raw(), red.raw()
    link.send(frames.plain(frames.mac(1), frames.BROADCAST, "early", vlan=20))
    site.wait_for_drop("vlan-not-allowed", 1, trunk_port.port)
    site.port_document(trunk_port.port)["vlans"].append({"vlan": 20, "network": "red"})
    site.apply()
    link.send(frames.plain(frames.mac(1), frames.BROADCAST, "now", vlan=20))
    assert seen(red_link, 1) == [(None, "now")]
