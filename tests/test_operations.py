"""What docs/operations.md says works: its marked blocks run, its units and its Dockerfile name what is there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import run_sync

from flows.schedule import CHORES
from flows.settings import Settings

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"<!-- tested -->\n```console\n(.*?)```", PAGE, re.DOTALL)
UNITS = sorted((ROOT / "deploy" / "systemd").iterdir())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sample in it, and `kix` on its path."""
    folder = tmp_path_factory.mktemp("operations")
    run_sync(folder / "demo" / "sample", mode="sample")
    command = folder / "bin" / "kix"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m flows.cli "$@"\n')
    command.chmod(0o755)
    return folder


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the page backs up with SQLite's own command")
def test_the_blocks_of_the_page_work_one_after_the_other(folder: Path) -> None:
    assert len(BLOCKS) >= 5
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = dict(os.environ) | {"PATH": path, "PYTHONPATH": str(ROOT)}
    for block in BLOCKS:
        lines = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    assert (folder / "kix.prom").read_text().startswith("# HELP kix_source_")


def test_the_settings_of_the_page_are_settings(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "kix.toml").write_text(text)
    settings = Settings(home=tmp_path)
    assert settings.sources == ("sol-execbench",)
    assert settings.schedules == {"sol-execbench": "17 */6 * * *", "verify": "off"}


def test_the_page_names_every_chore() -> None:
    assert all(f"| `{name}` |" in PAGE for name in CHORES)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for unit in UNITS:
        # The command is where an operator installs it, not here.
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/kix/bin/kix", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", *(tmp_path / unit.name for unit in UNITS)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_units_and_dockerfile_start_commands_that_there_are() -> None:
    from click.testing import CliRunner

    from flows.cli import main

    started = [shlex.split(line.partition("=")[2])[1:] for unit in UNITS for line in unit.read_text().splitlines()
               if line.startswith("ExecStart=")]  # fmt: skip
    started.append(["serve"])
    for command in started:
        assert CliRunner().invoke(main, [*command, "--help"]).exit_code == 0, command


def test_the_dockerfile_copies_what_is_there_and_what_the_package_needs() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = {name for line in lines if line.startswith("COPY ") for name in shlex.split(line)[1:-1]}
    assert all((ROOT / name).exists() for name in copied)
    assert copied >= {"pyproject.toml", "README.md", "LICENSE", "flows", "scrapers", "transforms", "warehouse"}
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied <= allowed
