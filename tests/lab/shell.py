"""Commands, waiting, and processes that do not outlive us."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class CommandError(AssertionError):
    """A command failed; the message shows its output."""


def run(*command: str, check: bool = True, timeout: float = 60, stdin: str | None = None,
        env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end. With `check`, a non-zero exit code is a CommandError."""
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout,
                          env=env)
    if check and done.returncode != 0:
        raise CommandError(f"{' '.join(command)}: exit code {done.returncode}\n"
                           f"{done.stdout}{done.stderr}")
    return done


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def spawn(command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """Starts a process that is terminated when this one dies, however it dies."""
    return subprocess.Popen(list(command), text=True, preexec_fn=_die_with_parent, **options)


def stop(process: subprocess.Popen[str], grace: float = 10) -> int:
    """SIGTERM, then SIGKILL after `grace` seconds; answers the exit code."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


def wait_until(condition: Callable[[], T], what: str | Callable[[], str], deadline: float = 10,
               interval: float = 0.02) -> T:
    """Polls until the condition is true and answers its value; after `deadline` seconds fails with
    `what` was waited for (a function: asked only then) and the last value seen."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            sentence = what if isinstance(what, str) else what()
            raise AssertionError(f"not within {deadline} s: {sentence} (last value: {value!r})")
        time.sleep(interval)


def raise_on_sigterm() -> None:
    """Makes SIGTERM unwind the stack like Ctrl-C, once, so that cleanup runs and is not interrupted
    in its turn."""
    def handler(signum: int, frame: object) -> None:
        ignore_interrupts()
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, handler)


def ignore_interrupts() -> None:
    """From now on neither Ctrl-C nor SIGTERM interrupts: for cleanup."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
