"""The life of a port: created, changed, its device gone and back."""

from __future__ import annotations

from pathlib import Path

import frames
import pytest
from lab import flow, shell
from lab.daemon import Client
from lab.netns import Namespace
from lab.site import Site
from strict import CaptureSink


def is_up(client: Client, port: str) -> bool:
    return bool(client.port(port).get("up"))


def down_reason(client: Client, port: str) -> str:
    """Why the port is down; empty while it is up."""
    state = client.port(port)
    return "" if state.get("up") else state.get("down_reason", "")


def test_tap_port_gets_mac_addresses_mtu_and_default_route(site: Site) -> None:
    station = site.tap(mtu=1400, tap={"mac": "02:11:22:33:44:55",
                                      "gateways": ["10.0.0.254", "fd00::fe"]})
    site.apply()
    link = station.namespace.link("eth0")
    assert link is not None
    assert link["address"] == "02:11:22:33:44:55" and link["mtu"] == 1400
    addresses = station.namespace.run("ip", "-brief", "address", "show", "dev", "eth0").stdout
    assert f"{station.ipv4}/24" in addresses and f"{station.ipv6}/64" in addresses
    assert "via 10.0.0.254" in station.namespace.run("ip", "route", "show", "default").stdout
    assert "via fd00::fe" in station.namespace.run("ip", "-6", "route", "show", "default").stdout


def test_tap_without_namespace_stays_in_the_daemons_own(site: Site) -> None:
    name = site.lab.unique("t")
    site.document["ports"].append({"name": name, "tap": {}, "network": "blue"})
    site.apply()
    assert Path(f"/sys/class/net/{name}").exists()
    site.remove_port(name)
    shell.wait_until(lambda: not Path(f"/sys/class/net/{name}").exists(), "the device is removed")


def test_offloads_are_on_without_ethtool(site: Site) -> None:
    tap, veth = site.tap(), site.veth()
    site.apply()
    for port in (tap.port, veth.port):
        assert {"csum", "tso4", "tso6"} <= set(site.client.port(port)["offloads"])


def test_deleted_namespace_takes_its_port_down_and_brings_it_back(site: Site) -> None:
    """The port says why it is down, others go on, and with the namespace it returns by itself."""
    client, server = site.tap(), site.veth()
    site.apply()
    site.wait_for_ping(client, server)
    name = client.namespace.name
    shell.run("ip", "netns", "delete", name)
    shell.wait_until(lambda: not is_up(site.client, client.port), "the port is down")
    assert name in down_reason(site.client, client.port)
    assert is_up(site.client, server.port)
    client.namespace = Namespace(name)
    shell.wait_until(lambda: is_up(site.client, client.port), "the port is back", 15)
    site.wait_for_ping(client, server)
    site.exercise(client, server)


def test_missing_namespace_is_refused(site: Site) -> None:
    other = site.veth()
    name = site.lab.unique("n")
    site.document["ports"].append({"name": "lost", "network": "blue",
                                   "tap": {"interface": "eth0", "namespace": name}})
    done = site.client.try_apply(site.document)
    assert done.returncode == 1
    assert "ports[1]" in done.stdout + done.stderr and name in done.stdout + done.stderr
    assert site.client.get("ports") == [], f"{other.port} was applied"


def test_deleted_veth_takes_its_port_down_and_comes_back_under_its_name(site: Site) -> None:
    client, server = site.veth(), site.tap()
    site.apply()
    site.wait_for_ping(client, server)
    interface = client.host_interface
    assert interface is not None
    shell.run("ip", "link", "delete", interface)
    shell.wait_until(lambda: not is_up(site.client, client.port), "the port is down")
    assert interface in down_reason(site.client, client.port)
    site.lab.veth(client.namespace, host=interface)
    for address, length in zip(client.addresses, (24, 64)):
        client.namespace.run("ip", "address", "add", f"{address}/{length}", "dev", "eth0")
    shell.wait_until(lambda: is_up(site.client, client.port), "the port is back", 15)
    site.wait_for_ping(client, server)
    site.exercise(client, server)


@pytest.mark.parametrize("kind", ["tap", "veth"])
def test_traffic_freezes_after_a_link_flap_of_the_peer(site: Site, kind: str) -> None:
    """Field case 1.18: the far end goes down and up under load."""
    client = site.veth()
    server = site.tap() if kind == "tap" else site.veth()
    site.apply()
    site.wait_for_ping(client, server)
    with flow.paced_flow(client.namespace, server.namespace, server.ipv4, 2000):
        for _ in range(3):
            server.namespace.run("ip", "link", "set", "eth0", "down")
            before = site.client.counters(client.port)["rx_frames"]
            shell.wait_until(lambda: site.client.counters(client.port)["rx_frames"] > before + 100,
                             "the sender goes on")
            server.namespace.run("ip", "link", "set", "eth0", "up")
    server.namespace.run("ip", "address", "replace", f"{server.ipv6}/64", "dev", "eth0")
    shell.wait_until(lambda: is_up(site.client, server.port), "the port is up")
    site.wait_for_ping(client, server)
    site.exercise(client, server)


def test_interface_in_use_by_another_port_is_refused(site: Site) -> None:
    station = site.veth()
    site.apply()
    again = {"ports": [{"name": "again", "netdev": {"interface": station.host_interface},
                        "network": "blue"}]}
    done = site.client.try_apply(again)
    assert done.returncode == 1
    assert "ports[0]" in done.stdout + done.stderr
    assert [port["name"] for port in site.client.get("ports")] == [station.port]


def test_device_that_is_not_heddles_is_not_taken_over(site: Site) -> None:
    """Somebody's tap of the same name is in the way: refused, and left as it was."""
    namespace = site.lab.namespace()
    namespace.run("ip", "tuntap", "add", "dev", "eth0", "mode", "tap")
    before = namespace.link("eth0")
    site.document["ports"].append({"name": "busy", "network": "blue",
                                   "tap": {"interface": "eth0", "namespace": namespace.name}})
    done = site.client.try_apply(site.document)
    assert done.returncode == 1
    assert "ports[0]" in done.stdout + done.stderr and "eth0" in done.stdout + done.stderr
    assert namespace.link("eth0") == before


def test_missing_interface_is_refused(site: Site) -> None:
    other = site.veth()
    missing = site.lab.unique("v")
    site.document["ports"].append({"name": "missing", "netdev": {"interface": missing},
                                   "network": "blue"})
    done = site.client.try_apply(site.document)
    assert done.returncode == 1
    assert "ports[1]" in done.stdout + done.stderr and missing in done.stdout + done.stderr
    assert site.client.get("ports") == [], f"{other.port} was applied"


def test_host_stack_stays_out_of_a_netdev_port(site: Site) -> None:
    """An address on the host end answers nothing: heddled takes all frames of the interface."""
    station = site.veth()
    site.apply()
    assert station.host_interface is not None
    shell.run("ip", "address", "add", "10.0.0.200/24", "dev", station.host_interface)
    done = station.namespace.run("ping", "-c", "2", "-i", "0.2", "-W", "1", "10.0.0.200",
                                 check=False)
    assert done.returncode != 0, "the host's own stack answered"


def test_own_transmissions_do_not_come_back(site: Site) -> None:
    """What is sent to a veth port is not received again there."""
    source, target = site.tap(silent=True), site.veth(silent=True)
    site.apply()
    reader, link = target.raw(), source.raw()
    for number in range(100):
        link.send(frames.plain(frames.mac(1), frames.mac(2), str(number)))
    assert len(reader.collect(100, match=frames.is_plain)) == 100
    assert site.client.counters(target.port)["rx_frames"] == 0
    assert site.client.counters(source.port)["rx_frames"] == 100


def test_stripped_vlan_tag_is_put_back(site: Site) -> None:
    """The kernel takes an 802.1Q tag out of the frame on its way to AF_PACKET."""
    source = site.veth(silent=True, network=None, vlans=[{"vlan": 100, "network": "blue"}])
    target = site.veth(silent=True, network=None, vlans=[{"vlan": 100, "network": "blue"}])
    site.apply()
    reader, link = target.raw(), source.raw()
    frame = frames.plain(frames.mac(1), frames.mac(2), "tagged", vlan=100)
    link.send(frame)
    assert [got.data for got in reader.collect(1, match=frames.is_plain)] == [frame]


def test_every_ethdev_vdev_without_hardware_works(site: Site, tmp_path: Path) -> None:
    """pcap, null and ring devices; af_xdp and virtio_user need a kernel that has them."""
    source = site.veth(silent=True)
    sink = CaptureSink(tmp_path / "out.pcap")
    site.ethdev(sink.name, sink.devargs)
    site.ethdev("null", "net_null0,no-rx=1")
    # What is sent to a ring device comes back from it: it gets a network without other ports.
    site.network("loop")
    site.ethdev("ring", "net_ring0", network="loop")
    site.apply()
    source.raw().send(frames.plain(frames.mac(1), frames.mac(2), "to all"))
    assert [frames.text_of(frame) for frame in sink.frames(1)] == ["to all"]
    shell.wait_until(lambda: site.client.counters("null")["tx_frames"] == 1, "null took it")


def test_changed_port_keeps_its_counters_and_neighbours_their_traffic(site: Site) -> None:
    client, server = site.tap(), site.veth()
    site.apply()
    site.wait_for_ping(client, server)
    before = site.client.counters(client.port)["rx_frames"]
    site.port_document(client.port)["storm_limit_pps"] = 5000
    with flow.paced_flow(client.namespace, server.namespace, server.ipv4, 1000) as result:
        site.apply()
        shell.wait_until(lambda: site.client.counters(client.port)["rx_frames"] > before + 200,
                         "traffic flows")
    assert result.lost == 0, result


def test_hundreds_of_ports(site: Site) -> None:
    """Ports cost table entries and file descriptors, no more: 200 of them, then none."""
    namespace = site.lab.namespace(ipv6=False)
    site.document["ports"] = [
        {"name": f"many{number}", "network": "blue",
         "tap": {"interface": f"m{number}", "namespace": namespace.name}}
        for number in range(200)]
    site.client.apply(site.document)
    shell.wait_until(lambda: site.client.status().get("ports_up") == 200, "200 ports are up", 60)
    site.document["ports"] = []
    site.client.apply(site.document, "--replace")
    assert not [link for link in namespace.links() if link["ifname"].startswith("m")]
