"""Make a warehouse anew from the archive alone, sync by sync, with the mapping of this kix."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flows.history import ended_well, syncs_published
from flows.loading import load_all
from flows.lock import holding
from flows.progress import Progress, silent
from flows.settings import Settings
from scrapers.archive import Archive
from scrapers.codes import Code
from scrapers.errors import SyncFailed
from warehouse.connection import WarehouseError, Working, bounded, in_words, published_path, reading
from warehouse.proof import differences
from warehouse.query import Ended


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild came to: syncs loaded again, and how the new state differs from the old one, in words."""

    syncs: int
    warehouse: str
    changed: list[str]


async def rebuild(settings: Settings, *, progress: Progress = silent) -> Rebuilt:
    """Replace the home's warehouse by one made from its archive, whole or not at all.

    Raises `HomeBusy`, `SyncFailed` (nothing to build from, or an archive that cannot be read), `WarehouseError`.
    """
    home = settings.home
    if not (home / "archive.sqlite").exists():
        raise WarehouseError(f"no archive in {home}: there is nothing to rebuild from", code=Code.ARCHIVE_EMPTY)
    with (
        holding(home, "kix rebuild", settings.lock_timeout_s),
        Archive(home / "archive.sqlite") as archive,
        in_words(home),
    ):
        syncs = ended_well(archive, _published(home))
        if not syncs:
            words = f"the archive of {home} holds no sync that ended well: there is nothing to rebuild"
            raise SyncFailed(words, code=Code.ARCHIVE_EMPTY)
        working = Working(home, settings.memory_limit, fresh=True)
        try:
            await load_all(archive, working, syncs, progress=progress)
            changed = _changed(settings, working.seal())
            path = working.publish()
            changed += [
                f"kept as it was, with its other schema: {one}" for one in (archive.backup, working.backup) if one
            ]
            return Rebuilt(len(syncs), str(path), changed)
        finally:
            working.discard()


def _published(home: Path) -> dict[int, Ended]:
    try:
        return syncs_published(home)
    except WarehouseError:
        return {}  # it cannot be read: the archive alone decides


def _changed(settings: Settings, made: Path) -> list[str]:
    """Say how the new state differs from the one that is there, as far as that can be read."""
    if not published_path(settings.home).exists():
        return ["there was no warehouse before"]
    try:
        with reading(settings.home) as db:
            bounded(db, settings.memory_limit, made.with_name(made.name + ".tmp"))
            return [f"{table}: {detail}" for table, detail in differences(db, made, ("gone", "new"))]
    except WarehouseError as error:
        return [f"what was there before could not be compared: {error}"]
