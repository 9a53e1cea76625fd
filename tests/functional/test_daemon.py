"""heddled as a process: start, stop, restart, its socket and its state."""

from __future__ import annotations

import contextlib
import grp
import os
import socket
import stat
from pathlib import Path

import pytest
from lab import shell
from lab.daemon import Daemon
from lab.netns import Lab
from lab.site import Site

DROP_NET_ADMIN = ("capsh", "--drop=cap_net_admin", "--", "-c", 'exec "$0" "$@"')
DROP_NET_RAW = ("capsh", "--drop=cap_net_raw", "--", "-c", 'exec "$0" "$@"')


def test_starts_with_nothing_but_a_place_for_its_files(site: Site) -> None:
    status = site.client.status()
    assert status["pid"] == site.daemon.pid
    assert status.get("ports_up", 0) == 0 and status["workers"] >= 1
    assert status["buffers_total"] > 0


def test_socket_is_closed_to_others(site: Site) -> None:
    mode = site.daemon.socket_path.stat()
    assert stat.S_ISSOCK(mode.st_mode)
    assert stat.S_IMODE(mode.st_mode) & 0o007 == 0, oct(mode.st_mode)
    assert stat.S_IMODE(mode.st_mode) & 0o060 == 0o060, oct(mode.st_mode)
    assert grp.getgrgid(mode.st_gid).gr_name in ("heddle", "root")


def test_second_daemon_on_one_socket_is_refused(site: Site) -> None:
    second = Daemon()
    second.socket_path = site.daemon.socket_path
    try:
        code, log = second.start_failing()
    finally:
        second.close()
    assert code != 0 and str(site.daemon.socket_path) in log, log
    assert site.client.status()["pid"] == site.daemon.pid, "the first one lost its socket"


def test_second_daemon_on_one_state_file_is_refused(site: Site) -> None:
    second = Daemon()
    second.state_path = site.daemon.state_path
    try:
        code, log = second.start_failing()
    finally:
        second.close()
    assert code != 0 and str(site.daemon.state_path) in log, log


def test_socket_of_a_killed_daemon_is_no_obstacle(idle_daemon: Daemon) -> None:
    idle_daemon.start()
    assert idle_daemon.process is not None
    idle_daemon.process.kill()
    idle_daemon.process.wait()
    idle_daemon.start()
    assert idle_daemon.client.status()["pid"] == idle_daemon.pid
    assert idle_daemon.stop() == 0


@pytest.mark.parametrize("prefix, capability", [(DROP_NET_ADMIN, "CAP_NET_ADMIN"),
                                                (DROP_NET_RAW, "CAP_NET_RAW")])
def test_missing_capability_is_named(idle_daemon: Daemon, prefix: tuple[str, ...],
                                     capability: str) -> None:
    code, log = idle_daemon.start_failing(prefix)
    assert code != 0
    assert capability in log.upper(), log


def test_sigterm_leaves_nothing_but_persistent_taps(idle_daemon: Daemon, lab: Lab) -> None:
    namespace = lab.namespace()
    idle_daemon.start()
    idle_daemon.client.apply({"ports": [
        {"name": "gone", "tap": {"interface": "gone0", "namespace": namespace.name}},
        {"name": "kept", "tap": {"interface": "kept0", "namespace": namespace.name,
                                 "persistent": True, "addresses": ["10.1.1.1/24"]}}]})
    shell.wait_until(lambda: idle_daemon.client.status().get("ports_up") == 2, "both ports are up")
    assert idle_daemon.stop() == 0
    names = {link["ifname"] for link in namespace.links()}
    assert "gone0" not in names and "kept0" in names
    assert not idle_daemon.socket_path.exists()
    idle_daemon.start()
    shell.wait_until(lambda: idle_daemon.client.status().get("ports_up") == 2, "both are back")
    idle_daemon.client.run("delete", "port", "kept")
    shell.wait_until(lambda: "kept0" not in {link["ifname"] for link in namespace.links()},
                     "a persistent tap goes with its port")
    assert idle_daemon.stop() == 0


def test_restart_comes_back_as_it_was(site: Site) -> None:
    client, server = site.tap(), site.veth()
    site.network("blue", ageing_time=100)
    site.apply()
    site.wait_for_ping(client, server)
    before = site.client.topology()
    assert site.daemon.stop() == 0
    site.daemon.start()
    assert site.client.topology() == before
    for port in (client.port, server.port):
        shell.wait_until(lambda name=port: site.client.port(name).get("up"), f"{port} is up")
    site.wait_for_ping(client, server)
    site.exercise(client, server)


def test_kill_loses_no_state(site: Site) -> None:
    """State is on disk before apply answers."""
    client, server = site.tap(), site.veth()
    site.apply()
    before = site.client.topology()
    assert site.daemon.process is not None
    site.daemon.process.kill()
    site.daemon.process.wait()
    site.daemon.start()
    assert site.client.topology() == before
    site.wait_for_ping(client, server)


@pytest.mark.parametrize("damage", ["torn", "foreign", "noise", "empty"])
def test_damaged_state_file_is_refused(idle_daemon: Daemon, damage: str) -> None:
    """Never half read: the daemon says which file it is and leaves it as it was."""
    idle_daemon.start()
    idle_daemon.client.apply({"networks": [{"name": f"n{number}"} for number in range(50)]})
    assert idle_daemon.stop() == 0
    path = idle_daemon.state_path
    data = path.read_bytes()
    damaged = {"torn": data[:len(data) * 2 // 3], "foreign": b"#!/bin/sh\nexit 0\n",
               "noise": os.urandom(len(data)), "empty": b""}[damage]
    path.write_bytes(damaged)
    code, log = idle_daemon.start_failing()
    assert code != 0 and path.name in log, log
    assert path.read_bytes() == damaged


def test_state_that_cannot_be_written_is_said(idle_daemon: Daemon) -> None:
    """Either at the start, or by the apply whose result is lost with the daemon."""
    idle_daemon.state_path = Path("/proc/nowhere/state")
    with contextlib.suppress(AssertionError):
        idle_daemon.start()
    if idle_daemon.running():
        done = idle_daemon.client.try_apply({"networks": [{"name": "blue"}]})
        assert "/proc/nowhere/state cannot be written" in done.stdout + done.stderr
    else:
        assert "/proc/nowhere/state" in idle_daemon.log()


def test_restarts_leak_no_device(idle_daemon: Daemon, lab: Lab) -> None:
    namespace = lab.namespace()
    before = {link["ifname"] for link in namespace.links()}
    for _ in range(5):
        idle_daemon.start()
        idle_daemon.client.apply({"ports": [
            {"name": f"p{number}", "tap": {"interface": f"p{number}",
                                           "namespace": namespace.name}} for number in range(4)]})
        assert idle_daemon.stop() == 0
        assert {link["ifname"] for link in namespace.links()} == before


def test_garbage_on_the_socket_disturbs_nobody(site: Site) -> None:
    """The API is reachable by its group only, and still trusts nothing that it reads."""
    for number in range(20):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(site.daemon.socket_path))
            connection.sendall(os.urandom(100 * number + 1))
    assert site.client.status()["pid"] == site.daemon.pid
