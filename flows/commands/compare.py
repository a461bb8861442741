"""`kix compare`: runs of one cohort side by side."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict

import click

from flows.commands.page import day
from flows.console import asking, fail, print_json
from flows.settings import Settings
from scrapers.codes import Code
from transforms.facts import source_metrics_line
from transforms.names import printable
from transforms.units import format_score, format_value
from warehouse.comparison import Compared, Comparison, compare
from warehouse.dossier import dossier
from warehouse.query import find_run

HEADINGS = ("run", "value", "× best", "rank", "project", "observed", "the source's own figures", "revision")
Table = list[tuple[str, ...]]


def show_comparison(settings: Settings, names: tuple[str, ...], *, as_json: bool) -> None:
    """Print runs side by side; refuse with exit code 1 when they are not of one cohort."""
    with asking(settings) as db:
        runs = dict.fromkeys(find_run(db, name) for name in names)
        if len(runs) < 2:
            fail(f"{printable(' '.join(names))} is one run: name two or more to compare", Code.USAGE)
        result = compare([dossier(db, run) for run in runs])
    if as_json:
        print_json(asdict(result))
    if not result.comparable:
        first, *more = _refusal(result)
        fail(first, Code.NOT_COMPARABLE, more)
    if not as_json:
        for line in _lines(result):
            click.echo(printable(line))


def _refusal(result: Comparison) -> Iterator[str]:
    yield "these runs are not comparable: they are of different cohorts"
    for difference in result.differences:
        yield f"  {difference.component} differs:"
        yield from (f"    {name}: {value}" for name, value in difference.values.items())


def _lines(result: Comparison) -> Iterator[str]:
    table = [HEADINGS, *(_cells(run) for run in result.runs)]
    aligned = list(_aligned(table))
    # A table that does not fit would be broken in the middle of its columns: then one run below the other.
    fits = not sys.stdout.isatty() or max(map(len, aligned)) <= shutil.get_terminal_size().columns
    yield from aligned if fits else _stacked(table)
    yield ""
    yield f"cohort {result.comparison_key}"
    if any(run.rank is None for run in result.runs):
        yield "A run without a rank is not on the board, for the reasons given; it is compared as it was published."


def _cells(run: Compared) -> tuple[str, ...]:
    cells = (
        run.name,
        "none" if run.value is None or run.unit is None else format_value(run.value, run.unit),
        "" if run.relative is None else format_score(run.relative, 2),
        f"not ranked: {', '.join(run.reasons)}" if run.rank is None else f"{'=' if run.tied else ''}{run.rank}",
        run.project,
        day(run.observed_at),
        source_metrics_line(run.source_metrics),
        run.revision or "",
    )
    return tuple(printable(cell) for cell in cells)


def _aligned(table: Table) -> Iterator[str]:
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _stacked(table: Table) -> Iterator[str]:
    headings, *rows = table
    width = max(map(len, headings))
    for row in rows:
        yield from (f"{heading:{width}}  {cell}" for heading, cell in zip(headings, row, strict=True) if cell)
        yield ""
