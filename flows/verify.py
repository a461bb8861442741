"""Let the warehouse prove itself: every rule, every digest, every figure, and every row against the archive."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from flows.history import ended_well
from flows.loading import load_all
from flows.settings import Settings
from scrapers.archive import Archive
from scrapers.errors import SyncFailed
from warehouse import proof
from warehouse.checks import checks
from warehouse.connection import Connection, WarehouseError, Working, bounded, check_published, in_words, reading
from warehouse.migrations import check_schema
from warehouse.query import last_loaded, published_syncs

MOST_SHOWN = 40
SAME = "every row is what the archive gives"
HINT = (
    "if kix was updated since, its mapping may be better: `kix rebuild`; what was said a moment ago comes with the next"
    " sync; else restore a backup, or `kix rebuild`"
)


@dataclass(frozen=True, slots=True)
class Proof:
    """One thing that was checked: what, how often it does not hold, and the first of these, in words."""

    what: str
    broken: int
    examples: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing is broken."""
        return not self.broken


async def verify(settings: Settings) -> AsyncIterator[Proof]:
    """Yield one proof after another. Changes nothing. Raises `WarehouseError` when there is no warehouse.

    A file that cannot be read is a proof that does not hold; none comes after it.
    """
    check_published(settings.home)
    try:
        with tempfile.TemporaryDirectory(prefix="kix-verify-") as folder, reading(settings.home) as db:
            check_schema(db)
            bounded(db, settings.memory_limit, Path(folder) / "spilled")
            for found in _by_itself(db):
                yield found
            async for found in _by_its_archive(settings, db, Path(folder)):
                yield found
    except WarehouseError as error:
        yield Proof("the warehouse can be read", 1, (str(error),))


def _by_itself(db: Connection) -> Iterator[Proof]:
    for name, find in checks():
        yield _proof(name.replace("_", " "), partial(find, db))
    yield _proof("every digest is that of its manifest", partial(proof.digests, db))
    yield _proof("every run is as its manifest says, its comparison key too", partial(proof.run_columns, db))
    yield _proof("every latency is the source's own digits", partial(proof.source_digits, db))


async def _by_its_archive(settings: Settings, db: Connection, folder: Path) -> AsyncIterator[Proof]:
    try:
        with Archive(settings.home / "archive.sqlite", read_only=True) as archive:
            yield _proof("every answer is in the archive, byte for byte", partial(proof.archived, db, archive))
            yield _proof("every report of a sync can be read", partial(_broken_reports, archive))
            yield await _same_as_archive(settings, archive, db, folder)
    except SyncFailed as error:
        yield Proof("the archive can be read", 1, (str(error),))


def _broken_reports(archive: Archive) -> Iterator[tuple[str, str]]:
    for sync_id in archive.broken_reports():
        yield f"sync {sync_id}", "its report in the archive is damaged; restore the archive"


def _proof(what: str, find: Callable[[], Iterable[tuple[str, str]]]) -> Proof:
    broken = iter(find())
    shown = [f"{subject}: {detail}" for subject, detail in islice(broken, MOST_SHOWN)]
    return Proof(what, len(shown) + sum(1 for _ in broken), tuple(shown))


async def _same_as_archive(settings: Settings, archive: Archive, db: Connection, folder: Path) -> Proof:
    try:
        with in_words(folder):
            made = await _made_anew(settings, archive, db, folder)
    except (SyncFailed, WarehouseError) as error:
        return Proof(SAME, 1, (f"nothing can be made from the archive: {error}",))
    found = _proof(SAME, partial(proof.differences, db, made))
    return found if found.holds else Proof(SAME, found.broken, (*found.examples, HINT))


async def _made_anew(settings: Settings, archive: Archive, db: Connection, folder: Path) -> Path:
    """Make in `folder` what the archive gives up to the last sync that is published: a later one may be under way."""
    published, last = published_syncs(db), last_loaded(db)
    working = Working(folder, settings.memory_limit)
    try:
        syncs = [sync for sync in ended_well(archive, published) if sync.sync_id <= last]
        await load_all(archive, working, syncs)
        return working.seal()
    except BaseException:
        working.discard()
        raise
