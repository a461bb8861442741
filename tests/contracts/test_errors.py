"""Every error has a code, every code is explained in docs/errors.md, and no code is there for nothing."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from scrapers.codes import Code, CodedError

ROOT = Path(__file__).parents[2]
FILES = [
    path for room in ("flows", "scrapers", "transforms", "warehouse") for path in sorted((ROOT / room).rglob("*.py"))
]
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
EXPLAINED = re.findall(
    r"^### `([a-z-]+)`\n\n(\S.{20,})\n\n- \*\*Usual causes:\*\* (\S.{8,})\n- \*\*Remedy:\*\* (\S.{8,})\n",
    PAGE,
    re.MULTILINE,
)
TURNED = {
    "BrokenMarkup": "a reject: scrapers/kernelindex/client.py, parse.py",
    "_Broken": "a reject: scrapers/sol_execbench/client.py",
    "UnitError": "a reject: transforms; wrong usage: flows/commands/people.py",
    "AxisError": "a reject: transforms/sol_execbench/kernel.py",
    "UnboundAxisError": "a reject: transforms/sol_execbench/kernel.py",
    "IdentityError": "a reject: transforms",
    "ManifestError": "a reject: transforms",
}
"""Errors of ours without a code, and what becomes of them before anybody is told."""

INNER = {
    "ValueError": "a setting, usage, or a manifest that is wrong: told by who asked",
    "TypeError": "a defect in how schemas are put together, found when they are made",
    "OSError": "told with the file's name by the commands",
    "AssertionError": "cannot be",
    "KeyboardInterrupt": "told as interrupted by the commands",
    "SystemExit": "ends a command",
    "UsageError": "click's own, said again with its code: flows/cli.py",
    "PydanticCustomError": "part of a ManifestError",
    "ConnectTimeout": "a TryAgain: scrapers/http.py",
    "ConnectError": "a TryAgain: scrapers/http.py",
    "ReadTimeout": "a TryAgain: scrapers/http.py",
    "ReadError": "a TryAgain: scrapers/http.py",
    "WriteError": "a TryAgain: scrapers/http.py",
}
"""Errors of others that we raise, and what becomes of them."""


def own_errors() -> dict[str, type[BaseException]]:
    """The classes of errors that the rooms define, by name."""
    found: dict[str, type[BaseException]] = {}
    for path, tree in TREES.items():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                one = getattr(importlib.import_module(module), node.name)
                if issubclass(one, BaseException):
                    found[node.name] = one
    return found


OWN = own_errors()


def raised() -> Iterator[tuple[str, str]]:
    """The name of what each `raise` with a new error raises, and where that is."""
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and node.exc is not None:
                called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                if name[:1].isupper() or name.startswith("_Broken"):
                    yield name, f"{path.relative_to(ROOT)}:{node.lineno}"


def test_each_code_is_explained_once_and_in_order() -> None:
    assert [code for code, *_ in EXPLAINED] == [str(code) for code in Code]


def test_the_page_has_no_other_section() -> None:
    assert len(re.findall(r"^### ", PAGE, re.MULTILINE)) == len(Code)


def test_each_error_of_ours_has_a_code_or_becomes_one_that_has() -> None:
    assert len(OWN) > 10
    coded = {name for name, one in OWN.items() if isinstance(getattr(one, "code", None), Code)}
    assert OWN.keys() - coded - TURNED.keys() == {CodedError.__name__}
    assert TURNED.keys() <= OWN.keys() - coded


def test_nothing_else_is_raised() -> None:
    sites = list(raised())
    assert len(sites) > 150
    assert {f"{where} {name}" for name, where in sites if name not in OWN.keys() | INNER.keys()} == set()
    assert {name for name, _ in sites if name == CodedError.__name__} == set()


def test_what_is_said_of_them_is_of_something_raised() -> None:
    names = {name for name, _ in raised()}
    assert INNER.keys() <= names
    assert all(hasattr(builtins, name) or "Error" in name or "Timeout" in name for name in INNER)


def used() -> set[str]:
    return {
        node.attr
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Code"
    }


def test_each_code_is_used() -> None:
    assert {code.name for code in Code} - used() - {Code.ITEM_UNUSABLE.name} == set()


def test_a_reject_made_of_an_error_keeps_its_code() -> None:
    """`Reject(error.locator, …, error.reason)` without the error's code would be called an unusable item, which only a
    `RejectItem` is: the parsers of items raise nothing else."""
    lost = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Reject"
        if "error.reason" in map(ast.unparse, node.args) and "error.code" not in map(ast.unparse, node.args)
        if path.name != "parse.py"
    ]
    assert lost == []


def test_the_remedies_name_settings_and_pages_that_exist() -> None:
    from flows.settings import Settings

    for name in re.findall(r"KIX_([A-Z_]+)", PAGE):
        assert name.lower() in Settings.model_fields
    for link in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / link).exists()
