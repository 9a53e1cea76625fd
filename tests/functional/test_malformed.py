"""Field cases of group 9: malformed frames are forwarded as they are or dropped by name, and neither
the daemon nor later flows suffer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import corpus
import frames
import pytest
from lab import flow
from lab.raw import NEEDS_CSUM, RawLink, VnetHeader
from lab.site import Site, Station
from strict import CaptureSink


def send_all(link: RawLink, reader: RawLink | None, corpus_frames: list[bytes]) -> list[bytes]:
    """Sends the frames in small groups, reading between them so that no socket overflows; answers
    what came out."""
    received: list[bytes] = []
    for start in range(0, len(corpus_frames), 64):
        for frame in corpus_frames[start:start + 64]:
            link.send(frame)
        if reader is not None:
            received += [frame.data for frame in reader.drain()]
    return received


def untagged(frame: bytes) -> bool:
    return frame[12:14] not in (b"\x81\x00", b"\x88\xa8", b"\x91\x00")


@pytest.mark.parametrize("kind", ["tap", "veth"])
def test_malformed_corpus_is_switched_byte_for_byte(site: Site, kind: str) -> None:
    """9.1, 9.2, 9.3, 9.6, 9.7, 9.11: what is above the Ethernet header is none of a switch's
    business; a frame with a tag on an access port is a named drop."""
    source = site.tap(silent=True) if kind == "tap" else site.veth(silent=True)
    target = site.veth(silent=True)
    client, server = site.tap(), site.veth()
    site.apply()
    site.wait_for_ping(client, server)
    reader, link = target.raw(), source.raw()
    sent = list(corpus.whole(source.mac, target.mac))
    marker = frames.plain(source.mac, target.mac, "end of corpus")
    received = send_all(link, reader, sent)
    link.send(marker)
    while marker not in received:
        more = reader.collect(1)
        assert more, "the port stopped forwarding"
        received += [frame.data for frame in more]
    expected = Counter(frame for frame in sent if untagged(frame))
    got = Counter(frame for frame in received if frame != marker and untagged(frame))
    assert expected - got == Counter(), f"{sum((expected - got).values())} frames were lost"
    tagged = sum(1 for frame in sent if not untagged(frame))
    drops = site.client.drops(source.port)
    assert drops["vlan-not-allowed"] + drops["bad-vlan-tag"] > 0
    assert drops["vlan-not-allowed"] + drops["bad-vlan-tag"] <= tagged
    site.exercise(client, server)


def test_malformed_corpus_on_a_trunk(site: Site) -> None:
    """The same frames behind a tag that the port carries. The kernel itself drops a tag with less
    than two bytes behind its EtherType."""
    source = site.veth(silent=True, network=None, vlans=[{"vlan": 7, "network": "blue"}])
    target = site.tap(silent=True)
    site.apply()
    reader, link = target.raw(), source.raw()
    sent = [frame[:12] + b"\x81\x00\x00\x07" + frame[12:]
            for frame in corpus.whole(source.mac, target.mac) if len(frame) >= 16]
    received = send_all(link, reader, sent)
    marker = frames.plain(source.mac, target.mac, "end of corpus")
    link.send(marker[:12] + b"\x81\x00\x00\x07" + marker[12:])
    while marker not in received:
        more = reader.collect(1)
        assert more, "the port stopped forwarding"
        received += [frame.data for frame in more]
    expected = Counter(frame[:12] + frame[16:] for frame in sent if untagged(frame[4:]))
    assert expected - Counter(received) == Counter()


def test_malformed_corpus_to_a_port_without_offload(site: Site, tmp_path: Path) -> None:
    """The egress that would complete checksums has nothing to complete."""
    source = site.veth(silent=True)
    sink = CaptureSink(tmp_path / "out.pcap")
    site.ethdev(sink.name, sink.devargs)
    target = frames.mac(9)
    site.network("blue", static_fdb=[{"mac": target, "port": sink.name}])
    site.apply()
    sent = [frame for frame in corpus.whole(source.mac, target) if untagged(frame)]
    send_all(source.raw(), None, sent)
    assert Counter(sent) - Counter(sink.frames(len(sent), deadline=15)) == Counter()


def test_partial_checksum_claimed_for_a_malformed_frame(site: Site, tmp_path: Path) -> None:
    """9.15 on an AF_PACKET port: the claim is checked against the frame; a refusal has a name."""
    source = site.veth(silent=True)
    target = site.tap(silent=True)
    sink = CaptureSink(tmp_path / "out.pcap")
    site.ethdev(sink.name, sink.devargs)
    site.apply()
    link = source.raw(vnet=True)
    reader = target.raw()
    refused = 0
    for number, frame in enumerate(corpus.whole(source.mac, frames.mac(1234))):
        gso_type = (0, 1, 4, 5)[number % 4]
        header = VnetHeader(NEEDS_CSUM, gso_type, number % 80, (0, 1, 20, 1448)[number // 4 % 4],
                            (14, 34, 54, 58, len(frame) - 2)[number % 5], (6, 16, 0)[number % 3])
        try:
            link.send(frame, header)
        except OSError:
            refused += 1  # by the sender's own kernel
    assert refused > 0
    healthy(site, source, target, reader)


def healthy(site: Site, source: Station, target: Station, reader: RawLink) -> None:
    """A well-formed frame passes, and every refused one was counted under a name of the data path."""
    source.raw().send(frames.plain(source.mac, target.mac, "healthy"))
    got = reader.collect(1, match=frames.is_plain)
    assert [frames.text_of(frame.data) for frame in got] == ["healthy"]
    known = {"bad-vnet-header", "vlan-not-allowed", "bad-vlan-tag", "bad-source-mac", "tx-mtu",
             "tx-bad-segment", "storm-limit", "tx-error", "no-destination", "link-local-group"}
    assert set(site.client.drops()) <= known


def test_padding_of_every_size_leaves_later_flows_alone(site: Site) -> None:
    """9.1 (CVE-2020-35498) and 9.3 (CVE-2023-1668, IP protocol 0), before ordinary traffic between
    the same addresses."""
    client, server = site.veth(), site.veth()
    site.apply()
    site.wait_for_ping(client, server)
    link = client.raw()
    for frame in corpus.base_frames(client.mac, server.mac):
        for padding in (0, 1, 46, 256, 1200):
            link.send(frame + bytes(padding))
    flow.udp_echo(client.namespace, server.namespace, server.ipv4, 1000)
    site.exercise(client, server)
