"""Make a warehouse anew from the archive alone, sync by sync, with the mapping of this kix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from flows.loading import Progress, load, silent
from flows.lock import holding
from flows.registry import SOURCES
from flows.settings import Settings
from scrapers.archive import Archive, SyncRecord
from scrapers.errors import SyncFailed
from warehouse.connection import Connection, WarehouseError, Working, in_words, published_path
from warehouse.proof import differences

LOADED = frozenset({"complete", "partial"})
"""Syncs that brought rows; the others are told of by the next that did."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild came to: syncs loaded again, and how the new state differs from the old one, in words."""

    syncs: int
    warehouse: str
    changed: list[str]


async def load_all(archive: Archive, connection: Connection, *, progress: Progress = silent, last: int | None) -> int:
    """Load every sync of the archive in order, up to the sync `last`. Returns how many there were."""
    syncs = [sync for sync in archive.syncs() if sync.status in LOADED and (last is None or sync.sync_id <= last)]
    for place, sync in enumerate(syncs, 1):
        if sync.source not in SOURCES:
            raise SyncFailed(f"sync {sync.sync_id} is of the source {sync.source}, which this kix does not know")
        await load(
            SOURCES[sync.source], sync, archive.reading(sync.sync_id), archive, connection,
            finished_at=_ended(sync), checked=place == len(syncs),
        )  # fmt: skip
        progress("syncs", place, len(syncs))
    return len(syncs)


def _ended(sync: SyncRecord) -> Callable[[], datetime]:
    if sync.finished_at is None:
        raise SyncFailed(f"the archive does not say when sync {sync.sync_id} ended; restore the archive")
    return lambda ended=sync.finished_at: ended  # type: ignore[misc]


async def rebuild(settings: Settings, *, progress: Progress = silent) -> Rebuilt:
    """Replace the home's warehouse by one made from its archive, whole or not at all.

    Raises `HomeBusy`, `SyncFailed` (nothing to build from, or an archive that cannot be read), `WarehouseError`.
    """
    home = settings.home
    if not (home / "archive.sqlite").exists():
        raise WarehouseError(f"no archive in {home}: there is nothing to rebuild from")
    with holding(home, "kix rebuild", settings.lock_timeout_s), Archive(home / "archive.sqlite") as archive:
        working = Working(home, settings.memory_limit, fresh=True)
        try:
            with in_words(home):
                count = await load_all(archive, working.connection, progress=progress, last=None)
                if not count:
                    raise SyncFailed(
                        f"the archive of {home} holds no sync that ended well: there is nothing to rebuild"
                    )
                old = published_path(home)
                changed = [f"{table}: {detail}" for table, detail in differences(working.connection, old)]
                return Rebuilt(count, str(working.publish()), changed)
        finally:
            working.discard()
