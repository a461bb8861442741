"""How fresh each source is, from the archive: what `kix status --check`, the metrics and the artifacts say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flows import lock
from flows.registry import SOURCES
from flows.schedule import stale_after_h
from flows.settings import Settings
from scrapers.archive import Archive, SyncRecord
from scrapers.errors import SyncFailed

CLOCK_TOLERANCE = timedelta(minutes=5)
"""How far the clocks of those who write and read a home may differ."""

GOOD = frozenset({"complete", "partial"})


@dataclass(frozen=True, slots=True)
class Freshness:
    """A source's state. `read_at` is when its last whole sync ended, None when there was none.

    `last_status` is how its latest sync ended (`interrupted` when it was killed), `failing_since` when the first of the
    latest syncs began that all failed or were interrupted.
    """

    source: str
    read_at: datetime | None
    stale_after_h: float
    last_status: str | None
    failing_since: datetime | None
    now: datetime

    @property
    def stale(self) -> bool:
        """Whether the last whole sync is longer ago than the policy allows, or there was none.

        One that the clock says is yet to come proves nothing: a clock was wrong, then or now.
        """
        return self.read_at is None or self._ahead or self.now - self.read_at > timedelta(hours=self.stale_after_h)

    @property
    def _ahead(self) -> bool:
        return self.read_at is not None and self.read_at - self.now > CLOCK_TOLERANCE

    @property
    def troubled(self) -> bool:
        """Whether somebody should look: it is stale, or its latest sync failed."""
        return self.stale or self.failing_since is not None

    def sentence(self) -> str:
        """Say it in words, with the times in UTC."""
        if self.read_at is None:
            words = f"{self.source}: never read as a whole"
        elif self._ahead:
            words = f"{self.source}: last read {_time(self.read_at)}, which is yet to come: the clock is or was wrong"
        else:
            due = self.read_at + timedelta(hours=self.stale_after_h)
            told = f"stale since {_time(due)}" if self.stale else "fresh"
            words = f"{self.source}: {told}, last read {_time(self.read_at)} (policy: {self.stale_after_h:g} h)"
        if self.failing_since is not None:
            words += (
                f"; its last sync {_ENDED[self.last_status or '']}, nothing went well since {_time(self.failing_since)}"
            )
        return words


_ENDED = {"failed": "failed", "interrupted": "was interrupted"}


def freshness(settings: Settings, *, now: datetime | None = None) -> list[Freshness]:
    """Return the freshness of every enabled source; where none is enabled, of every source that was ever read here.

    Raises `SyncFailed` when the archive cannot be read.
    """
    moment = now or datetime.now(UTC)
    path = settings.home / "archive.sqlite"
    if not path.exists():
        return [_of(settings, slug, [], moment) for slug in settings.sources]
    busy = lock.owner(settings.home) is not None
    with Archive(path, read_only=True) as archive:
        read = {sync.source for sync in archive.syncs()} & SOURCES.keys()
        slugs = [slug for slug in settings.sources if slug in SOURCES] or sorted(read)
        return [
            _of(settings, slug, _ended(archive.syncs(slug, newest_first=True), busy=busy), moment) for slug in slugs
        ]


def _ended(syncs: Iterable[SyncRecord], *, busy: bool) -> list[SyncRecord]:
    """The syncs that ended, newest first; one that runs now has not, and a dry run says nothing."""
    return [one for one in syncs if one.status != "dry-run" and not (busy and one.status == "running")]


def _of(settings: Settings, slug: str, syncs: list[SyncRecord], now: datetime) -> Freshness:
    read_at = next((one.finished_at for one in syncs if one.status in GOOD and _whole(one)), None)
    failing = []
    for one in syncs:
        if one.status in GOOD:
            break
        failing.append(one)
    status = (syncs[0].status if syncs[0].status in {*GOOD, "failed"} else "interrupted") if syncs else None
    since = failing[-1].started_at if failing else None
    return Freshness(slug, read_at, stale_after_h(settings, slug), status, since, now)


def _whole(sync: SyncRecord) -> bool:
    """Whether the sync asked its source for everything; the warehouse's views go by the same rule."""
    scope = json.loads(sync.scope)
    narrowed = scope["kernels"] or scope["tag"] is not None or scope["limit"] is not None or scope.get("pages")
    return not narrowed and scope["mode"] != "offline"


def unread(settings: Settings, slug: str) -> bool:
    """Whether a source waits to be read: it never was, or its latest sync was killed and nobody works now."""
    path: Path = settings.home / "archive.sqlite"
    if not path.exists():
        return True
    if lock.owner(settings.home) is not None:
        return False
    try:
        with Archive(path, read_only=True) as archive:
            last = next(archive.syncs(slug, newest_first=True), None)
    except SyncFailed:
        return True  # the sync says better what is the matter
    return last is None or last.status in {"running", "interrupted"}


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
