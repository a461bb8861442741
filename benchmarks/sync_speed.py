"""What a sync costs beside the script that people have, on the same server, side by side in one run.

    python benchmarks/sync_speed.py --bench ../shared/bench --replay ../shared/replay/sol-execbench

Whole processes, taking turns: a first sync, the same again with nothing new, and `naive.py --client` twice (httpx,
pandas, DuckDB; no manifests, no digests, no checks). Medians of --rounds; time on the clock, processor time of the
process and its children, and the most memory they held together (resident, sampled). Needs the benchmark material
and a recorded board, and for these: uvloop, pandas.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

SAMPLED_EVERY_S = 0.02
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True)
class Cost:
    """What one process cost: seconds on the clock, seconds of processor, gigabytes at most."""

    wall_s: float
    cpu_s: float
    peak_gb: float


def children(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (thread / "children").read_text().split())
    return found


def resident(pid: int) -> int:
    """Return the bytes that a process and all below it hold in memory."""
    total = 0
    for one in children(pid):
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * PAGE
    return total


def cost_of(command: list[str]) -> Cost:
    """Run a command to its end."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        ended = threading.Event()

        def watch() -> None:
            nonlocal peak
            while not ended.wait(SAMPLED_EVERY_S):
                peak = max(peak, resident(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        _, words = process.communicate()
        wall = time.perf_counter() - begun
        ended.set()
        watcher.join()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{words}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu, peak / 1e9)


@contextlib.contextmanager
def serving(bench: Path, data: Path, port: int) -> Iterator[str]:
    """Play a folder as the leaderboard, pages of at most 50 as the real one sends them."""
    command = [
        sys.executable,
        str(bench / "fastserve.py"),
        "--data",
        str(data),
        "--port",
        str(port),
        "--max-limit",
        "50",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            base_url = f"http://127.0.0.1:{port}/api"
            for _ in range(600):
                with contextlib.suppress(URLError, ConnectionError), urlopen(f"{base_url}/kernels") as answer:
                    answer.read()
                    break
                time.sleep(0.1)
            yield base_url
        finally:
            server.kill()


def rounds(base_url: str, bench: Path, folder: Path, times: int, *, peers: bool) -> dict[str, list[Cost]]:
    """Run everything in turns."""
    kix = [sys.executable, "-m", "flows.cli", "sync", "sol-execbench", "--base-url", base_url, "--quiet", "--home"]
    costs: dict[str, list[Cost]] = {}
    for number in range(times):
        home, database = folder / f"home-{number}", folder / f"naive-{number}.duckdb"
        turns = {"kix": [*kix, str(home)]}
        if peers:
            turns["naive.py --client"] = [
                sys.executable, str(bench / "naive.py"), "--client", "--base", base_url, "--db", str(database),
            ]  # fmt: skip
        # Side by side, each first in every other round: a machine that grows slower wrongs neither.
        order = list(turns) if number % 2 == 0 else list(turns)[::-1]
        for what in ("first", "again"):
            for name in order:
                costs.setdefault(f"{name}, {what}", []).append(cost_of(turns[name]))
        shutil.rmtree(home)
        database.unlink(missing_ok=True)
    return costs


def row(name: str, submissions: int, costs: list[Cost], beside: list[Cost] | None) -> str:
    """Return a line of the table; the ratio is the median of each round's own."""
    wall = statistics.median(one.wall_s for one in costs)
    cpu = statistics.median(one.cpu_s for one in costs)
    peak = max(one.peak_gb for one in costs)
    ratio = ""
    if beside:
        of_rounds = [one.wall_s / other.wall_s for one, other in zip(costs, beside, strict=True)]
        ratio = f"{statistics.median(of_rounds):.2f} ({min(of_rounds):.2f} to {max(of_rounds):.2f})"
    each = wall / submissions * 1e6
    return f"| {submissions:,} | {name} | {wall:.2f} | {cpu:.2f} | {each:.0f} | {ratio} | {peak:.2f} |"


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=Path, required=True, help="folder of fastserve.py, naive.py and scale.py")
    parser.add_argument("--replay", type=Path, required=True, help="folder of the recorded board")
    parser.add_argument("--factors", type=int, nargs="+", default=[1, 100], help="times the recorded submissions")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true", help="without naive.py")
    parser.add_argument("--port", type=int, default=8911)
    options = parser.parse_args()
    print("| submissions | what | s | processor s | µs each | times naive.py | GB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for factor in options.factors:
        with tempfile.TemporaryDirectory(prefix="sync-speed-") as name:
            folder = Path(name)
            scale = [sys.executable, str(options.bench / "scale.py"), "--src", str(options.replay)]
            command = [*scale, "--out", str(folder / "board"), "--factor", str(factor)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            with serving(options.bench, folder / "board", options.port) as base_url:
                costs = rounds(base_url, options.bench, folder, options.rounds, peers=not options.no_peers)
            for path in folder.rglob("*"):
                path.chmod(0o755 if path.is_dir() else 0o644)  # a read-only recording is copied with its modes
        for which, measured in costs.items():
            beside = costs.get(which.replace("kix", "naive.py --client")) if which.startswith("kix") else None
            print(row(which, 524 * factor, measured, beside), flush=True)


if __name__ == "__main__":
    main()
