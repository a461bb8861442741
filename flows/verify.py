"""Let the warehouse prove itself: every rule, every digest, every figure, and every row against the archive."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from flows.rebuild import load_all
from flows.settings import Settings
from scrapers.archive import Archive
from scrapers.errors import SyncFailed
from warehouse import proof
from warehouse.checks import checks
from warehouse.connection import Connection, Working, first_row, in_words, published_path, reading

MOST_SHOWN = 20


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
    """Yield one proof after another. Changes nothing. Raises `WarehouseError` when there is no warehouse."""
    home = settings.home
    with reading(home) as db:
        for name, find in checks():
            yield _proof(name.replace("_", " "), partial(find, db))
        yield _proof("every digest is that of its manifest", partial(proof.digests, db))
        yield _proof("every run is as its manifest says, its comparison key too", partial(proof.run_columns, db))
        yield _proof("every latency is the source's own digits", partial(proof.source_digits, db))
        last = (first_row(db, "SELECT max(sync_id) FROM syncs WHERE status IN ('complete', 'partial')") or (None,))[0]
        try:
            with Archive(home / "archive.sqlite", read_only=True) as archive:
                yield _proof("every answer is in the archive, byte for byte", partial(proof.archived, db, archive))
                yield await _same_as_archive(settings, archive, last)
        except SyncFailed as error:
            yield Proof("every row is what the archive gives", 1, (str(error),))


def _proof(what: str, find: Callable[[], Iterable[tuple[str, str]]]) -> Proof:
    broken = iter(find())
    shown = [f"{subject}: {detail}" for subject, detail in islice(broken, MOST_SHOWN)]
    return Proof(what, len(shown) + sum(1 for _ in broken), tuple(shown))


async def _same_as_archive(settings: Settings, archive: Archive, last: int | None) -> Proof:
    with tempfile.TemporaryDirectory(prefix="kix-verify-") as folder, in_words(Path(folder)):
        working = Working(Path(folder), settings.memory_limit)
        try:
            await load_all(archive, working.connection, last=last)
            return _against(working.connection, settings.home)
        finally:
            working.discard()


def _against(connection: Connection, home: Path) -> Proof:
    found = _proof("every row is what the archive gives", lambda: proof.differences(connection, published_path(home)))
    if found.holds:
        return found
    hint = "if kix was updated since, its mapping may be better: `kix rebuild`; else restore a backup, or `kix rebuild`"
    return Proof(found.what, found.broken, (*found.examples, hint))
