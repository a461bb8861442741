"""A `kill -9` at any step of a sync: what is published is whole, the next sync ends as if nothing had happened.

`benchmarks/sync_kills.py` does it at hundreds of moments, also within DuckDB's and SQLite's own writing.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from board_server import BoardServer
from kills import Scenario, command, faults, next_sync, start
from told import SOFTMAX, change, ranked

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for what is left in /proc")

SHARES = (0.35, 0.8, 0.97)
"""Where in a sync it is killed: while it fetches, while it loads, and while it publishes or closes."""


def edit(board: BoardServer) -> None:
    leader, second, *_, last = ranked(SOFTMAX)
    change(board, SOFTMAX, leader["id"], latency_ms=0.0312)
    change(board, SOFTMAX, second["id"], is_disqualified=True, disqualification_reason="stored output")
    board.edit(SOFTMAX, lambda items: [one for one in items if one["id"] != last["id"]])


@pytest.fixture(scope="module", params=["first", "edited"])
def scene(
    request: pytest.FixtureRequest, board_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scenario]:
    (before := tmp_path_factory.mktemp(request.param) / "before").mkdir()
    with BoardServer(board_folder) as board:
        if request.param == "edited":
            assert next_sync(before, board.base_url) is None
            edit(board)
        yield Scenario.of(before, board.base_url)


@pytest.mark.parametrize("share", SHARES)
def test_a_kill_leaves_a_whole_state_and_the_next_sync_ends_the_same(
    share: float, scene: Scenario, tmp_path: Path
) -> None:
    home = shutil.copytree(scene.before, tmp_path / "home")
    with start(command(home, scene.base_url, round(share * scene.steps))) as killed:
        _, words = killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL, words
    assert list(faults(home, scene, killed.pid)) == []
