"""What tests share: the seeds, the recorded leaderboard where it is, and synced homes."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from flows.registry import SOURCES
from flows.report import Report
from flows.settings import Settings
from flows.sync import Request, sync
from scrapers.contract import Scope

TESTS = Path(__file__).parent
REPLAY = TESTS.parent.parent / "shared" / "replay" / "sol-execbench"
SAMPLE = TESTS.parent / "scrapers" / "sol_execbench" / "sample"
SOURCE = SOURCES["sol-execbench"]
KIX = (sys.executable, "-m", "flows.cli")
"""The command, for a process of its own."""


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the machine's own settings and home out of the tests."""
    for name in [name for name in os.environ if name.startswith("KIX_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("KIX_HOME", str(tmp_path / "unused-home"))


@pytest.fixture(scope="session")
def seeds() -> dict[str, Any]:
    """The `{run, protocol, environment}` documents of the two published run pages, by submission id."""
    folder = TESTS / "fixtures" / "seeds"
    return {name: json.loads((folder / f"run-{name}.json").read_text(encoding="utf-8")) for name in ("3483", "27772")}


def run_sync(home: Path, base_url: str | None = None, *, scope: Scope | None = None, **changes: Any) -> Report:
    """Sync into `home` in this process; `changes` are fields of the request or settings."""
    request = {name: changes.pop(name) for name in ("mode", "dry_run") if name in changes}
    settings = Settings(home=home, **{"lock_timeout_s": 5, "max_wait_s": 5, **changes})
    return asyncio.run(sync(SOURCE, Request(scope or Scope(), base_url, **request), settings))


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the bundled sample, synced once; tests only read it."""
    home = tmp_path_factory.mktemp("sample")
    assert run_sync(home, mode="sample").status == "complete"
    return home


@pytest.fixture(scope="session")
def prefect_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prefect server with a database of its own, started as `kix serve` does; shared by all tests."""
    from flows.prefect_server import own_server

    with own_server(tmp_path_factory.mktemp("prefect"), None) as (url, _):
        yield url


Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="session")
def replay() -> Path:
    """The folder of the recorded leaderboard; skips where it is not."""
    if not (REPLAY / "serve.py").exists():
        pytest.skip("the recorded leaderboard (../shared/replay) is not beside this checkout")
    return REPLAY


@pytest.fixture(scope="session")
def serve(replay: Path) -> Serve:
    """Plays the recorded leaderboard: `with serve("--hazard", "edit") as base_url`."""

    @contextmanager
    def serving(*options: str) -> Iterator[str]:
        command = [sys.executable, str(replay / "serve.py"), "--port", "0", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            assert server.stdout is not None
            try:
                line = next(line for line in server.stdout if line.startswith("serving "))
                yield line.split()[1]
            finally:
                server.kill()

    return serving


@pytest.fixture(scope="session")
def replay_home(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the recorded leaderboard, synced once; tests only read it."""
    home = tmp_path_factory.mktemp("replay")
    with serve() as base_url:
        assert run_sync(home, base_url).status == "complete"
    return home


@pytest.fixture(scope="session")
def expected(replay: Path) -> Callable[[str], list[dict[str, str]]]:
    """Reads one of the recorded leaderboard's files of expected values."""

    def read(name: str) -> list[dict[str, str]]:
        with (replay / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    return read
