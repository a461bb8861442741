"""What Prefect shows of a sync: assets with their lineage, artifacts, and events to build automations on.

Names and texts from upstream are hostile: they stand in code spans only, where nothing is a link.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

from prefect.artifacts import (
    acreate_markdown_artifact,
    acreate_progress_artifact,
    acreate_table_artifact,
    aupdate_progress_artifact,
)
from prefect.assets import Asset
from prefect.assets.core import AssetProperties
from prefect.client.orchestration import get_client
from prefect.events import emit_event

from flows.freshness import Freshness, freshness
from flows.progress import Progress
from flows.registry import Source
from flows.report import Report, code, record_words, value_words
from flows.settings import Settings
from scrapers.errors import SyncFailed
from transforms.names import cut, printable

PROGRESS_S = 10.0
"""Work that takes longer shows its progress, and shows it anew after as long again."""

FETCHED_AT = 70.0
"""How much of a sync is done, in per cent, when everything is fetched."""

TOP = 25
MOST_EVENTS = 100
MOST_TEXT = 120

WAREHOUSE = Asset(
    key="kix://warehouse",
    properties=AssetProperties(name="kix warehouse", description="The published DuckDB file, replaced whole"),
)


def upstream_asset(source: Source) -> Asset:
    """The source itself, where the lineage begins."""
    return Asset(key=source.policy.page_url or source.policy.base_url)


def archive_asset(source: Source) -> Asset:
    """What the archive holds of a source."""
    title = source.policy.title
    told = AssetProperties(name=f"Archive: {title}", description=f"Every answer of {title}, byte for byte")
    return Asset(key=f"kix://archive/{source.policy.slug}", properties=told)


def snapshot_asset(snapshot: str) -> Asset:
    """One snapshot, which never changes."""
    told = AssetProperties(name=f"Snapshot {snapshot}", description="Parquet files and their manifest")
    return Asset(key=f"kix://snapshots/{snapshot}", properties=told)


async def show_sync(report: Report, sources: Iterable[Freshness]) -> None:
    """Make the artifacts of a sync: the report as markdown, and the records that changed hands as a table."""
    told = [f"- {code(one.sentence())}" for one in sources]
    markdown = "\n".join([report.markdown(), "## Freshness", "", *told, ""])
    await acreate_markdown_artifact(
        key=f"sync-{report.source}",
        markdown=markdown,
        description=f"Report of sync {report.sync_id} of {report.source}",
    )
    if rows := top_changes(report):
        await acreate_table_artifact(
            key=f"records-{report.source}", table=rows, description=f"Records that sync {report.sync_id} changed"
        )


def top_changes(report: Report) -> list[dict[str, Any]]:
    """The records that changed hands, greatest change first, as rows in words."""
    taken = sorted((one for one in report.records if one["previous_run_digest"] is not None), key=_change, reverse=True)
    return [
        {
            "kernel": code(one["kernel"]),
            "GPU": code(str(one["product"])),
            "stack": code(str(one["stack_version"])),
            "leader": code(cut(one["project"] or "nobody", MOST_TEXT)),
            "value": value_words(one["primary_value"], one["primary_unit"]),
            "before": value_words(one["previous_value"], one["primary_unit"]),
            "times before": round(_ratio(one), 3) if _ratio(one) else None,
            "cause": one["cause"].replace("_", " "),
            "run": code(f"{one['source']}:{one['external_id']}") if one["run_digest"] else None,
        }
        for one in taken[:TOP]
    ]


def _ratio(record: dict[str, Any]) -> float:
    now, before = record["primary_value"], record["previous_value"]
    return now / before if now and before else 0.0


def _change(record: dict[str, Any]) -> float:
    ratio = _ratio(record)
    return max(ratio, 1 / ratio) if ratio else float("inf")


def tell_events(report: Report, sources: Iterable[Freshness]) -> None:
    """Emit the events of a sync. Payloads are small; what comes from upstream in them is cut and printable."""
    ended = {
        "sync_id": report.sync_id, "status": report.status, "rejects": len(report.rejects),
        "records": len(report.record_lines()), "drift": len(report.drift), "runs": report.inserted.get("runs", 0),
        "seconds": round((report.finished_at - report.started_at).total_seconds(), 3) if report.finished_at else None,
    }  # fmt: skip
    name = "kix.sync.failed" if report.status == "failed" else "kix.sync.completed"
    _emit(name, report.source, ended | ({"error": _short(report.error)} if report.error else {}))
    for one in [one for one in report.records if one["previous_run_digest"] is not None][:MOST_EVENTS]:
        _emit("kix.record.new", report.source, _record_payload(one) | {"sync_id": report.sync_id})
    if report.drift:
        paths = [{"path": _short(one.path), "change": one.change, "count": one.count} for one in report.drift[:20]]
        _emit(
            "kix.drift.detected",
            report.source,
            {"sync_id": report.sync_id, "changes": len(report.drift), "first": paths},
        )
    tell_stale(sources)


def _record_payload(record: dict[str, Any]) -> dict[str, Any]:
    figures = ("primary_value", "primary_unit", "previous_value", "run_digest", "comparison_key", "cause")
    texts = ("kernel", "product", "stack_version", "project", "external_id", "previous_project")
    told = {name: record[name] for name in figures} | {name: _short(record[name]) for name in texts}
    return told | {"words": _short(record_words(record), 400)}


def tell_stale(sources: Iterable[Freshness]) -> None:
    """Emit an event for each source that is stale beyond its policy."""
    for one in sources:
        if one.stale:
            read_at = one.read_at.isoformat() if one.read_at else None
            _emit("kix.source.stale", one.source, {"last_read_at": read_at, "stale_after_h": one.stale_after_h})


def tell_stale_now(settings: Settings) -> None:
    """Emit the events of stale sources, as far as the archive can be read beside whoever works on it."""
    with suppress(SyncFailed):
        tell_stale(freshness(settings))


def _emit(event: str, slug: str, payload: dict[str, Any]) -> None:
    resource = {"prefect.resource.id": f"kix.source.{slug}", "prefect.resource.name": slug}
    emit_event(event, resource=resource, payload=payload)


def _short(text: str | None, most: int = MOST_TEXT) -> str | None:
    return None if text is None else cut(printable(text), most)


@asynccontextmanager
async def progress_shown(key: str) -> AsyncIterator[Progress]:
    """Yield a progress callback whose latest word becomes a progress artifact, once the work takes its time."""
    latest: list[tuple[str, int, int]] = []

    def note(stage: str, done: int, total: int) -> None:
        latest[:] = [(stage, done, total)]

    showing = asyncio.create_task(_keep_showing(key, latest))
    try:
        yield note
    finally:
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)  # a server that is away spoils no sync


async def _keep_showing(key: str, latest: list[tuple[str, int, int]]) -> None:
    await asyncio.sleep(PROGRESS_S)
    artifact = await acreate_progress_artifact(0.0, key=key, description="begun")
    async with get_client() as client:  # one connection for all words
        try:
            while True:
                if latest:
                    stage, done, total = latest[0]
                    words = f"{stage}: {done} of {total}"
                    await aupdate_progress_artifact(artifact, _share(stage, done, total), words, client=client)
                await asyncio.sleep(PROGRESS_S)
        finally:
            await aupdate_progress_artifact(artifact, 100.0, description="ended", client=client)


def _share(stage: str, done: int, total: int) -> float:
    part = done / total if total else 1.0
    if stage == "fetching":
        return FETCHED_AT * part
    return FETCHED_AT + (100 - FETCHED_AT) * part if stage == "loading" else 100 * part
