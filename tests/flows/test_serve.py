"""`kix serve` and scheduled runs, as processes of their own against real Prefect servers."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from board_server import BoardServer, Reply
from conftest import KIX, SAMPLE, run_sync

from scrapers.archive import Archive
from scrapers.errors import SyncFailed

pytestmark = pytest.mark.prefect
SLUG = "sol-execbench"
NEVER = "0 0 1 1 *"
SCHEDULED_RUN = """
import asyncio, pathlib, sys
from flows.orchestrated import sync_flow
state = asyncio.run(sync_flow("sol-execbench", return_state=True))
pathlib.Path(sys.argv[1]).write_text(f"{state.name}: {state.message}")
"""


@pytest.fixture(scope="module")
def soak() -> ModuleType:
    """The soak of benchmarks/, whose parts tests use too."""
    path = Path(__file__).parents[2] / "benchmarks" / "soak.py"
    spec = importlib.util.spec_from_file_location("soak", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Gate:
    """Lets a board's answers through while it is open, and tells how many wait."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.waiting = 0
        self._open.set()

    def __call__(self, _path: str, _n: int) -> Reply | None:
        self.waiting += 1
        self._open.wait(120)
        self.waiting -= 1
        return None

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def board() -> Iterator[BoardServer]:
    with BoardServer(SAMPLE) as board:
        board.answer = gate = Gate()
        yield board
        gate.open()


def environment(home: Path, board: BoardServer, **more: str) -> dict[str, str]:
    schedules = {SLUG: NEVER, "export": "off", "verify": "off", "maintenance": "off"}
    kix = {
        "KIX_HOME": str(home), "KIX_SOURCES": SLUG, "KIX_SCHEDULES": json.dumps(schedules),
        "KIX_BASE_URLS": json.dumps({SLUG: board.base_url}), "KIX_LOCK_TIMEOUT_S": "0.5",
    }  # fmt: skip
    return dict(os.environ) | kix | more


def until(holds: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)


def statuses(home: Path) -> list[str]:
    try:
        with Archive(home / "archive.sqlite", read_only=True) as archive:
            return [sync.status for sync in archive.syncs()]
    except SyncFailed:  # it is not there yet
        return []


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def client_of(api: str) -> Iterator[Callable[[Any], Any]]:
    """Run something with a client of the server: `ask(lambda client: client.read_flow_run(id))`."""
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL, temporary_settings

    async def with_client(what: Callable[[Any], Any]) -> Any:
        async with get_client() as client:
            return await what(client)

    with temporary_settings({PREFECT_API_URL: api}):
        yield lambda what: asyncio.run(with_client(what))


async def _leave_behind(client: Any) -> tuple[UUID, UUID]:
    """What a `kix serve` leaves that was killed half an hour ago: runs that were missed, and one said to be running."""
    from prefect.states import Running

    from flows.deployments import deployment_of
    from flows.schedule import Job

    deployment = await (await deployment_of(Job(SLUG, "*/5 * * * *"))).aapply()
    now = datetime.now(UTC)
    span = {"start_time": (now - timedelta(minutes=31)).isoformat(), "end_time": now.isoformat()}
    await client.request("POST", "/deployments/{id}/schedule", path_params={"id": deployment}, json=span)
    run = await client.create_flow_run_from_deployment(deployment)
    await client.set_flow_run_state(run.id, Running(), force=True)
    return deployment, run.id


async def _states(client: Any, deployment: UUID, since: datetime) -> Counter[str]:
    """The states of a deployment's runs of this test: others may have used the server and the deployment before."""
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId

    these = DeploymentFilter(id=DeploymentFilterId(any_=[deployment]))
    runs = await client.read_flow_runs(deployment_filter=these)
    return Counter(run.state.name for run in runs if run.created >= since)


def test_it_makes_up_for_what_was_missed_once_and_stops_in_order(
    prefect_api: str, tmp_path: Path, board: BoardServer, soak: ModuleType
) -> None:
    """One story, because every start of Prefect takes seconds."""
    env, gate = environment(tmp_path, board, PREFECT_API_URL=prefect_api), board.answer
    since = datetime.now(UTC)
    with client_of(prefect_api) as ask:
        deployment, dead = ask(_leave_behind)
        log = tmp_path.with_suffix(".log")
        with log.open("wb") as file:
            serve = subprocess.Popen([*KIX, "serve"], env=env, stdout=file, stderr=file, start_new_session=True)
        try:
            until(lambda: statuses(tmp_path) == ["complete"])
            again = subprocess.run([*KIX, "serve"], env=env, capture_output=True, text=True, check=False)
            assert (again.returncode, f"process {serve.pid}" in again.stderr) == (1, True), again.stderr
            told = subprocess.run([*KIX, "status"], env=env, capture_output=True, text=True, check=True)
            assert f"served by  kix serve (process {serve.pid}" in told.stdout
            until(lambda: ask(lambda client: _states(client, deployment, since))["Completed"] == 1)
            found = ask(lambda client: _states(client, deployment, since))
            assert found["Coalesced"] >= 5
            assert set(found) <= {"Completed", "Coalesced", "Crashed", "Scheduled"}, found  # next year's is scheduled
            assert found["Scheduled"] <= 1
            assert ask(lambda client: client.read_flow_run(dead)).state.is_crashed()

            before = digest(tmp_path / "warehouse.duckdb")
            gate.close()  # type: ignore[union-attr]
            run = ask(lambda client: client.create_flow_run_from_deployment(deployment))
            until(lambda: statuses(tmp_path)[-1] == "running")
            below = list(soak.descendants(serve.pid))
            begun = time.monotonic()
            serve.terminate()
            serve.wait(30)
            assert time.monotonic() - begun < 10
            assert serve.returncode == 0
        finally:
            serve.kill()
            serve.wait()
        assert below
        assert not any(map(soak.alive, below))
        in_time = "kix serve: stopped" in log.read_text()
        assert in_time or "is cut off" in log.read_text()  # on a machine that has much else to do
        assert ask(lambda client: client.read_flow_run(run.id)).state.is_cancelled() or not in_time
    assert digest(tmp_path / "warehouse.duckdb") == before
    assert {path.name for path in tmp_path.iterdir()} <= {"archive.sqlite", "warehouse.duckdb", "sync.lock", "prefect"}
    gate.open()  # type: ignore[union-attr]
    assert run_sync(tmp_path, board.base_url).resumed, "the next sync goes on where it stopped"


def test_of_three_that_race_one_works_and_the_others_say_who(
    prefect_api: str, tmp_path: Path, board: BoardServer
) -> None:
    env, gate = environment(tmp_path, board, PREFECT_API_URL=prefect_api), board.answer
    gate.close()  # type: ignore[union-attr]
    state = tmp_path / "state.txt"
    commands = [[*KIX, "sync", SLUG], [*KIX, "sync", SLUG], [sys.executable, "-c", SCHEDULED_RUN, str(state)]]
    racers = [subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) for command in commands]
    try:
        until(lambda: sum(racer.poll() is not None for racer in racers) == 2)
        (winner,) = [racer for racer in racers if racer.poll() is None]
        gate.open()  # type: ignore[union-attr]
        words = [racer.communicate(timeout=60)[1] for racer in racers]
    finally:
        for racer in racers:
            racer.kill()
            racer.wait()
    told = state.read_text()
    owner = f"in use by `kix sync {SLUG}` (process {winner.pid} on "
    assert winner.returncode == 0
    for racer, said in zip(racers[:2], words, strict=False):
        assert racer is winner or (racer.returncode == 1 and owner in said), said
    assert told.startswith("Completed: " if racers[2] is winner else "Skipped: ")
    assert racers[2] is winner or owner in told
    assert statuses(tmp_path) == ["complete"]


@pytest.mark.replay
def test_a_short_soak(replay: Path, tmp_path: Path, soak: ModuleType) -> None:
    """Killed within its first sync, started again, and the board edited meanwhile."""
    holds = soak.soak(replay, tmp_path / "home", 0.2, ((), ("edit",)))
    assert all(holds.values()), f"{holds}\n{(tmp_path / 'home.log').read_text()[-4000:]}"


def test_a_wrong_setting_and_a_port_in_use_are_told_before_anything_starts(tmp_path: Path, board: BoardServer) -> None:
    def said(**more: str) -> tuple[int, str]:
        done = subprocess.run(
            [*KIX, "serve"], env=environment(tmp_path, board, **more), capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    code, words = said(KIX_SOURCES="nobody")
    assert (code, "nothing is called 'nobody'" in words) == (2, True), words
    code, words = said(KIX_SCHEDULES='{"sol-execbench": "every minute"}')
    assert (code, "the schedule of sol-execbench" in words) == (2, True), words
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, words = said(KIX_PREFECT_PORT=str(taken.getsockname()[1]), PREFECT_PROFILES_PATH=str(tmp_path / "none"))
    assert (code, "is in use" in words, "KIX_PREFECT_PORT" in words) == (1, True, True), words


@pytest.mark.parametrize("way", ["end_with_pipe", "end_with_parent"])
def test_what_it_started_ends_with_it(way: str, soak: ModuleType) -> None:
    child = f"import time; from flows import orphan; orphan.{way}(); print('ready', flush=True); time.sleep(99)"
    parent = (
        "import os, subprocess, sys, time; os.environ['KIX_SERVE_PID'] = str(os.getpid())\n"
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "child.stdout.readline(); print(child.pid, flush=True); time.sleep(99)"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        below = int(process.stdout.readline())
        assert soak.alive(below)
        process.send_signal(signal.SIGKILL)
        until(lambda: not soak.alive(below), 10)
