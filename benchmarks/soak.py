"""Soak `kix serve`: a schedule of every minute against the recorded leaderboard, which changes; a kill -9; a restart.

    python benchmarks/soak.py --replay ../shared/replay/sol-execbench --minutes 10

Says what holds and ends with 1 when something does not: no overlap, no gap, the history as the replay's hazards imply,
artifacts and events there, an end within ten seconds, nothing left running. Everything is on loopback.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

PHASES: tuple[tuple[str, ...], ...] = ((), ("edit",), ("vanish",), ())
SLUG = "sol-execbench"
END_WITHIN_S = 10.0
GAP_S = 150.0
"""A minute of schedule, and the time a restart and a sync take on a busy machine."""


class Board:
    """The replay server on one port, restarted with other hazards."""

    def __init__(self, folder: Path) -> None:
        self._script = folder / "serve.py"
        self._process: subprocess.Popen[str] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self._port}/benchmarks/sol-execbench/api"

    def play(self, hazards: tuple[str, ...]) -> None:
        """Serve the board with these hazards from now on."""
        self.close()
        command = [sys.executable, str(self._script), "--port", str(self._port)]
        command += [option for hazard in hazards for option in ("--hazard", hazard)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        next(line for line in self._process.stdout if line.startswith("serving "))

    def affected(self, hazard: str) -> set[str]:
        """Submissions that a hazard touches."""
        command = [sys.executable, str(self._script), "--hazard", hazard, "--affected"]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[hazard]
        return {str(one["id"] if isinstance(one, dict) else one) for one in found}

    def close(self) -> None:
        """Stop serving."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()


class Serve:
    """A `kix serve` of a home, which can be killed and started again."""

    def __init__(self, home: Path, base_url: str, verify: str) -> None:
        self.home = home
        schedules = {SLUG: "* * * * *", "export": "off", "verify": verify, "maintenance": "off"}
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")} | {
            "KIX_SOURCES": SLUG, "KIX_SCHEDULES": json.dumps(schedules), "KIX_BASE_URLS": json.dumps({SLUG: base_url}),
            "PREFECT_PROFILES_PATH": str(home / "no-profiles.toml"),
        }  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; its log is beside its home."""
        with self.home.with_suffix(".log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "flows.cli", "serve", "--home", str(self.home)],
                env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def end(self, number: signal.Signals) -> tuple[float, list[int]]:
        """Send the signal. Returns the seconds until it was gone, and which of its children are there after that."""
        assert self._process is not None
        below = list(descendants(self._process.pid))
        begun = time.monotonic()
        self._process.send_signal(number)
        self._process.wait(60)
        took = time.monotonic() - begun
        while any(map(alive, below)) and time.monotonic() - begun < END_WITHIN_S:
            time.sleep(0.05)
        return took, [pid for pid in below if alive(pid)]

    def api(self, path: str, body: Any) -> Any:
        """Ask its Prefect server."""
        url = json.loads((self.home / "prefect" / "server.json").read_text())["url"]
        request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes below a process."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    for child in map(int, path.read_text().split()) if path.exists() else ():
        yield child
        yield from descendants(child)


def alive(pid: int) -> bool:
    """Whether a process runs, and is no mere entry that waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def syncs(home: Path) -> list[tuple[datetime, datetime | None, str]]:
    """When each sync of the home began and ended, and how."""
    path = home / "archive.sqlite"
    if not path.exists():
        return []
    with sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=10) as db:
        try:
            rows = db.execute("SELECT started_at, finished_at, status FROM syncs ORDER BY sync_id").fetchall()
        except sqlite3.OperationalError:  # it is being made
            rows = []
    db.close()
    return [
        (datetime.fromisoformat(begun), datetime.fromisoformat(ended) if ended else None, how)
        for begun, ended, how in rows
    ]


def wait_for(what: str, holds: Any, seconds: float = 240) -> None:
    """Wait until it holds. Raises `TimeoutError`."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come about within {seconds:g} s")
        time.sleep(0.1)


def begun_in(home: Path, since: float) -> list[str]:
    """How the syncs ended that began after a moment."""
    return [how for begun, _, how in syncs(home) if begun.timestamp() >= since]


def run(serve: Serve, board: Board, phases: tuple[tuple[str, ...], ...], seconds: float) -> list[int]:
    """Let the board change while it is served; kill -9 within a sync in the middle. Returns what was left running."""
    left: list[int] = []
    for place, hazards in enumerate(phases):
        board.play(hazards)
        begun = time.time()
        if place == 0:
            serve.start()
        if place == len(phases) // 2:
            wait_for("a sync under way", lambda since=begun: begun_in(serve.home, since)[-1:] == ["running"])
            left = serve.end(signal.SIGKILL)[1]
            serve.start()
        wait_for("a sync that began in this phase", lambda since=begun: "complete" in begun_in(serve.home, since))
        time.sleep(max(0.0, begun + seconds / len(phases) - time.time()))
    return left


def events_wanted(board: Board, phases: tuple[tuple[str, ...], ...]) -> Counter[tuple[str, str]]:
    """The lifecycle events that the phases imply, by submission."""
    wanted: Counter[tuple[str, str]] = Counter()
    for before, after in itertools.pairwise(phases):
        if "edit" in before:
            wanted.update((one, event) for one in board.affected("edit") for event in ("superseded", "reinstated"))
        if "edit" in after:
            wanted.update((one, "superseded") for one in board.affected("edit"))
        if "vanish" in before:
            wanted.update((one, "reinstated") for one in board.affected("vanish"))
        if "vanish" in after:
            wanted.update((one, "withdrawn") for one in board.affected("vanish"))
    return wanted


def events_found(home: Path) -> Counter[tuple[str, str]]:
    """The lifecycle events that the warehouse tells."""
    import duckdb

    with duckdb.connect(home / "warehouse.duckdb", read_only=True) as db:
        return Counter(db.execute("SELECT external_id, event FROM lifecycle JOIN runs USING (run_digest)").fetchall())


def seen(serve: Serve) -> dict[str, int]:
    """Count artifacts by type, flow runs by final state, and kix's events, in Prefect."""
    found = Counter(f"artifact {one['type']}" for one in serve.api("/artifacts/filter", {"limit": 200}))
    runs = serve.api("/flow_runs/filter", {"limit": 200, "flow_runs": {"start_time": {"is_null_": False}}})
    found.update(f"run {one['state_name']}" for one in runs)
    for name in ("kix.sync.completed", "kix.record.new", "prefect.asset.materialization.succeeded"):
        found[name] = serve.api("/events/filter", {"filter": {"event": {"name": [name]}}, "limit": 1})["total"]
    return dict(found)


def checked(home: Path, counts: dict[str, int], wanted: Counter[tuple[str, str]]) -> dict[str, bool]:
    """What holds of what was to be shown."""
    all_syncs = syncs(home)
    ended = [(begun, end) for begun, end, _ in all_syncs if end is not None]
    overlaps = [one for one, two in itertools.pairwise(ended) if two[0] < one[1]]
    gaps = [(two[0] - one[1]).total_seconds() for one, two in itertools.pairwise(ended)]
    complete = sum(how == "complete" for _, _, how in all_syncs)
    print(f"{len(all_syncs)} syncs, {complete} complete; longest pause between two {max(gaps, default=0):.0f} s")
    return {
        "no overlap": not overlaps,
        "no gap": max(gaps, default=0) <= GAP_S,
        "every sync ended, none failed": {how for _, _, how in all_syncs} <= {"complete", "partial"},
        "the history is what the hazards imply": events_found(home) == wanted,
        "a report for each sync": counts.get("artifact markdown", 0) >= complete,
        "a table of records": counts.get("artifact table", 0) >= 1,
        "an event for each sync": counts["kix.sync.completed"] >= complete,
        "an event for new records": counts["kix.record.new"] >= 1,
        "assets": counts["prefect.asset.materialization.succeeded"] >= 2 * complete,
        "no run is left running": counts.get("run Running", 0) == 0,
    }


@contextmanager
def soaking(replay: Path, home: Path, verify: str) -> Iterator[tuple[Serve, Board]]:
    """Yield a board and a `kix serve` of it, and end both."""
    board = Board(replay)
    serve = Serve(home, board.base_url, verify)
    try:
        yield serve, board
    finally:
        board.close()
        serve.end(signal.SIGKILL)


def soak(replay: Path, home: Path, minutes: float, phases: tuple[tuple[str, ...], ...] = PHASES) -> dict[str, bool]:
    """Run it all and return what holds."""
    with soaking(replay, home, "*/4 * * * *" if minutes >= 4 else "off") as (serve, board):
        left = run(serve, board, phases, minutes * 60)
        wait_for("quiet", lambda: [how for _, _, how in syncs(home)][-1] != "running")
        time.sleep(6)  # Prefect writes events down in its own time
        counts = seen(serve)
        took, after = serve.end(signal.SIGTERM)
        print(f"SIGTERM: gone after {took:.1f} s; seen in Prefect: {counts}")
        holds = checked(home, counts, events_wanted(board, phases))
        return holds | {
            "nothing is left of the killed one": not left,
            "ends in time": took < END_WITHIN_S and not after,
        }


def main() -> int:
    """Soak and say what holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replay", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is ended then too
    with tempfile.TemporaryDirectory(prefix="kix-soak-") as folder:
        holds = soak(options.replay, Path(folder) / "home", options.minutes)
        for what, does in holds.items():
            print("holds " if does else "BROKEN", what)
        if not all(holds.values()):
            print((Path(folder) / "home.log").read_text()[-6000:])
    return 0 if all(holds.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
