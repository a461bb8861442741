"""SECURITY.md and the page of licences hold what they say."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from licences import dependencies, licence

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
ROWS = [line for line in TEXT.partition("## Threats")[2].splitlines() if line.startswith("| ")][2:]


def defined_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_there_is_a_table_of_threats() -> None:
    assert len(ROWS) >= 20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:40])
def test_each_threat_names_tests_that_there_are(row: str) -> None:
    assert row.count("|") == 4
    named = NAMED.findall(row)
    assert named
    for path, name in named:
        assert name.startswith("test_")
        assert name in defined_in(ROOT / path)


def test_a_threat_names_nothing_but_defined_in_its_last_column() -> None:
    for row in ROWS:
        assert NAMED.sub("", row.split("|")[3]).strip() == ""


def test_the_page_of_licences_has_every_direct_dependency_with_its_versions_and_licence() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| ([\w.-]+) \| `(.*)` \|", page, re.MULTILINE))
    assert listed == dependencies()
    for name in dependencies():
        assert re.search(rf"^\| {re.escape(name)} \| .* \| {re.escape(licence(name))} \|$", page, re.MULTILINE)


def test_no_licence_asks_what_apache_2_cannot_give() -> None:
    assert [name for name in dependencies() if re.search(r"\bA?GPL|SSPL|BUSL", licence(name))] == []
