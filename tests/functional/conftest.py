"""Fixtures of the functional tests: a site (heddled with its stations), and what must be true at the
end of every test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from lab import shell
from lab.daemon import HEDDLE, HEDDLED, Daemon
from lab.netns import Lab
from lab.site import Site


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", default="0/1", metavar="K/N",
                     help="only every Nth test, from the Kth on")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    first, step = map(int, config.getoption("--part").split("/"))
    items[:] = items[first::step]


def pytest_configure(config: pytest.Config) -> None:
    for program in (HEDDLED, HEDDLE):
        if not program.exists():
            pytest.exit(f"{program} is not built: ./dev build", returncode=2)
    shell.raise_on_sigterm()


@pytest.fixture
def lab() -> Iterator[Lab]:
    """Namespaces and links, removed afterwards."""
    with Lab() as made:
        yield made


@pytest.fixture
def idle_daemon() -> Iterator[Daemon]:
    """A heddled that has not been started: for tests of starting and stopping."""
    daemon = Daemon()
    yield daemon
    reports = daemon.sanitizer_reports()
    daemon.close()
    assert not reports, reports


@contextlib.contextmanager
def running_site() -> Iterator[Site]:
    """A running heddled and the means to connect stations to it. Afterwards every frame must be
    accounted for, every buffer be back, the daemon end cleanly and leave no device behind."""
    with Lab() as lab, contextlib.closing(Daemon()) as daemon:
        daemon.start()
        site = Site(lab, daemon)
        yield site
        site.close_links()
        site.verify_accounts()
        site.verify_clean_stop()


@pytest.fixture
def site() -> Iterator[Site]:
    """A site of the test's own."""
    with running_site() as made:
        yield made


@pytest.fixture(scope="module")
def shared_site() -> Iterator[Site]:
    """A site for tests that change nothing in it."""
    with running_site() as made:
        yield made


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Shows the daemon's log beside a failure."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    arguments = getattr(item, "funcargs", {})
    made = arguments.get("site") or arguments.get("shared_site")
    if report.failed and made is not None:
        log = made.daemon.log()
        report.sections.append(("heddled's log", "\n".join(log.splitlines()[-60:])))
