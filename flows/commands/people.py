"""`kix records`, `kix review`, `kix note`: who took which record, and what people say."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import click

from flows import people
from flows.console import asking, fail, print_json
from flows.lock import HomeBusy
from flows.report import record_words
from flows.settings import Settings
from scrapers.codes import Code
from scrapers.errors import SyncFailed
from transforms.names import cut, printable
from transforms.units import UnitError, parse_instant
from warehouse import query
from warehouse.connection import WarehouseError

Result = TypeVar("Result")
_AGO = re.compile(r"([1-9][0-9]{0,4})([hd])")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MINUTE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})?")


def moment(text: str, now: datetime) -> datetime:
    """Read a point in time: a day, an instant (UTC where it names no zone), or how long ago (`36h`, `7d`).

    Raises `UnitError` for anything else.
    """
    if ago := _AGO.fullmatch(text):
        return now - timedelta(**{"hours" if ago[2] == "h" else "days": int(ago[1])})
    if _DAY.fullmatch(text):
        return parse_instant(text + "T00:00:00Z")
    if minute := _MINUTE.fullmatch(text):
        return parse_instant(f"{minute[1]}:00{minute[2] or 'Z'}")
    return parse_instant(text)


def show_records(settings: Settings, since: str | None, *, as_json: bool) -> None:
    """Print the changes of leaders, newest first."""
    try:
        start = moment(since, datetime.now(UTC)) if since else None
    except (UnitError, OverflowError):
        fail(f"--since {since!r} is no time: write 2026-11-01, 2026-11-01T12:00Z, 36h or 7d", Code.USAGE)
    with asking(settings) as db:
        events = query.record_events(db, start)
    if as_json:
        print_json(events)
        return
    for event in events:
        click.echo(printable(f"{event['at'].astimezone(UTC):%Y-%m-%d %H:%M}  {record_words(event)}"))
    if not events:
        click.echo("no record changed hands" + (f" since {start:%Y-%m-%d %H:%M} UTC" if start else ""), err=True)


def show_reviews(settings: Settings, *, as_json: bool) -> None:
    """Print what was raised for review."""
    with asking(settings) as db:
        found = query.reviews(db)
    if as_json:
        print_json(found)
        return
    for one in found:
        who = (
            f"{one['source']}:{one['external_id']}"
            if one["external_id"]
            else cut(one["subject"], 24 if one["subject"].startswith("sha256:") else 60)
        )
        click.echo(printable(f"{who}  {one['reason']}  {one['kernel'] or ''}"))
        click.echo(printable(f"    {one['detail']}"))
        if one["verdict"]:
            when = f"{one['decided_at'].astimezone(UTC):%Y-%m-%d}"
            click.echo(printable(f"    {one['verdict']} by {one['by_name']}, {when}: {one['verdict_reason']}"))
    if not found:
        click.echo("nothing is held for review", err=True)


def run_verdict(settings: Settings, subject: str, verdict: str, reason: str, by_name: str | None) -> None:
    """Decide on a review and say what came of it."""
    digest, news = _said(lambda: people.decide(settings, subject, verdict, reason, people.signature(settings, by_name)))
    click.echo(f"{verdict}: {digest}")
    for record in news:
        click.echo(printable(f"  record: {record_words(record)}"))


def run_note(settings: Settings, run: str, text: str, kind: str, by_name: str | None) -> None:
    """Write a note and say on which run."""
    digest = _said(lambda: people.write_note(settings, run, kind, text, people.signature(settings, by_name)))
    click.echo(f"{kind} on {digest}")


def _said(say: Callable[[], Result]) -> Result:
    try:
        return say()
    except ValueError as error:
        fail(str(error), Code.USAGE)
    except (HomeBusy, SyncFailed, WarehouseError) as error:
        fail(str(error), error.code)
    except OSError as error:
        fail(f"cannot write: {error.strerror or error} ({error.filename})", Code.FILE_UNUSABLE)
