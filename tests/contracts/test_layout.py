"""The rooms and the direction of imports, as CONTRIBUTING.md has them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("flows", "scrapers", "transforms", "warehouse")
FILES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
HOMES = {
    "prefect": lambda path: path.parts[0] == "flows",
    "duckdb": lambda path: path.parts[0] == "warehouse",
    "httpx": lambda path: path == Path("scrapers/http.py"),
    "httpcore": lambda path: path in (Path("scrapers/http.py"), Path("scrapers/connect.py")),
    "bs4": lambda path: path.parts[0] == "scrapers" and path.name == "parse.py",
    "sqlite3": lambda path: path == Path("scrapers/archive.py"),
}


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return {name.partition(".")[0] for name in found}


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_imported_in_its_own_room_only(library: str) -> None:
    users = {path.relative_to(ROOT) for path in FILES if library in imported(path)}
    assert {path for path in users if not HOMES[library](path)} == set()


def test_rooms_import_in_one_direction() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("word", ["eval", "exec", "print"])
def test_no_code_is_evaluated_and_nothing_is_only_printed(word: str) -> None:
    callers = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == word
    ]
    assert callers == []


def test_there_is_no_fifth_room() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages - {"tests"} == set(ROOMS)
    assert {path.stem for path in FILES} & {"utils", "helpers", "common"} == set()


def test_the_help_is_quick_to_load() -> None:
    heavy = ("prefect", "polars", "duckdb", "httpx", "pydantic")
    code = f"import flows.cli, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
