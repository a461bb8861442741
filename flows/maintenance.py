"""Keep a home small: give the archive's unused space back, and drop snapshots that the policy no longer keeps.

Nothing that was fetched is ever dropped: bodies, fetches and readings stay for good.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from flows.lock import holding
from flows.settings import Settings
from flows.snapshots import prune
from scrapers.archive import Archive
from scrapers.codes import Code
from scrapers.telling import tell
from warehouse.connection import WarehouseError

WORTHWHILE = 0.1
"""Share of the file that must be unused before the archive is written anew, which costs its size in disk and time."""

ROOM = 2.2
"""Free disk, in sizes of the archive, that VACUUM may need: a copy, and a write-ahead log of the same size."""


KEEP_BACKUPS = timedelta(days=30)
"""How long the file from before an upgrade is kept: long enough to notice that something is amiss and go back."""


@dataclass(frozen=True, slots=True)
class Maintained:
    """What maintenance did: sizes of the archive in bytes, why it was or was not compacted, snapshots and backups
    dropped."""

    archive_before: int
    archive_after: int
    archive_words: str
    dropped: list[str]
    backups: list[str]

    def sentence(self) -> str:
        """Say it in one sentence."""
        words = f"{self.archive_words}; {len(self.dropped)} snapshots were dropped"
        return f"{words}; old backups too: {', '.join(self.backups)}" if self.backups else words


def maintain(settings: Settings, *, compact_always: bool = False) -> Maintained:
    """Compact the archive where it is worthwhile and fits, and drop old snapshots and backups.

    Holds the home's lock meanwhile. Raises `HomeBusy`, `SyncFailed` when the archive cannot be used, and
    `WarehouseError` when the folder of snapshots cannot.
    """
    settings.home.mkdir(parents=True, exist_ok=True)
    with holding(settings.home, "kix maintain", settings.lock_timeout_s):
        before, after, words = _compact(settings.home / "archive.sqlite", always=compact_always)
        done = Maintained(before, after, words, _drop_snapshots(settings), _drop_backups(settings.home))
    tell("maintained", bytes_before=before, bytes_after=after, dropped=len(done.dropped), words=done.sentence())
    return done


def _compact(path: Path, *, always: bool) -> tuple[int, int, str]:
    if not path.exists():
        return 0, 0, "there is no archive yet"
    with Archive(path) as archive:
        archive.checkpoint()
        before = path.stat().st_size
        unused = archive.unused_share() * before
        if unused < WORTHWHILE * before and not always:
            return (
                before,
                before,
                f"the archive has {unused / 1e6:,.1f} MB unused of {before / 1e6:,.1f}: left as it is",
            )
        free = shutil.disk_usage(path.parent).free
        if free < ROOM * before:
            return (
                before,
                before,
                f"the archive was not compacted: {free / 1e6:,.0f} MB free, {ROOM:g} times its size needed",
            )
        archive.compact()
    after = path.stat().st_size
    return before, after, f"the archive was compacted from {before / 1e6:,.1f} to {after / 1e6:,.1f} MB"


def export_folder(settings: Settings) -> Path:
    """Where scheduled exports go. Raises `WarehouseError` for a symbolic link in the home: `export_dir` is for that."""
    if settings.export_dir is not None:
        return settings.export_dir
    folder = settings.home / "export"
    if folder.is_symlink():
        words = f"{folder} is a symbolic link: name the folder itself, KIX_EXPORT_DIR={folder.resolve()}"
        raise WarehouseError(words, code=Code.FILE_UNUSABLE)
    return folder


def _drop_snapshots(settings: Settings) -> list[str]:
    if settings.keep_snapshots is None and settings.keep_snapshots_days is None:
        return []
    if not (export_folder(settings) / "snapshots").is_dir():
        return []
    return prune(export_folder(settings), keep=settings.keep_snapshots, keep_days=settings.keep_snapshots_days)


def _drop_backups(home: Path) -> list[str]:
    """Drop what was kept from before an upgrade, once the upgrade is long ago."""
    # When it was given its name; its own age may be that of the last sync before.
    old = [
        path
        for path in home.glob("*.schema-*.bak")
        if time.time() - path.stat().st_ctime > KEEP_BACKUPS.total_seconds()
    ]
    for path in old:
        path.unlink()
    return sorted(path.name for path in old)
