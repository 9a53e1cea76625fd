"""Documents: what `heddle apply` accepts, refuses, changes and leaves alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from lab.site import Site

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "two-containers.yaml"


def problems_of(site: Site, document: dict[str, Any] | str) -> str:
    """Applies a bad document; answers what was said. Nothing may have been applied."""
    before = site.client.topology()
    done = site.client.try_apply(document)
    assert done.returncode == 1, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    assert site.client.topology() == before, "something was applied"
    return done.stdout + done.stderr


def tap(name: str = "p", **fields: Any) -> dict[str, Any]:
    return {"name": name, "tap": {}, **fields}


# Document and the paths that its problems must be reported at.
BAD: dict[str, tuple[dict[str, Any], list[str]]] = {
    "unknown field": ({"ports": [tap(colour="red")]}, ["ports[0]", "colour"]),
    "unknown kind": ({"portz": []}, ["portz"]),
    "unknown device": ({"ports": [{"name": "p", "vhost": {}}]}, ["ports[0]", "vhost"]),
    "text where a number belongs": ({"ports": [tap(mtu="big")]}, ["ports[0].mtu"]),
    "list where an object belongs": ({"ports": [{"name": "p", "tap": []}]}, ["ports[0].tap"]),
    "number where a list belongs": ({"ports": 5}, ["ports"]),
    "negative number": ({"ports": [tap(queues=-1)]}, ["ports[0].queues"]),
    "fraction": ({"ports": [tap(queues=1.5)]}, ["ports[0].queues"]),
    "no name": ({"ports": [{"tap": {}}]}, ["ports[0].name"]),
    "empty name": ({"networks": [{"name": ""}]}, ["networks[0].name"]),
    "name with a slash": ({"networks": [{"name": "a/b"}]}, ["networks[0].name"]),
    "name of 64 characters": ({"networks": [{"name": "n" * 64}]}, ["networks[0].name"]),
    "duplicate port": ({"ports": [tap("p"), tap("p")]}, ["ports[1].name"]),
    "duplicate network": ({"networks": [{"name": "n"}, {"name": "n"}]}, ["networks[1].name"]),
    "dangling network": ({"ports": [tap(network="nowhere")]}, ["ports[0].network"]),
    "dangling trunk network": ({"ports": [tap(vlans=[{"vlan": 1, "network": "nowhere"}])]},
                               ["ports[0].vlans[0].network"]),
    "dangling static entry": (
        {"networks": [{"name": "n", "static_fdb": [{"mac": "02:00:00:00:00:01", "port": "x"}]}]},
        ["networks[0].static_fdb[0].port"]),
    "no device": ({"ports": [{"name": "p"}]}, ["ports[0]"]),
    "two devices": ({"ports": [{"name": "p", "tap": {}, "netdev": {}}]}, ["ports[0]"]),
    "zero MAC": ({"ports": [{"name": "p", "tap": {"mac": "00:00:00:00:00:00"}}]},
                 ["ports[0].tap.mac"]),
    "multicast MAC": ({"ports": [{"name": "p", "tap": {"mac": "01:00:5e:00:00:01"}}]},
                      ["ports[0].tap.mac"]),
    "broken MAC": ({"ports": [{"name": "p", "tap": {"mac": "02:00:00:00:00"}}]},
                   ["ports[0].tap.mac"]),
    "broken address": ({"ports": [{"name": "p", "tap": {"addresses": ["10.0.0.300/24"]}}]},
                       ["ports[0].tap.addresses[0]"]),
    "address without prefix length": (
        {"ports": [{"name": "p", "tap": {"addresses": ["10.0.0.1"]}}]},
        ["ports[0].tap.addresses[0]"]),
    "two gateways of a family": (
        {"ports": [{"name": "p", "tap": {"addresses": ["10.0.0.1/24"],
                                         "gateways": ["10.0.0.2", "10.0.0.3"]}}]},
        ["ports[0].tap.gateways"]),
    "MTU too small": ({"ports": [tap(mtu=67)]}, ["ports[0].mtu"]),
    "MTU too large": ({"ports": [tap(mtu=65522)]}, ["ports[0].mtu"]),
    "no queues": ({"ports": [tap(queues=0)]}, ["ports[0].queues"]),
    "too many queues": ({"ports": [tap(queues=65)]}, ["ports[0].queues"]),
    "interface name of 16 characters": (
        {"ports": [{"name": "p", "tap": {"interface": "i" * 16}}]}, ["ports[0].tap.interface"]),
    "port name too long for its interface": ({"ports": [tap("p" * 16)]}, ["ports[0]"]),
    "VLAN 0": ({"networks": [{"name": "n"}],
                "ports": [tap(vlans=[{"vlan": 0, "network": "n"}])]}, ["ports[0].vlans[0].vlan"]),
    "VLAN 4095": ({"networks": [{"name": "n"}],
                   "ports": [tap(vlans=[{"vlan": 4095, "network": "n"}])]},
                  ["ports[0].vlans[0].vlan"]),
    "VLAN twice": ({"networks": [{"name": "n"}],
                    "ports": [tap(vlans=[{"vlan": 5, "network": "n"},
                                         {"vlan": 5, "network": "n"}])]},
                   ["ports[0].vlans[1]"]),
    "ageing time too short": ({"networks": [{"name": "n", "ageing_time": 9}]},
                              ["networks[0].ageing_time"]),
    "FDB limit too large": ({"networks": [{"name": "n", "fdb_limit": 1000001}]},
                            ["networks[0].fdb_limit"]),
    "spanning tree forwarded": ({"networks": [{"name": "n", "group_forward_mask": 1}]},
                                ["networks[0].group_forward_mask"]),
    "no workers": ({"settings": {"workers": 0}}, ["settings.workers"]),
    "too many workers": ({"settings": {"workers": 65}}, ["settings.workers"]),
    "unknown polling": ({"settings": {"polling": "SOMETIMES"}}, ["settings.polling"]),
    "one interface twice": ({"ports": [
        {"name": "a", "netdev": {"interface": "lo0"}},
        {"name": "b", "netdev": {"interface": "lo0"}}]}, ["ports[1]"]),
    "empty devargs": ({"ports": [{"name": "p", "ethdev": {"devargs": ""}}]},
                      ["ports[0].ethdev.devargs"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_document_is_refused_with_its_path(shared_site: Site, name: str) -> None:
    document, paths = BAD[name]
    said = problems_of(shared_site, document)
    for path in paths:
        assert path in said, said


def test_all_problems_of_a_document_are_reported_at_once(shared_site: Site) -> None:
    said = problems_of(shared_site, {
        "settings": {"workers": 99},
        "networks": [{"name": "n", "ageing_time": 1}, {"name": "n"}],
        "ports": [tap("a", mtu=1), tap("b", network="nowhere"),
                  {"name": "c", "tap": {"mac": "01:00:00:00:00:01", "interface": "x" * 20}},
                  {"name": "d", "tap": {}, "wings": 2}]})
    for path in ("settings.workers", "networks[0].ageing_time", "networks[1].name", "ports[0].mtu",
                 "ports[1].network", "ports[2].tap.mac", "ports[2].tap.interface",
                 "ports[3]", "wings"):
        assert path in said, f"{path} is missing:\n{said}"


@pytest.mark.parametrize("text", [
    "ports: [", "ports:\n\t- name: x", "- 1\n- 2\n", "just words", "{]", "\x00\x01\x02",
    "ports: &a [*a]", "!!python/object/apply:os.system ['true']", "a: 1\na: 2\n"])
def test_text_that_is_no_document_is_refused(shared_site: Site, text: str) -> None:
    assert problems_of(shared_site, text).strip()


def test_problem_names_line_and_path_and_suggests_a_field(shared_site: Site) -> None:
    said = problems_of(shared_site, "ports:\n- name: p\n  tap: {}\n  netwrok: blue\n")
    assert ":4:" in said and "ports[0]" in said and '"network"' in said


def test_missing_file_and_bad_usage_have_their_exit_codes(shared_site: Site) -> None:
    client = shared_site.client
    assert client.run("apply", "-f", "/nonexistent.yaml", check=False).returncode == 2
    assert client.run("aply", check=False).returncode == 2
    assert client.run("get", "nothings", check=False).returncode == 2
    assert client.run("get", "ports", "nobody", check=False).returncode == 1
    assert client.run("delete", "port", "nobody", check=False).returncode == 1


def test_applying_twice_changes_nothing(site: Site) -> None:
    site.tap()
    site.veth()
    site.network("red", ageing_time=100, fdb_limit=5)
    site.apply()
    ids = {port["name"]: port["id"] for port in site.client.get("ports")}
    topology = site.client.topology()
    again = site.client.apply(site.document)
    assert "create" not in again.lower() and "update" not in again.lower()
    assert {port["name"]: port["id"] for port in site.client.get("ports")} == ids
    assert site.client.topology() == topology


def test_dry_run_says_what_would_change_and_changes_nothing(site: Site) -> None:
    station = site.tap()
    site.apply()
    before = site.client.topology()
    site.port_document(station.port)["mtu"] = 1400
    said = site.client.apply(site.document | {"networks": [{"name": "blue"}, {"name": "green"}]},
                             "--dry-run")
    assert "green" in said and station.port in said and "1400" in said
    assert site.client.topology() == before


def test_document_adds_and_replace_also_removes(site: Site) -> None:
    keep, drop = site.tap(), site.veth()
    site.apply()
    site.client.apply({"networks": [{"name": "other"}]})
    assert {port["name"] for port in site.client.get("ports")} == {keep.port, drop.port}
    site.document["ports"] = [site.port_document(keep.port)]
    site.client.apply(site.document, "--replace")
    assert [port["name"] for port in site.client.get("ports")] == [keep.port]
    assert [network["name"] for network in site.client.get("networks")] == ["blue"]


def test_replace_by_an_empty_document_removes_everything(site: Site) -> None:
    site.tap()
    site.veth()
    site.apply()
    site.client.apply({}, "--replace")
    assert site.client.get("ports") == [] and site.client.get("networks") == []


def test_network_in_use_is_not_deleted(site: Site) -> None:
    station = site.tap()
    site.apply()
    done = site.client.run("delete", "network", "blue", check=False)
    assert done.returncode == 1 and station.port in done.stdout + done.stderr
    site.remove_port(station.port)
    site.client.run("delete", "network", "blue")
    assert site.client.get("networks") == []


def test_deleting_several_objects_at_once(site: Site) -> None:
    names = [site.tap().port for _ in range(3)]
    site.apply()
    site.client.run("delete", "port", *names)
    assert site.client.get("ports") == []


def test_json_and_yaml_are_texts_of_the_same_document(site: Site, tmp_path: Path) -> None:
    site.tap(mtu=1400)
    site.apply()
    as_yaml = yaml.safe_load(site.client.run("get", "topology", "-o", "yaml").stdout)
    assert as_yaml == site.client.topology()
    path = tmp_path / "document.json"
    path.write_text(json.dumps(site.document))
    done = site.client.run("apply", "-f", str(path))
    assert "create" not in done.stdout.lower()


def test_output_of_get_topology_can_be_applied(site: Site) -> None:
    site.tap(queues=2)
    site.veth(isolated=True, storm_limit_pps=7)
    site.network("blue", static_fdb=[{"mac": "02:00:00:00:00:09", "port": "tap1"}])
    site.apply()
    text = site.client.run("get", "topology", "-o", "yaml").stdout
    said = site.client.apply(text, "--replace")
    assert "create" not in said.lower() and "delete" not in said.lower()


def test_the_example_is_a_valid_document(shared_site: Site) -> None:
    done = shared_site.client.try_apply(EXAMPLE.read_text(), "--dry-run")
    said = done.stdout + done.stderr
    assert done.returncode == 0 or "hdl-demo" in said, said
