"""`heddle`: outputs for people and for programs, events, completion."""

from __future__ import annotations

import json
import os
import select
from pathlib import Path

import frames
import yaml
from lab import shell
from lab.daemon import Client, HEDDLE
from lab.site import Site

KINDS = ("ports", "networks", "fdb", "workers", "topology")


def test_every_kind_in_every_format(site: Site) -> None:
    station = site.tap()
    site.apply()
    station.raw().send(frames.plain(frames.mac(1), frames.BROADCAST, "learn me"))
    shell.wait_until(lambda: site.client.get("fdb"), "an address is learned")
    for kind in KINDS:
        json.loads(site.client.run("get", kind, "-o", "json").stdout)
        yaml.safe_load(site.client.run("get", kind, "-o", "yaml").stdout)
        for form in ("table", "wide"):
            assert site.client.run("get", kind, "-o", form).stdout.strip(), f"{kind} as {form}"


def test_table_names_the_port_and_its_state(site: Site) -> None:
    station = site.veth()
    site.apply()
    table = site.client.run("get", "ports").stdout
    row = next(line for line in table.splitlines() if station.port in line)
    assert "netdev" in row and "blue" in row and "up" in row.lower()
    wide = site.client.run("get", "ports", "-o", "wide").stdout
    assert station.host_interface is not None and station.host_interface in wide


def test_get_by_name_answers_that_object_only(site: Site) -> None:
    wanted, other = site.tap(), site.tap()
    site.apply()
    assert [port["name"] for port in site.client.get("ports", wanted.port)] == [wanted.port]
    done = site.client.run("get", "ports", "nobody", check=False)
    assert done.returncode == 1 and "nobody" in done.stderr
    assert other.port not in site.client.run("get", "ports", wanted.port).stdout


def test_drops_are_listed_with_their_meaning(site: Site) -> None:
    station = site.veth(silent=True)
    site.apply()
    station.raw().send(frames.plain(frames.mac(1), frames.BROADCAST, "alone"))
    site.wait_for_drop("no-destination", 1, station.port)
    said = site.client.run("drops").stdout
    assert "no-destination" in said and station.port in said


def test_status_for_people_and_programs(site: Site) -> None:
    site.tap()
    site.apply()
    assert "worker" in site.client.run("status").stdout.lower()
    status = json.loads(site.client.run("status", "-o", "json").stdout)
    assert int(status["ports_up"]) == 1


def test_watch_shows_events_as_they_happen(site: Site) -> None:
    namespace = site.lab.namespace(ipv6=False)
    host = site.lab.veth(namespace)
    watch = shell.spawn(site.client.command("watch"), stdout=-1, stderr=-1)
    try:
        assert watch.stdout is not None
        os.set_blocking(watch.stdout.fileno(), False)
        seen = b""

        def text_contains(*words: str) -> bool:
            nonlocal seen
            assert watch.poll() is None, "watch ended"
            assert watch.stdout is not None
            if select.select([watch.stdout], [], [], 0.1)[0]:
                seen += os.read(watch.stdout.fileno(), 65536)
            return any(all(word in line for word in words) for line in seen.decode().splitlines())

        # The subscription takes effect some time after the start: events come until one is seen.
        watched = {"ports": [{"name": "watched", "netdev": {"interface": host}}]}

        def first_event() -> bool:
            site.client.apply(watched)
            site.client.run("delete", "port", "watched")
            return text_contains("port", "watched")
        shell.wait_until(first_event, "the first event")
        site.client.apply(watched)
        shell.run("ip", "link", "delete", host)
        shell.wait_until(lambda: text_contains("watched", "down"), lambda: f"it is down: {seen!r}")
    finally:
        shell.stop(watch, 2)


def test_completion_script_is_valid_bash() -> None:
    script = shell.run(str(HEDDLE), "completion", "bash").stdout
    assert "complete" in script and "heddle" in script
    shell.run("bash", "-n", stdin=script)


def test_no_daemon_is_a_clear_error(tmp_path: Path) -> None:
    nobody = Client(tmp_path / "nobody.sock")
    done = nobody.run("status", check=False)
    assert done.returncode == 2 or done.returncode == 1
    assert "nobody.sock" in done.stderr


def test_help_needs_no_daemon() -> None:
    for arguments in (["--help"], ["apply", "--help"], ["get", "--help"]):
        assert "Usage" in shell.run(str(HEDDLE), *arguments).stdout.replace("usage", "Usage")
    assert any(digit.isdigit() for digit in shell.run(str(HEDDLE), "--version").stdout)
