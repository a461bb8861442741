"""`kix board`, `kix manifest`: what the published warehouse says."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import UTC
from typing import Any

import click

from flows.console import asking, print_json
from flows.settings import Settings
from transforms.identity import canonical_json
from transforms.names import printable, printable_json
from transforms.units import format_latency
from warehouse import query

WIDE = 10_000
"""Columns of a table that nobody looks at in a terminal: nothing is cut."""


def show_manifest(settings: Settings, name: str) -> None:
    """Print the canonical `{run, protocol, environment}` of a run."""
    with asking(settings) as db:
        documents = query.run_documents(db, query.find_run(db, name))
    text = canonical_json(documents).decode()
    click.echo(printable_json(text) if sys.stdout.isatty() else text)  # into a pipe or file byte for byte


def show_board(settings: Settings, name: str, as_of: int | None, *, as_json: bool) -> None:
    """Print the boards of a kernel, a table for each cohort, as they are or as they were after a sync."""
    with asking(settings) as db:
        kernel = query.find_kernel(db, name)
        boards = query.boards(db, kernel, as_of)
    if as_json:
        print_json({"kernel": kernel, "as_of": as_of, "boards": [asdict(board) for board in boards]})
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    console.print(Text(printable(kernel) + (f", as of sync {as_of}" if as_of else ""), style="bold"))
    if not boards:
        console.print("No results yet: nothing on its listing could become a run.")
    for board in boards:
        _print_board(console, board)
    if len(boards) > 1:
        console.print(f"{len(boards)} boards; runs of different boards are not comparable.", style="dim")


def _print_board(console: Any, board: query.Board) -> None:
    from rich.table import Table
    from rich.text import Text

    setting = f"{printable(board.product)} · stack {printable(board.stack_version)}"
    title = f"{setting} · {len(board.rows)} ranked of {board.runs} runs"
    caption = Text(f"cohort {board.comparison_key[:23]}…")
    table = Table(title=Text(title), title_justify="left", caption=caption, caption_justify="left")
    for heading in ("#", "latency", "× best"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("who", "observed", "run"):
        table.add_column(heading, no_wrap=heading != "who")
    for row in board.rows:
        table.add_row(
            f"{'=' if row['tied'] else ''}{row['rank']}",
            format_latency(row["primary_value"]) if row["primary_unit"] == "ns" else f"{row['primary_value']:g}",
            f"{row['relative_to_best']:.2f}",
            Text(printable(row["project"])),
            f"{row['observed_at'].astimezone(UTC):%Y-%m-%d}",
            Text(printable(f"{row['source']}:{row['external_id']}")),
        )
    console.print(table if board.rows else Text(title))
    if board.unranked:
        reasons = ", ".join(f"{count} {reason}" for reason, count in board.unranked.items())
        console.print(f"not ranked: {reasons}", style="dim")
