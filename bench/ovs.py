"""Open vSwitch with DPDK as a peer: unpacked packages, a database and sockets of its own, started for
one measurement and removed after it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from lab import shell
from lab.netns import Namespace

PEERS = Path(__file__).resolve().parents[1] / "build" / "peers"
_HUGEPAGES = Path("/proc/sys/vm/nr_hugepages")
_HUGEPAGES_WANTED = 640  # of 2 MB: 1 GB of buffers and room to spare


class OpenVSwitch:
    """ovsdb-server and ovs-vswitchd-dpdk with one bridge, one PMD thread."""

    def __init__(self, pmd_cpu: int, tso: bool = False) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="ovs-"))
        self._processes: list[subprocess.Popen[str]] = []
        self._links_before = set(os.listdir("/sys/class/net"))
        self._hugepages_before = _HUGEPAGES.read_text()
        self._control = self._directory / "vswitchd.ctl"
        self.bridge = f"br{os.getpid()}"
        try:
            self._start(pmd_cpu, tso)
        except BaseException:
            self.close()
            raise

    def _start(self, pmd_cpu: int, tso: bool) -> None:
        _HUGEPAGES.write_text(str(max(_HUGEPAGES_WANTED, int(self._hugepages_before))))
        huge = self._directory / "huge"
        huge.mkdir()
        shell.run("mount", "-t", "hugetlbfs", "none", str(huge))
        database = self._directory / "conf.db"
        schema = PEERS / "usr/share/openvswitch/vswitch.ovsschema"
        shell.run(str(PEERS / "usr/bin/ovsdb-tool"), "create", str(database), str(schema))
        self._spawn(PEERS / "usr/sbin/ovsdb-server", str(database),
                    f"--remote=punix:{self._directory}/db.sock",
                    f"--unixctl={self._directory}/ovsdb.ctl")
        shell.wait_until(lambda: (self._directory / "db.sock").exists(), "ovsdb-server is up")
        self.vsctl("--no-wait", "init")
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
                   "other_config:dpdk-socket-mem=1024",
                   f"other_config:dpdk-extra=--no-pci --in-memory --huge-dir={huge}",
                   f"other_config:pmd-cpu-mask={1 << pmd_cpu:#x}",
                   f"other_config:userspace-tso-enable={str(tso).lower()}")
        self._spawn(PEERS / "usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk",
                    f"unix:{self._directory}/db.sock", f"--unixctl={self._control}",
                    f"--pidfile={self._directory}/vswitchd.pid")
        shell.wait_until(self._control.exists, "ovs-vswitchd is up", 30)
        self.vsctl("add-br", self.bridge, "--", "set", "bridge", self.bridge,
                   "datapath_type=netdev", "other-config:mac-table-size=65536")

    def _spawn(self, program: Path, *arguments: str) -> None:
        environment = os.environ | {"OVS_RUNDIR": str(self._directory),
                                    "OVS_LOGDIR": str(self._directory),
                                    "OVS_DBDIR": str(self._directory)}
        with (self._directory / f"{program.name}.log").open("w") as log:
            self._processes.append(shell.spawn([str(program), *arguments], stdout=log, stderr=log,
                                               env=environment))

    def vsctl(self, *arguments: str) -> str:
        return shell.run(str(PEERS / "usr/bin/ovs-vsctl"), f"--db=unix:{self._directory}/db.sock",
                         "--timeout=30", *arguments).stdout

    def appctl(self, *commands: list[str]) -> list[str]:
        """Commands of ovs-appctl over one connection: JSON-RPC on the control socket."""
        answers = []
        decoder = json.JSONDecoder()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(30)
            connection.connect(str(self._control))
            pending = ""
            for number, (method, *parameters) in enumerate(commands):
                connection.sendall(json.dumps(
                    {"id": number, "method": method, "params": parameters}).encode())
                while True:
                    try:
                        answer, end = decoder.raw_decode(pending)
                        break
                    except json.JSONDecodeError:
                        data = connection.recv(1 << 16)
                        assert data, "ovs-vswitchd closed its control socket"
                        pending += data.decode()
                pending = pending[end:]
                assert answer.get("error") is None, f"{method}: {answer['error']}"
                answers.append(answer["result"] or "")
        return answers

    def add_internal(self, name: str, namespace: Namespace) -> None:
        """A tap of OVS's own, moved into the namespace as eth0."""
        self.vsctl("add-port", self.bridge, name, "--", "set", "interface", name, "type=internal")
        shell.run("ip", "link", "set", name, "netns", namespace.name, "name", "eth0")
        namespace.run("ip", "link", "set", "eth0", "up")

    def add_system(self, interface: str) -> None:
        """An existing interface: the host end of a veth pair."""
        self.vsctl("add-port", self.bridge, interface)

    def add_device(self, name: str, devargs: str) -> None:
        """A DPDK device."""
        self.vsctl("add-port", self.bridge, name, "--", "set", "interface", name, "type=dpdk",
                   f"options:dpdk-devargs={devargs}")
        error = self.vsctl("get", "interface", name, "error").strip()
        assert error == "[]", f"OVS refused {devargs}: {error}"

    def add_addresses(self, port: str, addresses: list[str]) -> None:
        """Makes the bridge know these MAC addresses at a port."""
        self.appctl(*(["fdb/add", self.bridge, port, "0", address] for address in addresses))

    def transmitted(self, port: str) -> int:
        """Frames that left through a port, as of now."""
        lines = self.appctl(["dpctl/show", "--statistics", "netdev@ovs-netdev"])[0].splitlines()
        inside = False
        for line in lines:
            if line.strip().startswith("port "):
                inside = f": {port} " in line or line.rstrip().endswith(f": {port}")
            elif inside and line.strip().startswith("TX packets:"):
                return int(line.split("TX packets:", 1)[1].split()[0])
        raise AssertionError(f"no statistics of {port}:\n" + "\n".join(lines))

    def cycles_per_frame(self) -> float:
        """Cycles of the PMD thread per received packet since pmd-stats-clear."""
        for line in self.appctl(["dpif-netdev/pmd-stats-show"])[0].splitlines():
            if "avg processing cycles per packet" in line:
                return float(line.split(":", 1)[1].split()[0])
        return 0.0

    def clear_cycles(self) -> None:
        self.appctl(["dpif-netdev/pmd-stats-clear"])

    def close(self) -> None:
        """Stops both and deletes the taps that they leave behind."""
        for process in reversed(self._processes):
            shell.stop(process, 10)
        for link in set(os.listdir("/sys/class/net")) - self._links_before:
            if link in ("ovs-netdev", self.bridge) or link.startswith("ovs-tap"):
                shell.run("ip", "link", "delete", link, check=False)
        shell.run("umount", str(self._directory / "huge"), check=False)
        _HUGEPAGES.write_text(self._hugepages_before)
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> OpenVSwitch:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
