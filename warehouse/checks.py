"""Data-quality checks: each SQL file in `sql/checks` returns the rows that break one rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import duckdb

from warehouse.migrations import sql_files

SHOWN = 5
DERIVED = frozenset({"records_follow"})
"""Checks of what a load derives itself, by the same SQL: for `kix verify`, where it can be anything."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A rule that does not hold: its name, how often it is broken, and the first few (subject, detail)."""

    check: str
    count: int
    examples: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        shown = "; ".join(f"{subject}: {detail}" for subject, detail in self.examples)
        return f"{self.check.replace('_', ' ')}: {self.count} broken ({shown})"


def checks() -> Iterator[tuple[str, Callable[[duckdb.DuckDBPyConnection], list[tuple[str, str]]]]]:
    """Yield the name of every check and a function that finds the (subject, detail) that break it."""
    for name, text in sql_files("checks"):
        yield name, lambda connection, text=text: connection.execute(text).fetchall()  # type: ignore[misc]


def run_checks(connection: duckdb.DuckDBPyConnection) -> list[Failure]:
    """Run the checks that a load must pass, and return those that do not hold."""
    failures = []
    for name, find in checks():
        if name in DERIVED:
            continue
        rows = find(connection)
        if rows:
            failures.append(Failure(name, len(rows), tuple(rows[:SHOWN])))
    return failures
