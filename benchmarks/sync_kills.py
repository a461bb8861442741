"""Kills `kix sync` with `kill -9` at moments spread over its run, and says what was left.

    python benchmarks/sync_kills.py [--kills 200] [--replay ../shared/replay/sol-execbench]

First syncs, unchanged ones and ones with edits, in turn, against a board on loopback: the bundled sample, or the
recorded leaderboard. A third of the kills come at a step of the command's own (a file opened or renamed, a statement of
SQLite), a third at a system call that writes (with strace, where that is), a third at a random time. Every other one of
these takes the parent alone: nothing that it started may go on.

After each kill: the published warehouse opens and proves itself, the next sync completes, and the end is that of syncs
which nobody killed, table by table. Ends with 1 when anything was not well.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from board_server import BoardServer  # noqa: E402  the tests' own
from kills import Scenario, command, faults, next_sync, start  # noqa: E402
from soak import Board  # noqa: E402
from told import SOFTMAX, change, ranked  # noqa: E402

SAMPLE = ROOT / "scrapers" / "sol_execbench" / "sample"
CALLS = ("pwrite64", "write", "fsync", "fdatasync", "rename", "unlink", "ftruncate", "chmod", "flock")
"""System calls that change what is on the disk, and the lock."""


@contextmanager
def sample_board(*, edited: bool) -> Iterator[tuple[str, object]]:
    """The bundled sample; calling what comes second makes the edits."""
    with BoardServer(SAMPLE) as board:

        def edit() -> None:
            leader, second, *_, last = ranked(SOFTMAX)
            change(board, SOFTMAX, leader["id"], latency_ms=0.0312)
            change(board, SOFTMAX, second["id"], is_disqualified=True, disqualification_reason="stored output")
            board.edit(SOFTMAX, lambda items: [one for one in items if one["id"] != last["id"]])

        yield board.base_url, edit if edited else lambda: None


@contextmanager
def replay_board(folder: Path, *, edited: bool) -> Iterator[tuple[str, object]]:
    """The recorded leaderboard; calling what comes second makes the edits."""
    board = Board(folder)
    try:
        board.play(())
        yield board.base_url, lambda: board.play(("edit",)) if edited else None
    finally:
        board.close()


@dataclass(frozen=True)
class Moment:
    """When a sync is killed: before a step of its own, at a system call (name, which one), or after seconds."""

    step: int = 0
    call: tuple[str, int] | None = None
    after_s: float | None = None

    def __str__(self) -> str:
        if self.call:
            return f"{self.call[0]} {self.call[1]}"
        return f"step {self.step}" if self.step else f"{self.after_s:.2f} s"

    def before(self) -> tuple[str, ...]:
        """What the command line begins with."""
        if self.call is None:
            return ()
        name, number = self.call
        watched = ("-e", f"trace={name}", "-e", f"inject={name}:signal=KILL:when={number}")
        return ("strace", "-qq", "-o", os.devnull, *watched)


class Scene:
    """A scenario with how long its sync takes and which calls it makes."""

    def __init__(self, name: str, made: Scenario, folder: Path) -> None:
        self.name, self.made, self._folder = name, made, folder
        home = shutil.copytree(made.before, folder / "timed")
        begun = time.monotonic()
        with start(command(home, made.base_url, 0)) as whole:
            whole.communicate()
        self.whole_s = time.monotonic() - begun
        self.calls = self._calls() if shutil.which("strace") else []

    def _calls(self) -> list[tuple[str, int]]:
        """List the calls of the main thread in order, each with its number among those of its name."""
        home, log = shutil.copytree(self.made.before, self._folder / "traced"), self._folder / "calls"
        tracing = ("strace", "-qq", "-o", str(log), "-e", "trace=" + ",".join(CALLS))
        with start(command(home, self.made.base_url, 0, *tracing)) as whole:
            whole.communicate()
        numbers: collections.Counter[str] = collections.Counter()
        found = []
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            name = line.partition("(")[0]
            if name in CALLS:
                numbers[name] += 1
                found.append((name, numbers[name]))
        return found

    def moments(self, count: int, chance: random.Random) -> list[Moment]:
        """Choose moments spread evenly over the steps and calls, and at random over the time."""
        shares = [(number + chance.random()) / count for number in range(count)]
        chosen = []
        for number, share in enumerate(shares):
            if number % 3 == 0:
                chosen.append(Moment(step=1 + int(share * self.made.steps)))
            elif number % 3 == 1 and self.calls:
                chosen.append(Moment(call=self.calls[int(share * len(self.calls))]))
            else:
                chosen.append(Moment(after_s=(0.3 + 0.7 * share) * self.whole_s))
        return chosen


def killed(home: Path, scene: Scene, moment: Moment, *, group: bool) -> tuple[bool, int]:
    """Kill a sync of `home`. Returns whether it died of it (it may have been faster), and its session."""
    with start(command(home, scene.made.base_url, moment.step, *moment.before())) as run:
        if moment.after_s is not None:
            time.sleep(moment.after_s)
            (os.killpg if group else os.kill)(run.pid, signal.SIGKILL)
        run.communicate()
    return run.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), run.pid


def how_far(home: Path, before: Path) -> str:
    """Say in words how far the killed sync had come."""
    working = home / "warehouse.working.duckdb"
    published, old = home / "warehouse.duckdb", before / "warehouse.duckdb"
    if published.exists() and (not old.exists() or published.read_bytes() != old.read_bytes()):
        return "published"
    if working.exists():
        return f"loading, {working.stat().st_size / 1e6:.1f} MB aside"
    return "fetching" if (home / "sync.lock").exists() else "starting"


def main(kills: int, replay: Path | None, seed: int) -> int:
    """Kill `kills` syncs; print how each went. Returns 1 when anything was not well."""
    chance, bad, far = random.Random(seed), 0, collections.Counter[str]()
    for name in ("first", "unchanged", "edited"):
        with tempfile.TemporaryDirectory(prefix="kix-kills-") as kept:
            folder = Path(kept)
            (before := folder / "before").mkdir()
            board = replay_board(replay, edited=name == "edited") if replay else sample_board(edited=name == "edited")
            with board as (base_url, edit):
                if name != "first":
                    assert next_sync(before, base_url) is None
                edit()
                scene = Scene(name, Scenario.of(before, base_url), folder)
                print(f"{name}: a whole sync takes {scene.whole_s:.2f} s, {scene.made.steps} steps,"
                      f" {len(scene.calls)} calls that write", flush=True)  # fmt: skip
                groups = itertools.cycle((True, False))
                for moment, group in zip(scene.moments(-(-kills // 3), chance), groups, strict=False):
                    home = shutil.copytree(before, folder / "home")
                    died, session = killed(home, scene, moment, group=group)
                    state = how_far(home, before) if died else "ended first"
                    found = list(faults(home, scene.made, session)) if died else []
                    bad += bool(found)
                    far[state.partition(",")[0]] += 1
                    print(f"  {moment!s:16} {state:28} {'; '.join(found) or 'well'}", flush=True)
                    shutil.rmtree(home)
    print(f"{sum(far.values()) - bad} of {sum(far.values())} well: " + ", ".join(f"{n} {w}" for w, n in far.items()))
    return 1 if bad else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--replay", type=Path, help="the folder of the recorded leaderboard")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    raise SystemExit(main(given.kills, given.replay, given.seed))
