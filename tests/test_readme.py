"""What the README says works: its marked commands and queries run, on the bundled sample."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import run_sync
from snapshots import exported as run_export

from flows.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"<!-- tested[^>]*-->\n```(console|sql|python)\n(.*?)```", re.DOTALL)
COMMANDS = [
    line.removeprefix("$ ")
    for kind, text in BLOCK.findall(README)
    if kind == "console"
    for line in text.splitlines()
    if line.startswith("$ kix ")
]
QUERIES = [text for kind, text in BLOCK.findall(README) if kind == "sql"]
SCRIPTS = [text for kind, text in BLOCK.findall(README) if kind == "python"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    run_sync(folder / "demo" / "sample", mode="sample")
    # What later blocks of the page go on from: they may run in another process than the block that makes it.
    command = [sys.executable, "-m", "flows.cli", "export", "snapshots", "--home", "demo/sample", "--quiet"]
    subprocess.run(command, cwd=folder, check=True)
    return folder


def test_there_is_something_to_run() -> None:
    assert len(COMMANDS) >= 5
    assert len(QUERIES) >= 5


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_works(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(main, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_the_readme_has_an_answer(query: str, folder: Path) -> None:
    from warehouse.adhoc import answer_query

    answer = folder / "answer.csv"
    with answer.open("wb") as file:
        answer_query(folder / "demo/sample/warehouse.duckdb", query, "csv", file, timeout_s=30, memory_mb=1024)
    assert len(answer.read_text().splitlines()) > 1


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_of_the_readme_works(script: str, folder: Path) -> None:
    command = [sys.executable, "-m", "flows.cli", "sql", "from sol_execbench_leaderboard.runs", "--format", "parquet"]
    home = ["--output", "runs.parquet", "--home", "demo/sample"]
    subprocess.run([*command, *home], cwd=folder, check=True)
    run_export(folder / "demo" / "sample", folder / "snapshots")
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)


def test_make_knows_every_target_the_readme_names() -> None:
    for target in re.findall(r"\$ make (\w+)", README):
        done = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_every_command_explains_itself_with_examples() -> None:
    for name in main.commands:
        text = CliRunner().invoke(main, [name, "--help"]).output
        assert "Examples:" in text, name
        assert f"kix {name}" in text
