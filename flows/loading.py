"""Load what a sync read into a working copy: parse, map, stage, and turn into rows. A sync does it, and so does a
rebuild from the archive, years later: the reading and the archive are all it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from flows.registry import Source
from scrapers.archive import Archive, SyncRecord
from scrapers.contract import Drift, Findings, Part, Reading, Reject, merge_drift
from transforms.bundle import Bundle
from warehouse.connection import Connection
from warehouse.load import KnownListing, Loaded, Loader, Turn

STAGE_ROWS = 20_000
ALONE = Turn()


class Progress(Protocol):
    """Is told how far a sync is."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take note: `done` of `total` in this stage."""
        ...


def silent(stage: str, done: int, total: int) -> None:
    """Show no progress."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a load came to: `status` is complete, or partial when anything was rejected."""

    status: str
    rejects: list[Reject]
    drift: list[Drift]
    loaded: Loaded


async def load(
    source: Source,
    sync: SyncRecord,
    reading: Reading,
    archive: Archive,
    connection: Connection,
    *,
    finished_at: Callable[[], datetime],
    progress: Progress = silent,
    turn: Turn = ALONE,
) -> Outcome:
    """Load a reading into a working copy, in one transaction. `finished_at` is asked when all is staged.

    Raises `WarehouseError` when a check fails, `ArchiveDamaged` when a body is gone; nothing is committed then.
    """
    loader = Loader(connection, sync, turn)
    known = loader.known_listings()
    found = Findings()
    for done, bundle in _bundles(source, reading, archive, known):
        loader.add(bundle)
        found.rejects += bundle.rejects
        found.drift += bundle.drift
        progress("loading", done, len(reading.parts))
        await asyncio.sleep(0)  # an interrupt is heard here
    found.rejects += loader.listed_twice()
    found.rejects += _missing(sync, reading, loader.last_whole_reading())
    rejects = [*reading.index.rejects, *found.rejects]
    drift = list(merge_drift([*reading.index.drift, *found.drift]))
    # Whatever makes a listing incomplete is a reject too.
    status = "partial" if rejects else "complete"
    loaded = loader.finish(archive, status, finished_at(), rejects, drift)
    return Outcome(status, rejects, drift, loaded)


def _bundles(
    source: Source, reading: Reading, archive: Archive, known: dict[str, KnownListing]
) -> Iterator[tuple[int, Bundle]]:
    """Yield bundles of a size worth staging, each with how many parts are done by then."""
    bundle = Bundle()
    for done, part in enumerate(reading.parts, 1):
        bundle.extend(_bundle_of(source, part, archive, known.get(part.key)))
        if len(bundle) >= STAGE_ROWS:
            yield done, bundle
            bundle = Bundle()
    yield len(reading.parts), bundle


def _bundle_of(source: Source, part: Part, archive: Archive, before: KnownListing | None) -> Bundle:
    if before is not None and before.listed and not part.listed and part.complete and part.stated != 0:
        # Zero after non-zero is believed only where the index says zero too.
        reason = f"the listing is empty and held {before.listed} before: to be looked at, nothing is withdrawn"
        part = replace(part, complete=False, rejects=(*part.rejects, Reject(part.locator, part.key, reason)))
    if source.boards and before is not None and before.clean and _same(part, before):
        # The same bytes as last time, all of them used: there is nothing to parse.
        bundle, entries_sync = Bundle(), before.entries_sync
    else:
        bundle = source.transform(part, source.parse(part, archive.body))
        entries_sync = None
    bundle.rejects[:0] = part.rejects
    bundle.drift[:0] = part.drift
    if source.boards:
        clean = not bundle.rejects and not bundle.drift
        bundle.add(
            "listings", part.key, part.complete, part.listing_digest, part.definition, part.listed, clean, entries_sync
        )
    return bundle


def _same(part: Part, before: KnownListing) -> bool:
    return (part.complete, part.listing_digest, part.definition) == (
        before.complete, before.body_digest, before.definition_digest,
    )  # fmt: skip


def _missing(sync: SyncRecord, reading: Reading, before: frozenset[str]) -> list[Reject]:
    """Kernels of the last whole sync that are no longer listed: told once, and nothing is withdrawn for them."""
    if not reading.scope.whole:
        return []
    gone = sorted(before - {part.key for part in reading.parts})
    reason = f"{len(gone)} of {len(before)} kernels are no longer on the kernel list: to be looked at"
    return [Reject(f"{sync.base_url}/kernels", ", ".join(gone), reason)] if gone else []
