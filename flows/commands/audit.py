"""`kix audit`: our runs against the public index's."""

from __future__ import annotations

import sys
from typing import Any

import click

from flows.commands.show import WIDE
from flows.console import asking, fail, print_json
from flows.settings import Settings
from scrapers.codes import Code
from transforms.names import cut, printable
from warehouse import audit

SHOWN = 50


def show_audit(settings: Settings, *, as_json: bool) -> int:
    """Print the findings and return the exit code: 0 when runs could be compared and nothing differs, else 1."""
    with asking(settings) as db:
        counts, rows = audit.counts(db), audit.findings(db)
    if not counts:
        fail("no run page of the index was read yet: kix sync kernelindex --page FILE|URL|ID", Code.NOTHING_READ)
    differs = any(row["counts"] for row in rows)
    compared = any(row["state"] in ("equal", "differs") for row in rows)
    if as_json:
        print_json({"counts": counts, "differs": differs, "compared": compared, "rows": rows})
    else:
        _print(rows, counts, compared=compared)
    return 1 if differs or not compared else 0


def _print(rows: list[dict[str, Any]], counts: dict[str, int], *, compared: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    table = Table()
    for heading in ("", "state", "run", "kernel", "field", "ours", "theirs", "what"):
        table.add_column(heading)
    for row in rows[:SHOWN]:
        name = f"{row['source']}:{row['external_id']}" if row["external_id"] else row["run_digest"][:19]
        cells = (
            "!" if row["counts"] else "", row["state"], name, row["kernel"], row["field"], _short(row["ours"]),
            _short(row["theirs"]), row["detail"],
        )  # fmt: skip
        table.add_row(*(Text(printable(cell or "")) for cell in cells))
    console.print(table)
    if len(rows) > SHOWN:
        console.print(f"… and {len(rows) - SHOWN} more; --json has them all")
    told = ", ".join(f"{count:,} {state}" for state, count in counts.items())
    console.print(f"Runs: {told}. What counts as a difference is marked with !")
    if not compared:
        click.echo(
            f"kix: nothing could be compared: sync the source of these runs, e.g. kix sync sol-execbench"
            f" [{Code.NOTHING_READ}]",
            err=True,
        )


def _short(value: str | None) -> str:
    """Cut a digest to as many digits as the index shows; anything else may differ at its very end."""
    return cut(value or "", 31) if (value or "").startswith("sha256:") else value or ""
