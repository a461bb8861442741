"""The steps of a source's sync, in order, free of Prefect. The command runs them directly, a flow as tasks.

    read the index → fetch the kernels, batch by batch → load (parse, map, stage, commit in a copy, publish)

Steps hand each other references into the archive, never payloads.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Protocol, TypeVar

import flows.sample
from flows.helper import Helper
from flows.history import check_archive_is_whole, published, unpublished
from flows.loading import Outcome, is_unchanged, load, load_all
from flows.lock import holding
from flows.mapping import STAGED, Mapper
from flows.progress import Progress, silent
from flows.registry import Source
from flows.report import Report
from flows.settings import Settings
from scrapers import saved
from scrapers.addresses import check_base_url
from scrapers.archive import Archive, Offline, SyncRecord
from scrapers.bounds import Limits
from scrapers.codes import Code
from scrapers.contract import Entry, Fetch, Index, Part, Reading, Scope
from scrapers.errors import SyncFailed
from scrapers.http import Client, Traffic, paced
from scrapers.telling import about, tell
from warehouse import audit
from warehouse.connection import WarehouseError, Working, in_words, published_path
from warehouse.load import Loaded
from warehouse.query import synced_as

BATCH = 25
"""Kernels a step fetches: large enough that a step's own cost does not count, small enough to be retried, and to be
mapped while the next ones are fetched."""

Result = TypeVar("Result")


class Step(Protocol):
    """Runs one named step; `retries` says how often it may be repeated when it fails."""

    def __call__(self, name: str, work: Callable[[], Awaitable[Result]], *, retries: int = 0) -> Awaitable[Result]:
        """Run `work` and return what it returns."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """What a sync is asked to do. `mode` is normal, full (no revalidation), offline or sample.

    `saved` are the files behind those of the scope's pages that are no addresses on the network.
    """

    scope: Scope = field(default_factory=Scope)
    base_url: str | None = None
    mode: str = "normal"
    dry_run: bool = False
    saved: tuple[Path, ...] = ()


async def directly(name: str, work: Callable[[], Awaitable[Result]], *, retries: int = 0) -> Result:  # noqa: ARG001  a step's face
    """Run a step as it is: the client retries what is worth retrying."""
    return await work()


def timed(step: Step) -> Step:
    """Return a step that also tells how long it took."""

    async def run(name: str, work: Callable[[], Awaitable[Result]], *, retries: int = 0) -> Result:
        begun = time.monotonic()
        result = await step(name, work, retries=retries)
        tell("step.done", step=name, seconds=round(time.monotonic() - begun, 3))
        return result

    return run


async def sync(
    source: Source,
    request: Request,
    settings: Settings,
    *,
    step: Step = directly,
    progress: Progress = silent,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    helper: Helper | None = None,
) -> Report:
    """Sync one source of one home: scrape, transform, load, publish. Returns the report, also of a failed sync.

    Raises `HomeBusy` when another sync holds the home, `SyncFailed` when it cannot begin (an unusable archive).
    Nothing is published by a sync that fails or is interrupted.
    """
    settings.home.mkdir(parents=True, exist_ok=True)
    with (
        holding(settings.home, f"kix sync {source.policy.slug}", settings.lock_timeout_s),
        Archive(settings.home / "archive.sqlite") as archive,
        Mapper(source, archive, settings.home / STAGED, helper) as mapper,
    ):
        run = _SyncRun(mapper, request, settings, progress, now)
        with about(sync_id=run.report.sync_id, source=source.policy.slug):
            await run.to_its_end(step)
        return run.report


class _SyncRun:
    """One sync's state on its way through the steps."""

    def __init__(
        self,
        mapper: Mapper,
        request: Request,
        settings: Settings,
        progress: Progress,
        now: Callable[[], datetime],
    ) -> None:
        source, archive = mapper.source, mapper.archive
        self._mapper = mapper
        self._source = source
        self._request = request
        self._settings = settings
        self._archive = archive
        self._progress = progress
        self._now = now
        policy = source.policy
        sample = request.mode == "sample"
        if not sample and request.base_url is None:
            request = self._request = replace(request, base_url=settings.base_urls.get(policy.slug))
        try:
            given = request.base_url and check_base_url(request.base_url)
        except ValueError as error:
            raise SyncFailed(f"the base URL of {policy.slug}: {error}", code=Code.SETTING) from None
        self._base_url = flows.sample.BASE_URL if sample else (given or policy.base_url).rstrip("/")
        self._published = published(settings.home, policy.slug)
        check_archive_is_whole(settings.home, archive, self._published.syncs)
        self._earlier = unpublished(archive, self._published.syncs)
        flows.sample.check_not_mixed(archive, synthetic=sample)
        self._record = self._open()
        self._traffic = Traffic()
        self._parts: list[Part] = []
        self._index: Index | None = None
        self.report = Report(
            self._record.sync_id, policy.slug, "failed", self._record.started_at, base_url=self._base_url,
            resumed=self._record.resumed, dry_run=request.dry_run, synthetic=sample,
            warehouse=str(published_path(settings.home)), kept=[str(archive.backup)] if archive.backup else [],
        )  # fmt: skip

    def _open(self) -> SyncRecord:
        mode = "dry-run" if self._request.dry_run else self._request.mode
        arguments = (self._source.policy.slug, self._base_url, self._request.scope, mode, self._now(), version("kix"))
        record = self._archive.open_sync(*arguments)
        ended = self._published.syncs.get(record.sync_id)
        if ended is None:
            return record
        # It was killed between publishing and writing so down.
        self._archive.close_sync(record.sync_id, *ended, {})
        return self._archive.open_sync(*arguments)

    async def to_its_end(self, step: Step) -> None:
        """Run the steps, and write down how that ended. Raises only what interrupts it."""
        report = self.report
        tell(
            "sync.started", base_url=self._base_url, mode=self._request.mode, dry_run=report.dry_run,
            resumed=report.resumed,
        )  # fmt: skip
        try:
            await self.run(timed(step))
        except (SyncFailed, WarehouseError) as error:
            report.status, report.error, report.error_code = "failed", str(error), error.code
        except (asyncio.CancelledError, KeyboardInterrupt):
            if not self.is_published():
                tell("sync.interrupted", logging.WARNING, code=Code.INTERRUPTED)
                raise
            # It came too late: the new state is there, and whole.
        self.close()
        report.tell()

    async def run(self, step: Step) -> None:
        """Run the steps in order."""
        slug = self._source.policy.slug
        async with self._fetching() as fetch:
            self._index = await step(f"read the index of {slug}", lambda: self._read_index(fetch), retries=1)
            entries = self._index.entries
            tell("index.read", listed=self._index.listed, chosen=len(entries))
            self._expect(entries)
            for start in range(0, len(entries), BATCH):
                batch = entries[start : start + BATCH]
                parts = "kernels" if self._source.boards else "pages"
                name = f"fetch {parts} {start + 1} to {start + len(batch)} of {len(entries)}"
                self._take(await step(name, lambda batch=batch: self._fetch(fetch, batch), retries=1))  # type: ignore[misc]
        await step("load", self._load_and_publish)

    def _expect(self, entries: tuple[Entry, ...]) -> None:
        before = sum(listing.listed for listing in self._published.listings.values())
        if not self._earlier:
            self._mapper.expect(sum(entry.stated or 0 for entry in entries) - before)

    def _take(self, parts: list[Part]) -> None:
        for number, part in enumerate(parts, len(self._parts)):
            # Where earlier syncs are loaded first, what is unchanged shows only then.
            if not self._earlier and not is_unchanged(self._source, part, self._published.listings.get(part.key)):
                self._mapper.ahead(number, part)
        self._parts += parts

    @asynccontextmanager
    async def _fetching(self) -> AsyncIterator[Fetch]:
        request, settings = self._request, self._settings
        if request.mode == "sample":
            flows.sample.put_into(self._archive, self._record.sync_id, self._now())
        sync_id = self._record.sync_id
        saved.put_into(self._archive, sync_id, self._now(), request.saved, settings.max_body_bytes)
        if request.mode in ("offline", "sample"):
            yield saved.WithSaved(Offline(self._archive, sync_id), self._archive, sync_id)
            return
        async with Client(
            paced(self._source.policy, settings.connections, settings.requests_per_s),
            self._archive,
            self._record.sync_id,
            user_agent=user_agent(settings),
            base_url=request.base_url,
            limits=limits(settings),
            revalidate=request.mode != "full",
            resumed=self._record.resumed,
            now=self._now,
        ) as client:
            self._traffic = client.traffic
            yield saved.WithSaved(client, self._archive, sync_id)

    async def _read_index(self, fetch: Fetch) -> Index:
        return await self._source.read_index(fetch, self._base_url, self._request.scope)

    async def _fetch(self, fetch: Fetch, batch: tuple[Entry, ...]) -> list[Part]:
        total = len(self._index.entries) if self._index else 0
        done = len(self._parts)

        async def one(entry: Entry) -> Part:
            nonlocal done
            part = await self._source.read_part(fetch, self._base_url, entry)
            done += 1
            self._progress("fetching", done, total)
            return part

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(entry)) for entry in batch]
        except ExceptionGroup as errors:
            # The first stopped the others; they have nothing to add.
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _load_and_publish(self) -> Loaded:
        with in_words(self._settings.home):
            return await self._load()

    async def _load(self) -> Loaded:
        if self._index is None:
            raise SyncFailed("nothing was read", code=Code.DEFECT)
        reading = Reading(self._request.scope, self._index, tuple(self._parts))
        self._archive.keep_reading(self._record.sync_id, reading)
        self._archive.checkpoint()
        working = Working(self._settings.home, self._settings.memory_limit, fresh=bool(self._earlier))
        try:
            await load_all(self._archive, working, self._earlier, progress=self._progress)
            self.report.reloaded = len(self._earlier)
            outcome = await load(
                self._mapper, self._record, reading, working.connection,
                finished_at=self._finish, progress=self._progress,
            )  # fmt: skip
            self._fill(outcome)
            tell("loaded", **{table: count for table, count in outcome.loaded.inserted.items() if count})
            self.report.audit = audit.counts(working.connection)
            if not self._request.dry_run:
                tell("published", warehouse=working.publish())
                self.report.kept += [str(working.backup)] if working.backup else []
        finally:
            working.discard()
        return outcome.loaded

    def _finish(self) -> datetime:
        self.report.finished_at = self._now()
        return self.report.finished_at

    def _fill(self, outcome: Outcome) -> None:
        """Fill in the report what the load came to."""
        report, loaded = self.report, outcome.loaded
        report.status, report.rejects, report.drift = outcome.status, outcome.rejects, outcome.drift
        report.inserted, report.unchanged, report.reviews = loaded.inserted, loaded.unchanged, loaded.reviews
        report.records = loaded.records
        report.incomplete = [part.locator for part in self._parts if part.key in loaded.incomplete]
        report.discovered = {
            "kernels": len(self._parts),
            "workloads": sum(part.workloads for part in self._parts),
            "submissions": sum(part.listed for part in self._parts),
        }
        if not self._source.boards:
            report.discovered = {"pages": len(self._parts), "kernels": 0, "workloads": 0, "submissions": 0}

    def is_published(self) -> bool:
        """Whether the published state holds this sync already."""
        return synced_as(self._settings.home, self._record.sync_id) is not None

    def close(self) -> None:
        """Complete the report and write down in the archive how the sync ended."""
        report = self.report
        if report.status == "failed" or report.finished_at is None:
            report.finished_at = self._now()
        traffic = self._traffic
        report.requests, report.not_modified, report.bytes = traffic.requests, traffic.not_modified, traffic.bytes
        ended = "dry-run" if report.dry_run and report.status != "failed" else report.status
        self._archive.close_sync(report.sync_id, ended, report.finished_at, report.as_dict())


def user_agent(settings: Settings) -> str:
    """Say who is asking: the program, its version, and the operator's contact where one is set."""
    contact = "".join(char for char in settings.contact if char.isascii() and char.isprintable())
    return f"kix/{version('kix')}" + (f" (+{contact})" if contact else "")


def limits(settings: Settings) -> Limits:
    """Return the client's bounds as the settings have them."""
    return Limits(
        body_bytes=settings.max_body_bytes,
        expansion=settings.max_expansion,
        redirects=settings.max_redirects,
        connect_s=settings.connect_timeout_s,
        read_s=settings.read_timeout_s,
        answer_s=settings.answer_timeout_s,
        attempts=settings.attempts,
        retry_s=settings.retry_timeout_s,
        wait_max_s=settings.max_wait_s,
        crawl_delay_s=settings.max_crawl_delay_s,
        robots_bytes=settings.max_robots_bytes,
    )
