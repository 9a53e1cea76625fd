"""A heddled of one's own, and its command line as a client."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from lab import shell

_RELEASE = Path(__file__).resolve().parents[2] / "build" / "release"
HEDDLED = Path(os.environ.get("HEDDLED", _RELEASE / "src" / "control" / "heddled"))
HEDDLE = Path(os.environ.get("HEDDLE", _RELEASE / "src" / "cli" / "heddle"))
SANITIZED = "/asan/" in str(HEDDLED)
_REPORT = re.compile(r"(AddressSanitizer|LeakSanitizer|ThreadSanitizer|UndefinedBehavior"
                     r"|runtime error:|^Segmentation)", re.M)


class Client:
    """`heddle` talking to one daemon."""

    def __init__(self, socket_path: Path) -> None:
        self.socket_path = socket_path

    def command(self, *arguments: str) -> list[str]:
        return [str(HEDDLE), "--socket", str(self.socket_path), *arguments]

    def run(self, *arguments: str, check: bool = True, stdin: str | None = None,
            ) -> subprocess.CompletedProcess[str]:
        return shell.run(*self.command(*arguments), check=check, stdin=stdin)

    def try_apply(self, document: dict[str, Any] | str, *options: str,
                  ) -> subprocess.CompletedProcess[str]:
        """`heddle apply -f -` of a document, whatever comes of it."""
        text = document if isinstance(document, str) else yaml.safe_dump(document, sort_keys=False)
        return self.run("apply", "-f", "-", *options, check=False, stdin=text)

    def apply(self, document: dict[str, Any] | str, *options: str) -> str:
        done = self.try_apply(document, *options)
        assert done.returncode == 0, f"apply: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def get(self, kind: str, *names: str) -> list[dict[str, Any]]:
        """Objects of a kind, or those with these names. Fields of value zero are left out."""
        return json.loads(self.run("get", kind, *names, "-o", "json").stdout)

    def port(self, name: str) -> dict[str, Any]:
        return self.get("ports", name)[0]

    def counters(self, name: str) -> dict[str, int]:
        """A port's counters; a counter that is left out is 0."""
        return _Zeroes(self.port(name).get("counters", {}))

    def drops(self, name: str | None = None) -> dict[str, int]:
        """Drops by reason, of one port or of all."""
        source = self.port(name) if name else self.status()
        return _Zeroes({drop["reason"]: drop["frames"] for drop in source.get("drops", [])})

    def status(self) -> dict[str, Any]:
        return json.loads(self.run("status", "-o", "json").stdout)

    def topology(self) -> dict[str, Any]:
        """Desired state, as the schema's Topology."""
        return json.loads(self.run("get", "topology", "-o", "json").stdout)


class _Zeroes(dict[str, int]):
    def __missing__(self, key: str) -> int:
        return 0


class Daemon:
    """heddled with its own socket and state file, both removed by close()."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="heddle-"))
        self.socket_path = self.directory / "heddled.sock"
        self.state_path = self.directory / "state"
        self.log_path = self.directory / "heddled.log"
        self.client = Client(self.socket_path)
        self.process: subprocess.Popen[str] | None = None

    def command(self) -> list[str]:
        return [str(HEDDLED), "--socket", str(self.socket_path),
                "--state", str(self.state_path)]

    def start(self, prefix: Sequence[str] = (), options: Sequence[str] = ()) -> None:
        """Starts it, by way of `prefix` (such as taskset), and returns when it says that it is
        ready (systemd's readiness protocol). AssertionError with its log if it ends instead."""
        notify_path = self.directory / "notify"
        notify_path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(str(notify_path))
            notify.settimeout(0.05)
            self.process = self._spawn(prefix, options, {"NOTIFY_SOCKET": str(notify_path)})
            shell.wait_until(lambda: self._notified(notify), "heddled is ready", 60)
        assert self.running(), f"heddled ended at its start:\n{self.log()}"

    def start_failing(self, prefix: Sequence[str] = (),
                      options: Sequence[str] = ()) -> tuple[int, str]:
        """Starts it where it cannot run; answers exit code and log."""
        process = self._spawn(prefix, options, {})
        try:
            return process.wait(60), self.log()
        finally:
            shell.stop(process)

    def _spawn(self, prefix: Sequence[str], options: Sequence[str],
               environment: dict[str, str]) -> subprocess.Popen[str]:
        environment = os.environ | {
            "ASAN_OPTIONS": "abort_on_error=0:detect_stack_use_after_return=0:detect_leaks=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        } | environment
        with self.log_path.open("a") as log:
            return shell.spawn([*prefix, *self.command(), *options], stdout=log, stderr=log,
                               env=environment)

    def _notified(self, notify: socket.socket) -> bool:
        if not self.running():
            return True
        try:
            return b"READY=1" in notify.recv(4096)
        except TimeoutError:
            return False

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def log(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def sanitizer_reports(self) -> list[str]:
        return [line for line in self.log().splitlines() if _REPORT.search(line)]

    def cpu_seconds(self) -> float:
        """User and system time used so far by all threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def stop(self) -> int:
        """SIGTERM; answers the exit code."""
        assert self.process is not None
        return shell.stop(self.process, 20)

    def close(self) -> None:
        if self.process is not None:
            shell.stop(self.process)
        shutil.rmtree(self.directory, ignore_errors=True)
