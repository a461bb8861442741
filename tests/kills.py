"""Kills a sync at a moment, and says what was not well afterwards. For the short test and the long benchmark."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb
from conftest import SOURCE, TESTS

from flows.settings import Settings
from flows.sync import Request, sync
from flows.verify import verify
from warehouse.connection import published_path, reading
from warehouse.migrations import literal
from warehouse.proof import NOT_COMPARED, table_differences
from warehouse.query import published_syncs

KILLED_KIX = (sys.executable, str(TESTS / "killed_kix.py"))
OF_THE_MOMENT = frozenset({"fetch_id", "fetched_at", "started_at", "at", "applied_at"})
"""Columns that two syncs of the same board differ in."""

USUAL = {"archive.sqlite", "archive.sqlite-shm", "archive.sqlite-wal", "sync.lock", published_path(Path()).name}
"""Files of a home at rest."""

GONE_WITHIN_S = 15.0
"""How long what a killed sync started may live on."""


@dataclass
class Scenario:
    """A home as it is before the killed sync, and as it is after syncs that nobody killed."""

    before: Path
    base_url: str
    once: Path
    steps: int

    @classmethod
    def of(cls, before: Path, base_url: str) -> Scenario:
        """Sync a copy of `before`, and count the steps of that."""
        once = shutil.copytree(before, before.with_name("once"))
        return cls(before, base_url, once, count_steps(once, base_url))

    @cached_property
    def twice(self) -> Path:
        """As it is after another sync: a sync that was killed when it had published is followed by one of its own."""
        twice = shutil.copytree(self.once, self.before.with_name("twice"))
        assert next_sync(twice, self.base_url) is None
        return twice


def next_sync(home: Path, base_url: str) -> str | None:
    """Sync in this process. Returns what went wrong, None when it is complete."""
    report = asyncio.run(sync(SOURCE, Request(base_url=base_url), Settings(home=home, lock_timeout_s=5)))
    return None if report.status == "complete" else f"the next sync: {report.status}, {report.error}, {report.rejects}"


def command(home: Path, base_url: str, step: int, *before: str) -> list[str]:
    """The command line of a sync that dies before its `step`-th step; 0 for one that lives, after `before`."""
    arguments = ("sync", "sol-execbench", "--base-url", base_url, "--home", str(home), "--quiet")
    return [*before, *KILLED_KIX, str(step), *arguments]


def start(arguments: list[str]) -> subprocess.Popen[str]:
    """Start a process in a session of its own, so that what it leaves behind can be found."""
    environment = os.environ | {"PYTHONPATH": str(TESTS.parent)}
    return subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )


def count_steps(home: Path, base_url: str) -> int:
    """How many steps a sync of `home` has; it is carried out."""
    with start(command(home, base_url, 0)) as whole:
        _, words = whole.communicate(timeout=300)
    assert whole.returncode == 0, words
    return int(words.split()[-1])


def of_session(session: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its = path.read_text(encoding="utf-8").rpartition(")")[2].split()[:4]
        except OSError:  # it ended meanwhile
            continue
        if int(its) == session and state not in "ZX":
            found.append(int(path.parent.name))
    return found


def faults(home: Path, scene: Scenario, session: int) -> Iterator[str]:
    """Yield what is not well after a sync of `home` was killed; the next one is run."""
    yield from _still_at_work(session)
    left, there = (published_path(one).read_bytes() if published_path(one).exists() else None
                   for one in (home, scene.before))  # fmt: skip
    done = _published(home) - _published(scene.before)
    if left is None and there is not None:
        yield "the warehouse that was there is gone"
    elif left != there:
        yield from _broken(home)
    if done and (said := _differences(home, scene.once)):
        yield f"published, but not whole: {said}"
    if wrong := next_sync(home, scene.base_url):
        yield wrong
        return
    yield from _broken(home)
    if said := _differences(home, scene.twice if done else scene.once):
        yield f"the end is another: {said}"
    if left := {path.name for path in home.iterdir()} - USUAL:
        yield f"left in the home: {sorted(left)}"


def _still_at_work(session: int) -> Iterator[str]:
    deadline = time.monotonic() + GONE_WITHIN_S
    while (alive := of_session(session)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for one in alive:
        yield f"process {one} of the killed sync goes on"
        os.kill(one, signal.SIGKILL)


def _published(home: Path) -> int:
    if not published_path(home).exists():
        return 0
    with reading(home) as db:
        return len(published_syncs(db))


def _broken(home: Path) -> list[str]:
    async def proofs() -> list[str]:
        found = verify(Settings(home=home))
        return [f"{proof.what}: {proof.examples}" async for proof in found if not proof.holds]

    return asyncio.run(proofs())


def _differences(home: Path, other: Path) -> list[str]:
    """How the published state of two homes differs, but for when things were done."""
    said = []
    with duckdb.connect(published_path(home), read_only=True) as db:
        db.execute(f"ATTACH {literal(str(published_path(other)))} AS made (READ_ONLY)")
        tables = db.execute(
            "SELECT table_name, list(column_name) FROM duckdb_columns() SEMI JOIN duckdb_tables()"
            " USING (database_name, table_name) WHERE database_name = current_database() GROUP BY ALL"
        ).fetchall()
        for table, columns in tables:
            compared = [one for one in columns if one not in OF_THE_MOMENT]
            if table == "syncs":
                compared.remove("finished_at")
            if table == "fetches":
                continue
            if table not in NOT_COMPARED and (one := table_differences(db, table, compared, ("here", "wanted"))):
                said.append(f"{table}: {one}")
        # Each process of a sync asks for robots.txt; every other answer is asked for once.
        said += map(str, db.execute(f"({ANSWERS.format('main')}) EXCEPT ALL ({ANSWERS.format('made')})").fetchall())
        said += map(str, db.execute(f"({ANSWERS.format('made')}) EXCEPT ALL ({ANSWERS.format('main')})").fetchall())
    return said


ANSWERS = "SELECT DISTINCT sync_id, url, status, body_digest FROM {}.fetches"
