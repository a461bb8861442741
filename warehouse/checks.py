"""Data-quality checks: each SQL file in `sql/checks` returns the rows that break one rule."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from warehouse.migrations import sql_files

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Failure:
    """A rule that does not hold: its name, how often it is broken, and the first few (subject, detail)."""

    check: str
    count: int
    examples: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        shown = "; ".join(f"{subject}: {detail}" for subject, detail in self.examples)
        return f"{self.check.replace('_', ' ')}: {self.count} broken ({shown})"


def run_checks(connection: duckdb.DuckDBPyConnection) -> list[Failure]:
    """Run every check and return those that do not hold."""
    failures = []
    for name, text in sql_files("checks"):
        rows = connection.execute(text).fetchall()
        if rows:
            failures.append(Failure(name, len(rows), tuple(rows[:SHOWN])))
    return failures
