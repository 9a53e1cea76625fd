"""closing_line.py PASSED FAILED LOG...: adds the closing lines of ctest and pytest logs to what has
passed and failed already, and prints "N passed, N failed".

Exit code 1 if anything failed or a log has no closing line.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def counts(text: str) -> tuple[int, int] | None:
    """(passed, failed) of one log; None if it has no closing line."""
    if match := re.search(r"(\d+) tests? failed out of (\d+)", text):
        failed, total = int(match[1]), int(match[2])
        return total - failed, failed
    for line in reversed(text.splitlines()):
        if re.search(r"\bin \d+\.\d+s", line):
            found = {word: int(number) for number, word in
                     re.findall(r"(\d+) (passed|failed|errors?)\b", line)}
            failed = found.get("failed", 0) + found.get("error", 0) + found.get("errors", 0)
            return found.get("passed", 0), failed
    return None


def main(passed: int, failed: int, paths: list[str]) -> int:
    for path in paths:
        result = counts(Path(path).read_text(errors="replace"))
        if result is None:
            print(f"{path}: no closing line")
            failed += 1
            continue
        passed += result[0]
        failed += result[1]
        print(f"{Path(path).stem}: {result[0]} passed, {result[1]} failed")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
