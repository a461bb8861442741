"""The same sync as a Prefect flow: its steps become tasks, its report artifacts and events.

Retries are for fetching alone (the client has tried each answer before); loading is never repeated. Results are
neither cached nor stored: what passes between steps are references into the archive.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any

os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "120")

from prefect import flow, get_run_logger
from prefect.assets import materialize
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed
from pydantic import Field, PositiveInt

from flows.coalescing import coalesced, superseded_by
from flows.freshness import freshness
from flows.lock import BUSY_S, HomeBusy, owner_text
from flows.orphan import end_with_parent
from flows.registry import SOURCES, Source
from flows.report import Report
from flows.seen import WAREHOUSE, archive_asset, progress_shown, show_sync, tell_events, tell_stale_now, upstream_asset
from flows.settings import Settings
from flows.sync import Request, Result, Step, sync
from flows.telling import listening
from scrapers.codes import Code
from scrapers.contract import Scope
from scrapers.errors import SyncFailed
from scrapers.telling import tell
from transforms.names import printable
from warehouse.connection import WarehouseError

RETRY_DELAY_S = 5
FLUSH_S = 3.0
LOGGED = 20


@dataclass(frozen=True, slots=True)
class Given:
    """What the command hands to its flow run beside the parameters, and gets back: a schedule has no need of it."""

    request: Request
    settings: Settings
    reports: list[Report] = field(default_factory=list)


_GIVEN: ContextVar[Given | None] = ContextVar("given", default=None)

SourceName = Annotated[str, Field(json_schema_extra={"enum": list(SOURCES)})]


def as_tasks(source: Source) -> Step:
    """Return how a sync's steps are run: each a Prefect task of its name, which materializes what it adds to."""
    archive = archive_asset(source)

    async def as_task(name: str, work: Callable[[], Awaitable[Result]], *, retries: int = 0) -> Result:
        asset, behind = (WAREHOUSE, archive) if name == "load" else (archive, upstream_asset(source))

        @materialize(
            asset, by="kix", name=name, retries=retries, retry_delay_seconds=RETRY_DELAY_S, asset_deps=[behind],
            cache_policy=NO_CACHE, persist_result=False,
        )  # fmt: skip
        async def run() -> Result:
            return await work()

        return await run()

    return as_task


@flow(name="kix sync", flow_run_name="sync {source}", persist_result=False)
async def sync_flow(
    source: SourceName,
    *,
    kernels: list[str] = [],  # noqa: B006  read only; None would be one more choice in the form
    tag: str | None = None,
    limit: PositiveInt | None = None,
    full: bool = False,
    offline: bool = False,
    dry_run: bool = False,
) -> State[Any]:
    """Read one source and load what is new.

    Ends as `Completed`; as `Partial` (completed, but something was rejected or a listing stayed incomplete); as
    `Skipped` (completed, because another process works on the home); or as `Failed` (nothing was changed).

    Args:
        source: The source to read.
        kernels: Only these kernels, by full name; empty means all of them.
        tag: Only kernels with this tag.
        limit: Only the first so many kernels.
        full: Ask for everything anew, without revalidation.
        offline: Read from the archive only, without the network.
        dry_run: Do everything but publish.
    """
    end_with_parent()
    if (newer := await superseded_by()) is not None:
        return coalesced(newer)
    mode = "offline" if offline else "full" if full else "normal"
    request = Request(Scope(tuple(kernels), tag, limit), None, mode, dry_run)
    given = _GIVEN.get() or Given(request, listening().model_copy(update={"lock_timeout_s": BUSY_S}))
    try:
        async with progress_shown(f"progress-{source}") as progress:
            report = await sync(
                SOURCES[source], given.request, given.settings, step=as_tasks(SOURCES[source]), progress=progress
            )
    except HomeBusy:
        if _GIVEN.get():
            raise
        return _skipped(given.settings)
    except (SyncFailed, WarehouseError) as error:
        if _GIVEN.get():
            raise
        tell("run.failed", logging.ERROR, code=error.code, reason=str(error))
        words = f"{source}: failed before it began, nothing was changed. {printable(str(error))} [{error.code}]"
        return Failed(message=words)
    given.reports.append(report)
    return await _told(report, given.settings)


def _skipped(settings: Settings) -> State[Any]:
    message = f"skipped, nothing was done: the home is in use by {owner_text(settings.home)}"
    get_run_logger().warning("%s", message)
    tell("run.skipped", logging.WARNING, code=Code.HOME_BUSY, reason=message)
    tell_stale_now(settings)
    return Completed(name="Skipped", message=message)


async def _told(report: Report, settings: Settings) -> State[Any]:
    """Log, show and tell what came of a sync, and give the flow run's final state."""
    logger = get_run_logger()
    sentence = printable(report.sentence())
    logger.info("%s", sentence)
    for line in _lines(report):
        logger.info("%s", printable(line))
    sources = freshness(settings)
    await show_sync(report, sources)
    tell_events(report, sources)
    if report.status == "failed":
        return Failed(message=sentence)
    if report.status == "partial":
        reasons = "; ".join(printable(f"{one.locator}: {one.reason}") for one in report.rejects[:3])
        more = f"; and {len(report.rejects) - 3} more" if len(report.rejects) > 3 else ""
        return Completed(name="Partial", message=f"{sentence} Not used: {reasons}{more}")
    return Completed(message=sentence)


def _lines(report: Report) -> list[str]:
    """What a reader of the log wants to know beside the sentence."""
    lines = [f"record: {line}" for line in report.record_lines()]
    lines += [f"rejected: {one.locator}: {one.reason} [{one.code}]" for one in report.rejects]
    lines += [f"drift: {one.path}: {one.change} ({one.count} times)" for one in report.drift]
    return lines if len(lines) <= LOGGED else [*lines[:LOGGED], f"… and {len(lines) - LOGGED} more in the artifact"]


async def sync_as_flow(source: Source, request: Request, settings: Settings) -> Report:
    """Run a source's sync as a flow run against the configured Prefect server, or a temporary one.

    A failed sync is a failed flow run, and its report is returned all the same. Raises `HomeBusy` as a sync does.
    """
    given = Given(request, settings)
    token = _GIVEN.set(given)
    scope = request.scope
    try:
        state = await sync_flow(
            source.policy.slug, kernels=list(scope.kernels), tag=scope.tag, limit=scope.limit,
            full=request.mode == "full", offline=request.mode == "offline", dry_run=request.dry_run, return_state=True,
        )  # fmt: skip
    finally:
        _GIVEN.reset(token)
    # Task runs are recorded by events that a temporary server takes a moment to write down.
    await asyncio.sleep(FLUSH_S if not os.environ.get("PREFECT_API_URL") else 0)
    if not given.reports:
        await state.aresult(raise_on_failure=True)
    return given.reports[0]
