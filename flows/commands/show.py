"""`kix board`, `kix manifest`, `kix status`: what the published warehouse says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

import flows.sample
from flows import lock
from flows.console import fail, print_json
from flows.registry import SOURCES
from flows.settings import Settings
from scrapers.archive import Archive
from scrapers.errors import SyncFailed
from transforms.identity import canonical_json
from transforms.names import printable
from transforms.units import format_latency
from warehouse import query
from warehouse.connection import Connection, WarehouseError, published_path, reading
from warehouse.migrations import check_schema

WIDE = 10_000
"""Columns of a table that nobody looks at in a terminal: nothing is cut."""


@contextmanager
def asking(settings: Settings) -> Iterator[Connection]:
    """Open the published warehouse; without one the command ends in words."""
    try:
        with reading(settings.home) as connection:
            check_schema(connection)
            yield connection
    except WarehouseError as error:
        fail(str(error))


def show_manifest(settings: Settings, name: str) -> None:
    """Print the canonical `{run, protocol, environment}` of a run."""
    with asking(settings) as db:
        documents = query.run_documents(db, query.find_run(db, name))
    click.echo(canonical_json(documents).decode())


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
            f"{row['source']}:{row['external_id']}",
        )
    console.print(table if board.rows else title)
    if board.unranked:
        reasons = ", ".join(f"{count} {reason}" for reason, count in board.unranked.items())
        console.print(f"not ranked: {reasons}", style="dim")


def show_status(settings: Settings, *, as_json: bool) -> None:
    """Print what is in the home."""
    state = _state(settings)
    if as_json:
        print_json(state)
        return
    for line in _status_lines(state):
        click.echo(printable(line))


def _state(settings: Settings) -> dict[str, Any]:
    home = settings.home
    archive = home / "archive.sqlite"
    state: dict[str, Any] = {
        "home": str(home),
        "warehouse": str(published_path(home)),
        "archive": str(archive),
        "sizes_bytes": {path.name: path.stat().st_size for path in (published_path(home), archive) if path.exists()},
        "lock": lock.owner(home),
        "enabled": list(settings.sources),
        "known_sources": list(SOURCES),
        "last_attempt": _last_attempt(archive, busy=lock.owner(home) is not None),
        "synthetic": False,
    }
    if published_path(home).exists():
        with asking(settings) as db:
            state |= query.status(db)
        state["synthetic"] = any(flows.sample.is_synthetic(one["base_url"]) for one in state["sources"])
    sample = published_path(home / "sample")
    state["sample"] = str(sample) if sample.exists() else None
    return state


def _last_attempt(path: Path, *, busy: bool) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        with Archive(path, read_only=True) as archive:
            last = next(archive.syncs(newest_first=True), None)
    except SyncFailed as error:
        return {"error": str(error)}
    if last is None:
        return None
    killed = last.status == "running" and not busy
    return asdict(last) | ({"status": "interrupted"} if killed else {})


def _status_lines(state: dict[str, Any]) -> Iterator[str]:
    yield f"home       {state['home']}" + ("   SYNTHETIC SAMPLE: no figure in it is real" if state["synthetic"] else "")
    for name, size in state["sizes_bytes"].items():
        yield f"           {name}  {size / 1e6:,.1f} MB"
    if state["lock"]:
        held = state["lock"]
        yield f"in use by  {held.get('what')} (process {held.get('pid')}, since {held.get('since')})"
    if "sources" not in state:
        yield "warehouse  none yet: run `kix sync SOURCE`, or `kix sync --sample` to try it out"
    for source in state.get("sources", ()):
        synced, newest = _ago(source["last_synced_at"]), _day(source["newest_result_at"])
        yield f"source     {source['source']}: last synced {synced}, newest result {newest}"
    for one in state.get("syncs", ()):
        ended = _time(one["finished_at"] or one["started_at"])
        yield f"sync {one['sync_id']:<5} {one['source']}: {one['status']}, {ended}"
    if "counts" in state:
        yield "rows       " + ", ".join(f"{count:,} {table}" for table, count in state["counts"].items())
    attempt = state["last_attempt"]
    if attempt and attempt.get("status") in ("failed", "interrupted", "running"):
        begun = _time(attempt["started_at"])
        yield f"last try   sync {attempt['sync_id']} of {attempt['source']}: {attempt['status']}, begun {begun}"
    for slug in {source["source"] for source in state.get("sources", ())} & SOURCES.keys():
        if not state["synthetic"]:
            yield f"data       {SOURCES[slug].policy.attribution} ({SOURCES[slug].policy.licence})"
    enabled = (
        ", ".join(state["enabled"]) or "none (set KIX_SOURCES; there is: " + ", ".join(state["known_sources"]) + ")"
    )
    yield f"enabled    {enabled}"
    if state["sample"]:
        yield f"sample     {state['sample']} (synthetic; look with --home {Path(state['sample']).parent})"


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _day(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d}" if moment else "none"


def _ago(moment: datetime | None) -> str:
    if moment is None:
        return "never"
    minutes = int((datetime.now(UTC) - moment).total_seconds() // 60)
    if minutes < 120:
        return f"{minutes} minutes ago"
    return f"{minutes // 60} hours ago" if minutes < 72 * 60 else f"{minutes // 1440} days ago"
