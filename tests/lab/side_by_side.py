"""side_by_side.py N DIRECTORY [options of pytest]: the tests of a directory in N pytest processes at
once, each with every Nth test; most tests wait for kernels more than they compute.

Prints the output of each, then "N passed, N failed in 0.0s". Ctrl-C and SIGTERM go to the processes,
which clean up what their tests created. (pytest-xdist kills its workers instead.)
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time

from lab import closing_line, shell


def main(processes: int, directory: str, options: list[str]) -> int:
    shell.raise_on_sigterm()
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        logs = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(processes)]
        running: list[subprocess.Popen[str]] = []
        stack.callback(lambda: [each.wait() for each in running])
        stack.callback(lambda: [each.terminate() for each in running])
        for number, log in enumerate(logs):
            command = [sys.executable, "-m", "pytest", f"--part={number}/{processes}", *options, directory]
            running.append(shell.spawn(command, stdout=log, stderr=subprocess.STDOUT))
        failures = sum(each.wait() != 0 for each in running)
        passed = failed = 0
        for log in logs:
            log.seek(0)
            text = log.read()
            print(text)
            counted = closing_line.counts(text)
            passed += counted[0] if counted else 0
            failed += counted[1] if counted else 1
    failed = max(failed, failures)
    print(f"{passed} passed, {failed} failed in {time.monotonic() - start:.1f}s")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
