"""Look a home over, fast and without changing anything: what is well, what is not, and what to do about it.

It works on a broken home, which is what it is for: each thing is looked at on its own, whatever became of the others.
"""

from __future__ import annotations

import difflib
import os
import shutil
import stat
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from flows import lock, prefect_server
from flows.console import setting_problem
from flows.history import check_archive_is_whole, syncs_published, unpublished
from flows.settings import Settings, load_settings
from scrapers.archive import SCHEMA_VERSION, SQLITE_VERSION, Archive
from scrapers.codes import Code, CodedError
from scrapers.errors import ArchiveDamaged, SyncFailed
from warehouse.connection import WAREHOUSE, WORKING, WarehouseError, applied, published_path, reading
from warehouse.migrations import check_schema

OK, WARNING, BROKEN = "ok", "warning", "broken"

ARCHIVE = "archive.sqlite"
KNOWN = frozenset({
    WAREHOUSE, ARCHIVE, f"{ARCHIVE}-wal", f"{ARCHIVE}-shm", "kix.toml", "export", "sample", prefect_server.FOLDER,
    lock.LOCK, f"{lock.LOCK}.owner",
})  # fmt: skip
"""What belongs in a home."""

LEFT = (WORKING, f"{lock.LOCK}.owner.", f"{WAREHOUSE}.wal", ".part")
"""How the names begin or end of what a killed process leaves."""

NEEDED = 2
"""Free disk that a sync needs, in sizes of what is there: a copy of the warehouse, its temporary files, and the log."""

SPARE_BYTES = 256_000_000
LOOKED_THROUGH_BYTES = 32_000_000
"""Largest archive that is looked through page by page; for a larger one that takes longer than a look may."""

NEWEST_BODIES = 20
HEALTH_S = 2.0
CLOCK_TOLERANCE = timedelta(minutes=5)
OUR_VARIABLES = frozenset({"KIX_SERVE_PID"})
"""Variables in the environment that are no settings."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `state` is ok, warning or broken; `remedy` says what to do when it is not ok.

    `code` is that of the error, where there was one.
    """

    what: str
    state: str
    value: str
    remedy: str = ""
    code: str | None = None


def examine(home: Path, now: datetime | None = None) -> Iterator[Finding]:
    """Yield what is found, one thing after the other. Changes nothing and raises nothing."""
    moment = now or datetime.now(UTC)
    looks: tuple[tuple[str, Callable[[], Iterable[Finding]]], ...] = (
        ("home", lambda: _home(home)),
        ("disk", lambda: _disk(home)),
        ("lock", lambda: _lock(home)),
        ("versions", _versions),
        ("settings", lambda: _settings(home)),
        ("archive", lambda: _archive(home)),
        ("warehouse", lambda: _warehouse(home)),
        ("history", lambda: _history(home)),
        ("clock", lambda: _clock(home, moment)),
        ("prefect", lambda: _prefect(home)),
        ("files", lambda: _files(home)),
    )
    for what, look in looks:
        try:
            yield from look()
        except (OSError, SyncFailed, WarehouseError) as error:
            told, code = str(error), Code.FILE_UNUSABLE
            if isinstance(error, CodedError):
                code = error.code
            else:
                told = f"{error.strerror or error} ({error.filename})"
            yield Finding(what, BROKEN, f"it could not be looked at: {told}", "see what is broken above", code)


def _home(home: Path) -> Iterator[Finding]:
    try:
        mode = home.stat()
    except FileNotFoundError:
        yield Finding("home", WARNING, f"{home} is not there", "`kix sync` makes it; another one: --home or KIX_HOME")
        return
    if not stat.S_ISDIR(mode.st_mode):
        yield Finding("home", BROKEN, f"{home} is no folder", "choose another: --home or KIX_HOME")
        return
    if not os.access(home, os.R_OK | os.X_OK):
        yield Finding("home", BROKEN, f"{home} cannot be read by you", _whose(home))
        return
    shut = [path for path in (home, home / ARCHIVE) if path.exists() and not os.access(path, os.W_OK)]
    if os.statvfs(home).f_flag & os.ST_RDONLY:
        yield Finding(
            "home", WARNING, f"{home} is on a read-only file system", "it can be asked; a sync needs to write"
        )
    elif shut:
        yield Finding(
            "home", WARNING, f"{shut[0]} cannot be written to by you: asking works, a sync fails", _whose(home)
        )
    elif mode.st_mode & stat.S_IWOTH:
        yield Finding("home", WARNING, f"everybody on this machine may change {home}", f"chmod o-w {home}")
    else:
        yield Finding("home", OK, str(home))


def _whose(path: Path) -> str:
    return f"run kix as its owner (user id {path.stat().st_uid}), or give yourself the rights"


def _disk(home: Path) -> Iterator[Finding]:
    there = next(path for path in (home.absolute(), *home.absolute().parents) if path.is_dir())
    free = shutil.disk_usage(there).free
    held = sum(path.stat().st_size for path in (published_path(home), home / ARCHIVE) if path.exists())
    needed = NEEDED * held
    value = f"{free / 1e6:,.0f} MB free, archive and warehouse hold {held / 1e6:,.1f} MB"
    remedy = "make room: `kix maintain` compacts the archive, KIX_KEEP_SNAPSHOTS bounds the exports"
    if free < needed:
        yield Finding("disk", BROKEN, f"{value}: a sync needs {needed / 1e6:,.1f} MB", remedy)
    elif free < needed + SPARE_BYTES:
        yield Finding("disk", WARNING, f"{value}: that is little more than a sync needs", remedy)
    else:
        yield Finding("disk", OK, value)


def _lock(home: Path) -> Iterator[Finding]:
    held = lock.owner(home) if home.is_dir() else None
    yield Finding("lock", OK, "nobody works on the home" if held is None else f"held by {lock.owner_text(home)}")


def _versions() -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding(
        "versions", OK,
        f"kix {version('kix')}, Python {python}, DuckDB {version('duckdb')}, SQLite {SQLITE_VERSION}",
    )  # fmt: skip


def _settings(home: Path) -> Iterator[Finding]:
    names = {f"KIX_{name.upper()}" for name in Settings.model_fields}
    for unknown in sorted({name for name in os.environ if name.startswith("KIX_")} - names - OUR_VARIABLES):
        close = difflib.get_close_matches(unknown, names, 1)
        remedy = f"is {close[0]} meant?" if close else "unset it; flows/settings.py has all settings"
        yield Finding("settings", WARNING, f"{unknown} is no setting: it does nothing", remedy)
    try:
        settings = load_settings(home)
    except ValueError as error:
        yield Finding(
            "settings", BROKEN, setting_problem(error), f"correct it in {home / 'kix.toml'} or the environment",
            Code.SETTING,
        )  # fmt: skip
        return
    if settings.sources and not settings.contact:
        yield Finding(
            "settings", WARNING, "no contact is set: operators of the sources cannot tell who asks", "set KIX_CONTACT"
        )
        return
    enabled = ", ".join(settings.sources) or "no source is enabled"
    yield Finding(
        "settings", OK, f"{enabled}; {home / 'kix.toml'} is {'' if (home / 'kix.toml').exists() else 'not '}there"
    )


def _archive(home: Path) -> Iterator[Finding]:
    path = home / ARCHIVE
    if not path.exists():
        yield Finding("archive", WARNING, "there is none yet", "`kix sync`; if there was one, restore it from a backup")
        return
    restore = "restore it from a backup (docs/operations.md), then `kix rebuild`"
    try:
        with Archive(path, read_only=True) as archive:
            syncs = sum(1 for _ in archive.syncs())
            small = path.stat().st_size <= LOOKED_THROUGH_BYTES
            wrong = archive.damage() if small else []
            for digest in archive.newest_bodies(NEWEST_BODIES):
                archive.body(digest)
    except (SyncFailed, ArchiveDamaged) as error:
        yield Finding("archive", BROKEN, str(error), restore, error.code)
        return
    if wrong:
        yield Finding("archive", BROKEN, f"{path} is damaged: {wrong[0]}", restore, Code.ARCHIVE_DAMAGED)
    elif archive.schema < SCHEMA_VERSION:
        value = f"schema {archive.schema}, this kix knows {SCHEMA_VERSION}"
        yield Finding("archive", WARNING, value, "the next sync brings it up to date, after a backup of it")
    else:
        how = "looked through" if small else "its newest answers are whole; `kix verify` reads all"
        yield Finding("archive", OK, f"schema {archive.schema}, {syncs} syncs, {how}")


def _warehouse(home: Path) -> Iterator[Finding]:
    path = published_path(home)
    if not path.exists():
        yield Finding(
            "warehouse", WARNING, "there is none yet", "`kix sync`; from an archive that is there: `kix rebuild`"
        )
        return
    try:
        with reading(home) as db:
            check_schema(db)
            (runs,) = db.execute("SELECT count(*) FROM runs").fetchall()[0]
            schema = max(applied(db))
    except WarehouseError as error:
        yield Finding("warehouse", BROKEN, str(error), "`kix rebuild` makes it anew from the archive", error.code)
        return
    yield Finding("warehouse", OK, f"schema {schema}, {runs:,} runs; `kix verify` proves them")


def _history(home: Path) -> Iterator[Finding]:
    if not (home / ARCHIVE).exists():
        if published_path(home).exists():
            value = "there is a warehouse and no archive that it was made from"
            yield Finding("history", BROKEN, value, "restore archive.sqlite from a backup")
        return
    with Archive(home / ARCHIVE, read_only=True) as archive:
        try:
            there = syncs_published(home)
            check_archive_is_whole(home, archive, there)
            missing = unpublished(archive, there)
        except WarehouseError:
            return  # told above
        except SyncFailed as error:
            yield Finding("history", BROKEN, str(error), "restore the archive, or move the warehouse away", error.code)
            return
    if missing:
        value = f"the warehouse lacks some of the {len(missing)} syncs that the archive holds"
        yield Finding("history", WARNING, value, "`kix rebuild`; else the next sync loads them again")
    else:
        yield Finding("history", OK, "archive and warehouse tell of the same syncs")


def _clock(home: Path, now: datetime) -> Iterator[Finding]:
    newest, what = datetime.fromtimestamp(Path(__file__).stat().st_mtime, UTC), "this kix was installed"
    if (home / ARCHIVE).exists():
        try:
            with Archive(home / ARCHIVE, read_only=True) as archive:
                newest, what = max((newest, what), (archive.newest_moment() or newest, "the archive was written to"))
        except SyncFailed:
            pass  # told above
    if newest - now > CLOCK_TOLERANCE:
        value = f"it says {now:%Y-%m-%d %H:%M} UTC, but {what} at {newest:%Y-%m-%d %H:%M} UTC"
        remedy = "set the clock (NTP); if it was ahead then, times of that sync are wrong and its order is right"
        yield Finding("clock", BROKEN, value, remedy)
    else:
        yield Finding("clock", OK, f"{now:%Y-%m-%d %H:%M} UTC, after everything in the archive")


def _prefect(home: Path) -> Iterator[Finding]:
    url = os.environ.get("PREFECT_API_URL") or prefect_server.told(home)
    if url is None:
        yield Finding("prefect", OK, "no server is configured; `kix serve` brings its own")
        return
    if not url.startswith(("http://", "https://")):
        yield Finding(
            "prefect", BROKEN, f"PREFECT_API_URL is {url!r}", "give an address like http://127.0.0.1:4200/api"
        )
        return
    begun = time.monotonic()
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            f"{url}/health", timeout=HEALTH_S
        ) as answer:
            answer.read(64)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        remedy = (
            "start it, or correct PREFECT_API_URL"
            if os.environ.get("PREFECT_API_URL")
            else ("`kix serve` was killed or is starting; start it again if nobody serves")
        )
        yield Finding("prefect", BROKEN, f"{url} does not answer: {reason}", remedy)
        return
    yield Finding("prefect", OK, f"{url} answers within {1000 * (time.monotonic() - begun):.0f} ms")


def _files(home: Path) -> Iterator[Finding]:
    names = sorted(path.name for path in home.iterdir()) if home.is_dir() else []
    others = [name for name in names if name not in KNOWN]
    backups = [name for name in others if name.endswith(".bak")]
    left = [name for name in others if name.startswith(LEFT[:3]) or name.endswith(LEFT[3])]
    if left and lock.owner(home) is None:
        value = f"left by a process that was killed: {', '.join(left)}"
        yield Finding("files", WARNING, value, "the next sync clears the working files; the others can be deleted")
    if strangers := [name for name in others if name not in backups and name not in left]:
        shown = ", ".join(strangers[:10]) + (f" and {len(strangers) - 10} more" if len(strangers) > 10 else "")
        yield Finding("files", WARNING, f"not of kix: {shown}", "move them elsewhere; a home is kix's alone")
    elif not left:
        kept = f"; backups from before an upgrade: {', '.join(backups)}" if backups else ""
        yield Finding("files", OK, f"nothing in the home that does not belong there{kept}")
