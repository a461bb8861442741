"""The deployments of prefect.yaml, deployed to a real server and run by a worker."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from board_server import BoardServer, Reply
from conftest import SAMPLE

from flows.deployments import CHORE_FLOWS
from flows.lock import holding
from flows.registry import SOURCES
from flows.schedule import CHORES

pytestmark = pytest.mark.prefect
ROOT = Path(__file__).parents[2]
DEPLOYMENTS = {one["name"]: one for one in yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]}
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
(PAGE_BLOCK,) = re.findall(r"<!-- tested in tests/flows/test_deployments.py -->\n```console\n(.*?)```", PAGE, re.DOTALL)
PREFECT = [sys.executable, "-m", "prefect", "--no-prompt"]


def test_there_is_a_deployment_for_each_source_and_chore_as_the_registry_has_them() -> None:
    crons = {slug: source.schedule for slug, source in SOURCES.items()} | CHORES
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert set(DEPLOYMENTS) == set(crons)
    for name, one in DEPLOYMENTS.items():
        (schedule,) = one["schedules"]
        assert (schedule["cron"], schedule["timezone"], one["version"]) == (crons[name], "UTC", version)
        assert schedule.get("active", True) == (name in CHORE_FLOWS), "a source is read only where somebody says so"
        assert "kix" in one["tags"]


class Server:
    """A Prefect server to deploy to, from a process of its own."""

    def __init__(self, api: str, home: Path, board: BoardServer) -> None:
        self._api = api
        self._environment = dict(os.environ) | {
            "PREFECT_API_URL": api, "PREFECT_HOME": str(home / "prefect-client"), "KIX_HOME": str(home / "home"),
            "KIX_BASE_URLS": json.dumps({"sol-execbench": board.base_url}), "PYTHONPATH": str(ROOT),
        }  # fmt: skip

    def prefect(self, *arguments: str) -> str:
        done = subprocess.run(
            [*PREFECT, *arguments], cwd=ROOT, env=self._environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def ask(self, path: str, **body: Any) -> Any:
        request = urllib.request.Request(
            f"{self._api}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def deployed(prefect_api: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Everything deployed, and a sync that is done in part run by a worker."""
    with BoardServer(SAMPLE) as board:
        board.answer = lambda path, _n: Reply(404) if path.endswith("/kernels/3") else None
        server = Server(prefect_api, tmp_path_factory.mktemp("worker"), board)
        # As docs/operations.md has it, only that the worker is started last and ends when it has worked.
        commands = [shlex.split(line) for line in PAGE_BLOCK.splitlines()]
        for command in sorted(commands, key=lambda command: "worker" in command):
            once = ["--run-once"] if "worker" in command else []
            server.prefect(*(word for word in command[2:] if word != "--no-prompt"), *once)
        yield server


def test_they_are_described_and_their_parameters_typed(deployed: Server) -> None:
    pool = {"work_pools": {"name": {"any_": ["kix"]}}}
    found = {one["name"]: one for one in deployed.ask("/deployments/filter", **pool)}
    assert set(found) == set(DEPLOYMENTS)
    for name, one in found.items():
        wanted = DEPLOYMENTS[name]
        assert (one["description"], one["version"], one["tags"]) == (
            wanted["description"], wanted["version"], wanted["tags"],
        )  # fmt: skip
        assert not one["path"], "no path of the machine that deployed"
        for parameter in one["parameter_openapi_schema"]["properties"].values():
            assert parameter["description"].endswith(".")
            assert "type" in parameter or "anyOf" in parameter
    schema = found["sol-execbench"]["parameter_openapi_schema"]["properties"]
    assert schema["source"]["enum"] == list(SOURCES)
    assert schema["kernels"]["items"] == {"type": "string"}
    assert schema["full"]["type"] == "boolean"


def test_a_worker_runs_a_sync_to_an_end_of_its_own(deployed: Server) -> None:
    runs = deployed.ask(
        "/flow_runs/filter", work_pools={"name": {"any_": ["kix"]}}, flow_runs={"start_time": {"is_null_": False}}
    )
    (run,) = runs
    assert (run["state"]["type"], run["state"]["name"]) == ("COMPLETED", "Partial")
    assert "/kernels/3" in run["state"]["message"]
    assert run["deployment_version"] == DEPLOYMENTS["sol-execbench"]["version"]


def test_the_log_alone_says_what_happened(deployed: Server) -> None:
    pool = {"name": {"any_": ["kix"]}}
    (run,) = deployed.ask("/flow_runs/filter", work_pools=pool, flow_runs={"name": {"any_": ["sync sol-execbench"]}})
    logs = deployed.ask("/logs/filter", logs={"flow_run_id": {"any_": [run["id"]]}})
    text = "\n".join(one["message"] for one in logs)
    assert "sol-execbench: done in part. Read 13 kernels" in text
    assert "rejected:" in text
    assert "/kernels/3" in text


@pytest.fixture
def chore(
    prefect_api: str, sample_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], tuple[str, str]]]:
    """Runs a chore's flow here, on the sample, and returns the name and the words of its final state."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    def run(name: str) -> tuple[str, str]:
        state: Any = asyncio.run(CHORE_FLOWS[name](return_state=True))
        return state.name, state.message

    monkeypatch.setenv("KIX_HOME", str(sample_home))
    with temporary_settings({PREFECT_API_URL: prefect_api}):
        yield run


def test_a_proof_run_says_how_much_holds(chore: Callable[[str], tuple[str, str]]) -> None:
    name, words = chore("verify")
    assert name == "Completed"
    assert words.split()[0] == words.split()[2], words


def test_maintenance_leaves_a_busy_home_alone(chore: Callable[[str], tuple[str, str]], sample_home: Path) -> None:
    assert chore("maintenance")[0] == "Completed"
    with holding(sample_home, "kix sync sol-execbench", 1):
        name, words = chore("maintenance")
    assert (name, "in use by `kix sync sol-execbench`" in words) == ("Skipped", True), words


def test_an_export_is_a_snapshot_and_says_which(
    chore: Callable[[str], tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIX_EXPORT_DIR", str(tmp_path / "export"))
    name, words = chore("export")
    snapshot = json.loads((tmp_path / "export" / "latest.json").read_text(encoding="utf-8"))["snapshot"]
    assert (name, snapshot in words) == ("Completed", True), words
