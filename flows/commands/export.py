"""`kix export` and `kix snapshots`: write the Parquet snapshot, and look after the folder of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click

from flows.console import fail, print_json
from flows.export import Exported, export
from flows.lock import HomeBusy
from flows.settings import Settings
from flows.snapshots import Snapshot, listed, prune, verify
from scrapers.codes import Code
from transforms.names import printable
from warehouse.connection import WarehouseError

Result = TypeVar("Result")


def run_export(
    settings: Settings, directory: Path, family: str | None, since: str | None, *, as_json: bool, quiet: bool
) -> None:
    """Export and say what came of it."""
    done = _said(lambda: export(settings, directory, family=family, since=since))
    if as_json:
        print_json(asdict(done))
    elif not quiet:
        for line in _lines(done):
            click.echo(printable(line))


def _lines(done: Exported) -> list[str]:
    rows = sum(done.rows.values())
    size = f"{done.rows.get('runs', 0):,} runs, {rows:,} rows in {len(done.rows)} tables, {done.bytes / 1e6:,.1f} MB"
    lines = [f"snapshot   {done.snapshot}" + ("" if done.new else " (nothing new: the evidence is the same)")]
    lines += [f"           {size}", f"path       {done.path}"]
    if done.family is not None:
        lines.append(f"family     {done.family}")
    if done.increment is not None:
        new = sum(done.increment.rows.values())
        lines.append(f"increment  {new:,} rows, {done.increment.bytes / 1e6:,.1f} MB: {done.increment.path}")
    elif done.since is not None:
        lines.append(f"increment  none: nothing is new since {done.since}")
    return lines + ([f"warning    {done.warning}"] if done.warning else [])


def run_snapshots(
    directory: Path,
    action: str,
    snapshot: str | None,
    *,
    keep: int | None,
    keep_days: int | None,
    as_json: bool,
) -> int:
    """List, verify or prune the snapshots of a folder. Returns the exit code."""
    if action != "prune" and (keep is not None or keep_days is not None):
        fail("--keep and --keep-days go with prune", Code.USAGE)
    if action != "verify" and snapshot is not None:
        fail(f"{action} takes no SNAPSHOT", Code.USAGE)
    if action == "prune" and keep is None and keep_days is None:
        fail("say what to keep: --keep N (the newest N) or --keep-days N (those of the last N days)", Code.USAGE)
    if action == "list":
        _show(_said(lambda: listed(directory)), as_json=as_json)
    elif action == "prune":
        gone = _said(lambda: prune(directory, keep=keep, keep_days=keep_days))
        _tell({"removed": gone}, [f"removed    {one}" for one in gone] or ["nothing to remove"], as_json=as_json)
    else:
        problems = _said(lambda: verify(directory, snapshot))
        lines = problems or ["all is as it was written"]
        _tell({"holds": not problems, "problems": problems}, lines, as_json=as_json)
        return 1 if problems else 0
    return 0


def _show(found: list[Snapshot], *, as_json: bool) -> None:
    lines = [
        f"{one.snapshot}  {one.problem or f'{one.runs:,} runs, {one.bytes / 1e6:,.1f} MB'}"
        + (f", family {one.family}" if one.family is not None else "")
        + (f"  <- {', '.join(one.pointers)}" if one.pointers else "")
        for one in reversed(found)
    ]
    _tell([asdict(one) for one in reversed(found)], lines or ["no snapshot yet"], as_json=as_json)


def _tell(data: Any, lines: list[str], *, as_json: bool) -> None:
    if as_json:
        print_json(data)
        return
    for line in lines:
        click.echo(printable(line))


def _said(do: Callable[[], Result]) -> Result:
    try:
        return do()
    except (HomeBusy, WarehouseError) as error:
        fail(str(error), error.code)
    except OSError as error:
        fail(f"cannot use {error.filename}: {error.strerror or error}", Code.FILE_UNUSABLE)
    except KeyboardInterrupt:
        words = "interrupted: no snapshot was changed; the next export clears away what this one left"
        fail(words, Code.INTERRUPTED)
