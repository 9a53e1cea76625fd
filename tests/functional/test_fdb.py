"""The forwarding database: learning, ageing, moves, limits and static entries."""

from __future__ import annotations

import frames
import pytest
from lab import shell
from lab.raw import RawLink
from lab.site import Site, Station


def texts(link: RawLink, count: int, deadline: float = 5) -> list[str | None]:
    """The texts of the next `count` test frames."""
    return [frames.text_of(frame.data) for frame in
            link.collect(count, deadline, match=frames.is_plain)]


def nothing_more(link: RawLink) -> bool:
    """No test frame is waiting. Call it once a later frame has been seen to arrive elsewhere."""
    return not [frame for frame in link.drain() if frames.is_plain(frame.data)]


def entries(site: Site, network: str = "blue") -> dict[str, str]:
    """Port of each address known in a network."""
    return {entry["mac"]: entry["port"] for entry in site.client.get("fdb")
            if entry["network"] == network}


def learn(site: Site, link: RawLink, mac: str, port: str) -> None:
    """Sends a frame from an address and waits until it is known at the port."""
    link.send(frames.plain(mac, frames.BROADCAST, "hello"))
    shell.wait_until(lambda: entries(site).get(mac) == port, f"{mac} is learned at {port}")


def three(site: Site) -> tuple[list[Station], list[RawLink]]:
    stations = [site.veth(silent=True), site.tap(silent=True), site.veth(silent=True)]
    site.apply()
    return stations, [station.raw() for station in stations]


def test_unknown_destination_is_flooded_and_a_known_one_is_not(site: Site) -> None:
    stations, links = three(site)
    a, b = frames.mac(1), frames.mac(2)
    links[0].send(frames.plain(a, b, "unknown"))
    assert texts(links[1], 1) == ["unknown"] and texts(links[2], 1) == ["unknown"]
    links[1].send(frames.plain(b, a, "answer"))
    assert texts(links[0], 1) == ["answer"]
    links[0].send(frames.plain(a, b, "known"))
    assert texts(links[1], 1) == ["known"]
    assert nothing_more(links[2]), "a frame for a learned address was flooded"
    assert entries(site) | {a: stations[0].port, b: stations[1].port} == entries(site)


@pytest.mark.parametrize("destination", [frames.BROADCAST, "01:00:5e:00:00:fb",
                                         "33:33:00:00:00:fb"])
def test_group_address_reaches_every_port_but_the_sender(site: Site, destination: str) -> None:
    _, links = three(site)
    links[0].send(frames.plain(frames.mac(1), destination, "all"))
    assert texts(links[1], 1) == ["all"] and texts(links[2], 1) == ["all"]
    assert nothing_more(links[0]), "the frame came back to its sender"


def test_jumbo_frame_is_switched_whole(site: Site) -> None:
    source, target = site.veth(silent=True, mtu=9000), site.tap(silent=True, mtu=9000)
    site.apply()
    reader = target.raw()
    frame = frames.plain(source.mac, target.mac, "jumbo", size=9014)
    source.raw().send(frame)
    assert [got.data for got in reader.collect(1, match=frames.is_plain)] == [frame]


def test_address_that_moves_is_followed(site: Site) -> None:
    stations, links = three(site)
    guest = frames.mac(5)
    learn(site, links[0], guest, stations[0].port)
    learn(site, links[1], guest, stations[1].port)
    for link in links:
        link.drain()
    links[2].send(frames.plain(frames.mac(6), guest, "to the new place"))
    assert texts(links[1], 1) == ["to the new place"]
    assert nothing_more(links[0])
    assert site.client.get("networks", "blue")[0]["fdb_moves"] >= 1


def test_silent_address_is_forgotten_after_the_ageing_time(site: Site) -> None:
    site.network("blue", ageing_time=10)
    stations, links = three(site)
    learn(site, links[0], frames.mac(1), stations[0].port)
    shell.wait_until(lambda: frames.mac(1) not in entries(site), "the address is forgotten", 20,
                     interval=0.5)


def test_static_entry_neither_ages_nor_moves(site: Site) -> None:
    stations = [site.veth(silent=True), site.tap(silent=True)]
    guest = frames.mac(7)
    site.network("blue", static_fdb=[{"mac": guest, "port": stations[0].port}])
    site.apply()
    links = [station.raw() for station in stations]
    links[1].send(frames.plain(guest, frames.BROADCAST, "I moved"))
    assert texts(links[0], 1) == ["I moved"]
    entry = next(entry for entry in site.client.get("fdb") if entry["mac"] == guest)
    assert entry["port"] == stations[0].port and entry["is_static"]


def test_flood_of_addresses_is_stopped_by_the_limit(site: Site) -> None:
    """Known addresses go on working; new ones are flooded, not learned, and that is counted."""
    site.network("blue", fdb_limit=20)
    stations, links = three(site)
    learn(site, links[1], frames.mac(1), stations[1].port)
    for number in range(100, 400):
        links[0].send(frames.plain(frames.mac(number), frames.mac(1), "scan"))
    assert len(texts(links[1], 300)) == 300
    network = site.client.get("networks", "blue")[0]
    assert network["fdb_entries"] <= 20
    assert network["fdb_limit_hits"] >= 280
    links[2].send(frames.plain(frames.mac(2), frames.mac(1), "still known"))
    assert texts(links[1], 1) == ["still known"]


def test_limit_of_zero_learns_nothing(site: Site) -> None:
    site.network("blue", fdb_limit=0)
    _, links = three(site)
    links[0].send(frames.plain(frames.mac(1), frames.mac(2), "there"))
    assert texts(links[1], 1) == ["there"] and texts(links[2], 1) == ["there"]
    links[1].send(frames.plain(frames.mac(2), frames.mac(1), "back"))
    assert texts(links[0], 1) == ["back"] and texts(links[2], 1) == ["back"]
    assert entries(site) == {}


def test_frame_for_the_port_it_came_from_is_not_sent_back(site: Site) -> None:
    stations, links = three(site)
    learn(site, links[0], frames.mac(1), stations[0].port)
    links[0].send(frames.plain(frames.mac(2), frames.mac(1), "hairpin"))
    site.wait_for_drop("same-port", 1, stations[0].port)
    assert nothing_more(links[0])


@pytest.mark.parametrize("source", ["00:00:00:00:00:00", "01:00:5e:00:00:01", frames.BROADCAST])
def test_impossible_source_address_is_dropped_and_not_learned(site: Site, source: str) -> None:
    stations, links = three(site)
    links[0].send(frames.plain(source, frames.BROADCAST, "forged"))
    site.wait_for_drop("bad-source-mac", 1, stations[0].port)
    assert source not in entries(site)
    assert nothing_more(links[1])


def test_addresses_of_a_removed_port_are_forgotten(site: Site) -> None:
    stations, links = three(site)
    learn(site, links[0], frames.mac(1), stations[0].port)
    site.remove_port(stations[0].port)
    shell.wait_until(lambda: frames.mac(1) not in entries(site), "the address is forgotten")
    links[1].drain()
    links[2].send(frames.plain(frames.mac(2), frames.mac(1), "flooded again"))
    assert texts(links[1], 1) == ["flooded again"]


def test_networks_do_not_share_addresses(site: Site) -> None:
    """The same MAC address in two networks, at two ports."""
    site.network("red")
    stations = [site.veth(silent=True), site.tap(silent=True),
                site.veth(silent=True, network="red"), site.tap(silent=True, network="red")]
    site.apply()
    links = [station.raw() for station in stations]
    for link in (links[0], links[2]):
        link.send(frames.plain(frames.mac(1), frames.BROADCAST, "here"))
    assert texts(links[1], 1) == ["here"] and texts(links[3], 1) == ["here"]
    links[1].send(frames.plain(frames.mac(2), frames.mac(1), "blue only"))
    assert texts(links[0], 1) == ["blue only"]
    links[3].send(frames.plain(frames.mac(2), frames.mac(1), "red only"))
    assert texts(links[2], 1) == ["red only"]
    assert nothing_more(links[0])
    assert entries(site, "blue")[frames.mac(1)] == stations[0].port
    assert entries(site, "red")[frames.mac(1)] == stations[2].port
