"""A sync as a Prefect flow, against a real Prefect server with a database of its own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from board_server import BoardServer, Reply
from conftest import SAMPLE, SOURCE, run_sync

from flows.lock import HomeBusy, holding
from flows.settings import Settings
from flows.sync import Request

pytestmark = [
    pytest.mark.prefect,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # sockets that Prefect leaves open
]


@pytest.fixture(scope="module")
def server(prefect_api: str) -> Iterator[None]:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    import flows.orchestrated  # noqa: F401  sets Prefect's telemetry off before Prefect is imported

    with temporary_settings({PREFECT_API_URL: prefect_api}):
        yield


def flow_sync(home: Path, base_url: str, **settings: Any) -> Any:
    from flows.orchestrated import sync_as_flow

    return asyncio.run(sync_as_flow(SOURCE, Request(base_url=base_url), Settings(home=home, **settings)))


async def _seen(tasks_wanted: int = 3) -> tuple[Any, list[Any], list[Any]]:
    """The newest flow run, its task runs and its artifacts, once the server has written them all down."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import (
        ArtifactFilter,
        ArtifactFilterFlowRunId,
        FlowRunFilter,
        FlowRunFilterId,
        FlowRunFilterStartTime,
    )
    from prefect.client.schemas.sorting import FlowRunSort

    async with get_client() as client:
        begun = FlowRunFilter(start_time=FlowRunFilterStartTime(is_null_=False))
        (run,) = await client.read_flow_runs(flow_run_filter=begun, sort=FlowRunSort.START_TIME_DESC, limit=1)
        deadline = time.monotonic() + 20
        while True:
            tasks = await client.read_task_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run.id])))
            ended = [task for task in tasks if task.state and task.state.is_final()]
            if len(ended) >= tasks_wanted or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.2)
        artifacts = await client.read_artifacts(
            artifact_filter=ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run.id]))
        )
    return run, ended, artifacts


def runs_of(home: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(home / "warehouse.duckdb", read_only=True) as db:
        return db.execute("SELECT run_digest, comparison_key FROM runs ORDER BY 1").fetchall()


def test_the_run_its_tasks_and_its_report_are_there(server: None, tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        report = flow_sync(tmp_path / "flow", board.base_url)
        run_sync(tmp_path / "direct", board.base_url)
    assert report.status == "complete"
    run, tasks, artifacts = asyncio.run(_seen())
    assert run.name == "sync sol-execbench"
    assert run.state.is_completed()
    assert {task.name.rpartition("-")[0] or task.name for task in tasks} == {
        "read the index of sol-execbench", "fetch kernels 1 to 13 of 13", "load",
    }  # fmt: skip
    (artifact,) = artifacts
    assert artifact.key == "sync-sol-execbench"
    assert f"Sync {report.sync_id} of sol-execbench: complete" in artifact.data
    assert runs_of(tmp_path / "flow") == runs_of(tmp_path / "direct")


def test_a_sync_in_part_ends_as_such(server: None, tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        board.answer = lambda path, _n: Reply(404) if path.endswith("/kernels/3") else None
        assert flow_sync(tmp_path, board.base_url).status == "partial"
    run, _, (artifact,) = asyncio.run(_seen())
    assert (run.state.name, run.state.is_completed()) == ("Partial", True)
    assert "/kernels/3" in artifact.data


def test_a_failed_sync_is_a_failed_run(server: None, tmp_path: Path) -> None:
    with BoardServer(SAMPLE) as board:
        board.answer = lambda _path, _n: Reply(404)
        assert flow_sync(tmp_path, board.base_url).status == "failed"
    run, _, _ = asyncio.run(_seen(1))
    assert run.state.is_failed()


def test_a_busy_home_is_told(server: None, tmp_path: Path) -> None:
    with holding(tmp_path, "kix sync elsewhere", 1), pytest.raises(HomeBusy, match="kix sync elsewhere"):
        flow_sync(tmp_path, "http://127.0.0.1:9/api", lock_timeout_s=0.1)


def test_the_command_without_prefect_does_not_import_it(tmp_path: Path) -> None:
    code = (
        "import sys; from click.testing import CliRunner; from flows.cli import main;"
        f"r = CliRunner().invoke(main, ['sync', '--sample', '--home', {str(tmp_path)!r}]);"
        "assert r.exit_code == 0, r.output; assert 'prefect' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
