"""`kix status`: what is in the home, how fresh it is, and whether somebody should look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

import flows.sample
from flows import lock, prefect_server
from flows.console import asking, fail, print_json
from flows.freshness import Freshness, freshness
from flows.metrics import exposition, write_metrics
from flows.registry import SOURCES
from flows.schedule import jobs
from flows.settings import Settings
from scrapers.archive import Archive
from scrapers.codes import Code
from scrapers.errors import SyncFailed
from transforms.names import printable
from warehouse import query
from warehouse.connection import published_path


def run_status(settings: Settings, metrics_file: Path | None, *, check: bool, as_json: bool) -> int:
    """Print what is in the home, or with `check` only what a monitor asks for. Returns the exit code."""
    if check or metrics_file:
        sources = _freshness(settings)
    state = _state(settings)
    if metrics_file:
        _write_metrics(metrics_file, exposition(sources, state))
    if not check:
        _show(state, as_json=as_json)
        return 0
    if as_json:
        print_json([asdict(one) | {"stale": one.stale, "troubled": one.troubled} for one in sources])
    for one in sources if not as_json else ():
        click.echo(f"{'TROUBLE' if one.troubled else 'ok     '}  {printable(one.sentence())}")
    if not sources:
        fail("no source is enabled (KIX_SOURCES), and none was ever read: there is nothing to check", Code.NOTHING_READ)
    return 1 if any(one.troubled for one in sources) else 0


def _freshness(settings: Settings) -> list[Freshness]:
    try:
        jobs(settings)  # a source that does not exist is never fresh: better said than checked
        return freshness(settings)
    except ValueError as error:
        fail(f"a setting is wrong: {error}", Code.SETTING)
    except SyncFailed as error:
        fail(str(error), error.code)


def _write_metrics(path: Path, text: str) -> None:
    try:
        write_metrics(path, text)
    except OSError as error:
        fail(f"cannot write {path}: {error.strerror}", Code.FILE_UNUSABLE)


def _show(state: dict[str, Any], *, as_json: bool) -> None:
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
        "served": lock.owner(home / prefect_server.FOLDER),
        "prefect": prefect_server.told(home),
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
    if state["served"]:
        held, where = state["served"], state["prefect"]
        at = f"; Prefect: {where.removesuffix('/api')}" if where else ""
        yield f"served by  {held.get('what')} (process {held.get('pid')}, since {held.get('since')}){at}"
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
