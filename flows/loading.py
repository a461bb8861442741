"""Load what a sync read into a working copy: parse, map, stage, and turn into rows. A sync does it, and so does a
rebuild from the archive, years later: the reading and the archive are all it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from flows.mapping import STAGED_AGAIN, Mapper
from flows.progress import Progress, silent
from flows.registry import SOURCES, Source
from scrapers.archive import Archive, SyncRecord
from scrapers.codes import Code
from scrapers.contract import Drift, Findings, Part, Reading, Reject, merge_drift
from scrapers.errors import SyncFailed
from transforms.bundle import Bundle
from warehouse.connection import Connection, Working
from warehouse.load import Loaded, Loader, Turn
from warehouse.query import KnownListing

ALONE = Turn()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a load came to: `status` is complete, or partial when anything was rejected."""

    status: str
    rejects: list[Reject]
    drift: list[Drift]
    loaded: Loaded


async def load(
    mapper: Mapper,
    sync: SyncRecord,
    reading: Reading,
    connection: Connection,
    *,
    finished_at: Callable[[], datetime],
    progress: Progress = silent,
    turn: Turn = ALONE,
) -> Outcome:
    """Load a reading into a working copy. `finished_at` is asked when all is staged.

    Raises `WarehouseError` when a check fails, `ArchiveDamaged` when a body is gone; the copy is of no use then.
    """
    loader = Loader(connection, sync, turn)
    known = loader.known_listings()
    found = Findings()
    parts = [_doubted(part, known.get(part.key)) for part in reading.parts]
    for number, part in enumerate(parts):
        if not is_unchanged(mapper.source, part, known.get(part.key)):
            mapper.ahead(number, part)
    mapped = await mapper.mapped(progress)
    for number, part in enumerate(parts):
        rest = mapped.get(number, Findings())
        rejects, drift = [*part.rejects, *rest.rejects], [*part.drift, *rest.drift]
        found.rejects += rejects
        found.drift += drift
        if mapper.source.boards:
            entries_sync = None if number in mapped else known[part.key].entries_sync
            mapper.staging.add(number, _listing(part, entries_sync, clean=not rejects and not drift))
    mapper.staging.complete()
    found.rejects += loader.read_staged(mapper.staging.folder)
    found.rejects += _missing(sync, reading, loader.last_whole_reading())
    rejects = [*reading.index.rejects, *found.rejects]
    drift = list(merge_drift([*reading.index.drift, *found.drift]))
    # Whatever makes a listing incomplete is a reject too.
    status = "partial" if rejects else "complete"
    loaded = loader.finish(mapper.archive, status, finished_at(), rejects, drift)
    return Outcome(status, rejects, drift, loaded)


def is_unchanged(source: Source, part: Part, before: KnownListing | None) -> bool:
    """Whether a board's bytes are the same as last time, and all of them were used: there is nothing to map then."""
    if not source.boards or before is None or not before.clean:
        return False
    return (part.complete, part.listing_digest, part.definition) == (
        before.complete, before.body_digest, before.definition_digest,
    )  # fmt: skip


def _doubted(part: Part, before: KnownListing | None) -> Part:
    """Return a part whose listing became empty as incomplete: that is believed only where the index says zero too."""
    if before is None or not before.listed or part.listed or not part.complete or part.stated == 0:
        return part
    reason = f"the listing is empty and held {before.listed} before: to be looked at, nothing is withdrawn"
    return replace(
        part, complete=False, rejects=(*part.rejects, Reject(part.locator, part.key, reason, Code.LISTING_INCOMPLETE))
    )


def _listing(part: Part, entries_sync: int | None, *, clean: bool) -> Bundle:
    bundle = Bundle()
    bundle.add(
        "listings", part.key, part.complete, part.listing_digest, part.definition, part.listed, clean, entries_sync
    )
    return bundle


def _missing(sync: SyncRecord, reading: Reading, before: frozenset[str]) -> list[Reject]:
    """Kernels of the last whole sync that are no longer listed: told once, and nothing is withdrawn for them."""
    if not reading.scope.whole:
        return []
    gone = sorted(before - {part.key for part in reading.parts})
    reason = f"{len(gone)} of {len(before)} kernels are no longer on the kernel list: to be looked at"
    return [Reject(f"{sync.base_url}/kernels", ", ".join(gone), reason, Code.LISTING_INCOMPLETE)] if gone else []


async def load_all(archive: Archive, working: Working, syncs: list[SyncRecord], *, progress: Progress = silent) -> None:
    """Load syncs of the archive in order."""
    for place, sync in enumerate(syncs, 1):
        if sync.source not in SOURCES:
            words = f"sync {sync.sync_id} is of the source {sync.source}, which this kix does not know"
            raise SyncFailed(words, code=Code.SCHEMA)
        with Mapper(SOURCES[sync.source], archive, working.home / STAGED_AGAIN) as mapper:
            await load(
                mapper, sync, archive.reading(sync.sync_id), working.connection,
                finished_at=_ended(sync), turn=Turn(first=place == 1, last=place == len(syncs)),
            )  # fmt: skip
        progress("syncs", place, len(syncs))


def _ended(sync: SyncRecord) -> Callable[[], datetime]:
    if sync.finished_at is None:
        words = f"the archive does not say when sync {sync.sync_id} ended; restore the archive"
        raise SyncFailed(words, code=Code.ARCHIVE_INCOMPLETE)
    return lambda ended=sync.finished_at: ended  # type: ignore[misc]
