"""Twenty readers during ten syncs with an edit each: python benchmarks/readers.py [READERS] [SYNCS]

Each reader opens the published warehouse again and again, and holds what it sees against itself: one whole state after
the other, never back, every check. Ends with 1 when a reader or a sync failed, or a reader missed the last state.
"""

from __future__ import annotations

import collections
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from board_server import BoardServer  # noqa: E402  the tests' own
from kills import next_sync  # noqa: E402
from told import SOFTMAX, change, ranked  # noqa: E402

SAMPLE = ROOT / "scrapers" / "sol_execbench" / "sample"


def main(count: int, syncs: int) -> int:
    """Run them; print how many states each reader saw. Returns 1 when anything was not well."""
    with tempfile.TemporaryDirectory(prefix="kix-readers-") as folder, BoardServer(SAMPLE) as board:
        home, stop = Path(folder) / "home", Path(folder) / "stop"
        wrong = [next_sync(home, board.base_url)]
        command = [sys.executable, str(ROOT / "tests" / "readers.py"), str(home), str(stop)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        readers = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
            for _ in range(count)
        ]
        for number in range(syncs):
            begun = time.monotonic()
            change(board, SOFTMAX, ranked(SOFTMAX)[0]["id"], latency_ms=0.0312 + number / 1000)
            wrong.append(next_sync(home, board.base_url))
            print(f"sync {number + 2}: {wrong[-1] or 'complete'}, {time.monotonic() - begun:.1f} s", flush=True)
        stop.touch()
        states: collections.Counter[int] = collections.Counter()
        failed = 0
        for reader in readers:
            out, words = reader.communicate()
            seen = [int(line.split()[0]) for line in out.splitlines()]
            states[len(seen)] += 1
            if reader.returncode or not seen or seen[-1] != syncs + 1:
                failed += 1
                print(words)
    for number, many in sorted(states.items()):
        print(f"{many} readers saw {number} of {syncs + 1} states")
    print(f"{count - failed} of {count} readers well, {wrong.count(None)} of {syncs + 1} syncs complete")
    return 1 if failed or any(wrong) else 0


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:3]]
    raise SystemExit(main(*(numbers + [20, 10][len(numbers) :])))
