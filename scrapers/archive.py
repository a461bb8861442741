"""The archive: one SQLite file with every body fetched, under its digest, and when and how each was asked for.

It is written before anything is parsed and is the truth: the warehouse can be rebuilt from it. SQLite runs with a
write-ahead log, so that a killed process loses nothing that was acknowledged; `checkpoint` makes it durable against
power loss too, and is called before a warehouse that refers to it is published.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from scrapers.codes import Code
from scrapers.contract import Capture, Reading, Scope
from scrapers.errors import ArchiveDamaged, GiveUp, SyncFailed
from scrapers.own_files import refuse_links

SCHEMA_VERSION = 2
SQLITE_VERSION = sqlite3.sqlite_version
APPLICATION_ID = 0x6B697861
RESUME_WITHIN = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class SyncRecord:
    """A sync as the archive knows it. Times are UTC; `scope` is the canonical text of what was asked for."""

    sync_id: int
    source: str
    base_url: str
    scope: str
    started_at: datetime
    finished_at: datetime | None
    status: str
    kix_version: str
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Validators:
    """What a conditional request for a URL is made of, and the body that a 304 stands for."""

    etag: str | None
    last_modified: str | None
    media_type: str | None
    body_digest: str


@dataclass(frozen=True, slots=True)
class FetchRecord:
    """One line of `fetches`."""

    url: str
    status: int | None
    fetched_at: datetime
    via: str
    etag: str | None = None
    last_modified: str | None = None
    media_type: str | None = None
    body_digest: str | None = None
    size_bytes: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person decided on a review: `accept` or `hold`. `after_sync` is the latest sync at that time."""

    verdict_id: int
    subject: str
    verdict: str
    reason: str
    by_name: str
    decided_at: datetime
    after_sync: int


@dataclass(frozen=True, slots=True)
class Note:
    """A person's note on a run: `note` or `reproduction`."""

    note_id: int
    run_digest: str
    kind: str
    note: str
    by_name: str
    written_at: datetime


class Archive:
    """Opens (and makes) the archive at `path`. Use as a context manager. One writer at a time.

    An archive of an earlier schema is brought up to date when it is opened for writing; `backup` is then the copy of it
    as it was, beside it.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.backup: Path | None = None
        try:
            refuse_links(*(path.with_name(path.name + end) for end in ("", "-wal", "-shm")))
        except OSError as error:
            raise SyncFailed(f"cannot open the archive {error.filename}: {error.strerror}") from error
        self._db = self._connect("mode=ro" if read_only else "mode=rwc")
        if read_only and self._is_frozen():
            self._db.close()
            self._db = self._connect("mode=ro&immutable=1")
        try:
            self._prepare(read_only=read_only)
        except BaseException:
            self._db.close()
            raise
        self._pack = zstandard.ZstdCompressor(level=3)
        self._unpack = zstandard.ZstdDecompressor()

    def _connect(self, options: str) -> sqlite3.Connection:
        try:
            # Steps of one sync may run on different threads, one after the other: never two at once.
            return sqlite3.connect(
                f"{self.path.absolute().as_uri()}?{options}", uri=True, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise SyncFailed(f"cannot open the archive {self.path}: {error}; {_next_step(error)}") from error

    def _is_frozen(self) -> bool:
        """Whether its folder cannot be written to, where SQLite wants its log, and nobody is at work on it."""
        try:
            self._db.execute("PRAGMA user_version").fetchone()
        except sqlite3.Error as error:
            log = self.path.with_name(self.path.name + "-wal")
            return "readonly" in str(error) and not log.exists()
        return False

    def _prepare(self, *, read_only: bool) -> None:
        (version,) = self._row("PRAGMA user_version")
        self.schema = int(version)
        if version > SCHEMA_VERSION:
            raise SyncFailed(
                f"the archive {self.path} has schema {version}, this kix knows {SCHEMA_VERSION}: use the newer kix that"
                f" wrote it, or put back the backup that it made before ({self.path.name}.schema-N.bak)",
                code=Code.SCHEMA,
            )
        (tables,) = self._row("SELECT count(*) FROM sqlite_master")
        if (tables or version) and self._row("PRAGMA application_id") != (APPLICATION_ID,):
            raise SyncFailed(f"{self.path} is another program's database: choose another --home")
        if read_only:
            if not version:
                raise SyncFailed(
                    f"the archive {self.path} holds nothing yet: run `kix sync` first", code=Code.ARCHIVE_EMPTY
                )
            return
        self._run("PRAGMA journal_mode = WAL")
        self._run("PRAGMA synchronous = NORMAL")
        if version < SCHEMA_VERSION:
            if version:
                self.backup = self._back_up()
            self._bring_up_to_date()
        self._opened = self._file()

    def _file(self) -> tuple[int, int]:
        """Tell which file is at the path now."""
        found = self.path.stat()
        return found.st_dev, found.st_ino

    def _bring_up_to_date(self) -> None:
        try:
            self._db.executescript(
                "BEGIN IMMEDIATE;" + files(__package__).joinpath("archive.sql").read_text() + "COMMIT;"
            )
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        self.schema = SCHEMA_VERSION

    def _back_up(self) -> Path:
        """Copy the archive as it is, whole or not at all. Returns the path of the copy."""
        kept = self.path.with_name(f"{self.path.name}.schema-{self.schema}.bak")
        aside = kept.with_name(kept.name + ".part")
        try:
            aside.unlink(missing_ok=True)
            with closing(sqlite3.connect(aside)) as copy:
                self._db.backup(copy)
            with aside.open("rb+") as file:
                os.fsync(file.fileno())
            aside.replace(kept)
        except (sqlite3.Error, OSError) as error:
            with suppress(OSError):
                aside.unlink()
            raise SyncFailed(
                f"the archive {self.path} has schema {self.schema} and is brought to {SCHEMA_VERSION} only after a"
                f" backup, which failed: {error}; make room for a copy of it beside it. Nothing was changed"
            ) from error
        return kept

    def _run(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: sqlite3.Error) -> SyncFailed:
        return SyncFailed(f"the archive {self.path} cannot be used: {error}; {_next_step(error)}")

    def _rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Return all rows at once: what a damaged page does shows only while they are read."""
        cursor = self._run(statement, values)
        try:
            return cursor.fetchall()
        except sqlite3.Error as error:
            raise ArchiveDamaged(f"the archive {self.path} cannot be read: {error}; restore it") from error

    def _row(self, statement: str, values: tuple[Any, ...] = ()) -> Any:
        return next(iter(self._rows(statement, values)), None)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the write-ahead log is folded in by the last one out."""
        self._db.close()

    def checkpoint(self) -> None:
        """Fold the write-ahead log into the file and sync it to the disk.

        Raises `SyncFailed` when the file is no longer at its path: what was written since is lost with it.
        """
        self._run("PRAGMA wal_checkpoint(TRUNCATE)")
        try:
            there = self._file() == self._opened
        except OSError:
            there = False
        if not there:
            raise SyncFailed(
                f"the archive {self.path} is gone or another since this began: the home was removed, replaced or"
                " unmounted meanwhile. Nothing was published; bring the home back and try again"
            )

    def unused_share(self) -> float:
        """Return which share of the file holds nothing, 0 to 1."""
        pages, unused = (self._row(f"PRAGMA {name}")[0] for name in ("page_count", "freelist_count"))
        return float(unused / max(1, pages))

    def compact(self) -> None:
        """Write the file anew without what is unused. Needs room for a copy of it, and for a log of the same size."""
        self._run("VACUUM")
        self.checkpoint()

    # -- syncs

    def open_sync(self, source: str, base_url: str, scope: Scope, mode: str, now: datetime, version: str) -> SyncRecord:
        """Begin a sync, or go on with the same one if it was interrupted less than an hour ago."""
        text = json.dumps({**asdict(scope), "mode": mode}, sort_keys=True)
        last = next(self.syncs(source, newest_first=True), None)
        same = last and (last.base_url, last.scope, last.kix_version) == (base_url, text, version)
        if last and same and last.status == "running" and self._is_recent(last, now) and not self._is_overtaken(last):
            return SyncRecord(**{**asdict(last), "resumed": True})
        self._run("UPDATE syncs SET status = 'interrupted' WHERE source = ? AND status = 'running'", (source,))
        cursor = self._run(
            "INSERT INTO syncs (source, base_url, scope, started_at, status, kix_version) VALUES (?, ?, ?, ?, ?, ?)",
            (source, base_url, text, now.isoformat(), "running", version),
        )
        return SyncRecord(int(cursor.lastrowid or 0), source, base_url, text, now, None, "running", version)

    def _is_overtaken(self, sync: SyncRecord) -> bool:
        """Whether another source's sync was loaded since: a rebuild loads in the order of numbers."""
        later = "SELECT 1 FROM syncs WHERE sync_id > ? AND status IN ('complete', 'partial')"
        return self._row(later, (sync.sync_id,)) is not None

    def _is_recent(self, sync: SyncRecord, now: datetime) -> bool:
        """Whether a sync did something less than an hour ago. A clock that went backwards makes none recent."""
        (newest,) = self._row("SELECT max(fetched_at) FROM fetches WHERE sync_id = ?", (sync.sync_id,))
        active = max(sync.started_at, _moment(newest)) if newest else sync.started_at
        return timedelta(0) <= now - active < RESUME_WITHIN

    def close_sync(self, sync_id: int, status: str, now: datetime, report: dict[str, Any]) -> None:
        """Write down how a sync ended."""
        self._run(
            "UPDATE syncs SET finished_at = ?, status = ?, report = ? WHERE sync_id = ?",
            (now.isoformat(), status, json.dumps(report, ensure_ascii=False), sync_id),
        )

    def syncs(self, source: str | None = None, *, newest_first: bool = False) -> Iterator[SyncRecord]:
        """Yield all syncs, or a source's, in order."""
        order = "DESC" if newest_first else "ASC"
        rows = self._rows(
            "SELECT sync_id, source, base_url, scope, started_at, finished_at, status, kix_version FROM syncs"
            f" WHERE ? IS NULL OR source = ? ORDER BY sync_id {order}",
            (source, source),
        )
        for sync_id, slug, base_url, scope, started_at, finished_at, status, version in rows:
            started, finished = _moment(started_at), _moment(finished_at) if finished_at else None
            yield SyncRecord(sync_id, slug, base_url, scope, started, finished, status, version)

    def newest_sync(self) -> int:
        """Return the number of the latest sync, 0 when there was none."""
        (newest,) = self._row("SELECT coalesce(max(sync_id), 0) FROM syncs")
        return int(newest)

    def newest_moment(self) -> datetime | None:
        """Return the latest time of anything in it, None when there is nothing."""
        (newest,) = self._row(
            "SELECT max(moment) FROM (SELECT max(fetched_at) AS moment FROM fetches"
            " UNION ALL SELECT max(started_at) FROM syncs UNION ALL SELECT max(finished_at) FROM syncs)"
        )
        return _moment(newest) if newest else None

    def keep_reading(self, sync_id: int, reading: Reading) -> None:
        """Keep what a sync concluded from the answers it got. A sync that is resumed concludes anew."""
        packed = self._pack.compress(msgspec.json.encode(reading))
        self._run("INSERT OR REPLACE INTO readings VALUES (?, ?)", (sync_id, packed))

    def reading(self, sync_id: int) -> Reading:
        """Return what a sync concluded. Raises `ArchiveDamaged` when it is not there or unreadable."""
        row = self._row("SELECT zstd FROM readings WHERE sync_id = ?", (sync_id,)) if self.schema > 1 else None
        if row is None:
            raise ArchiveDamaged(
                f"the archive {self.path} lacks what sync {sync_id} concluded (an older kix did not keep it): no"
                " warehouse can be made from it; if it was there once, restore the archive",
                code=Code.ARCHIVE_INCOMPLETE,
            )
        try:
            # As a stream: a damaged header could ask for any amount of memory.
            return msgspec.json.decode(self._unpack.stream_reader(row[0]).read(), type=Reading)
        except (zstandard.ZstdError, msgspec.DecodeError) as error:
            raise ArchiveDamaged(f"the reading of sync {sync_id} in {self.path} is damaged: {error}") from error

    # -- what people said

    def add_verdict(self, subject: str, verdict: str, reason: str, by_name: str, now: datetime) -> None:
        """Add a person's verdict on the review of `subject`."""
        self._run(
            "INSERT INTO verdicts (subject, verdict, reason, by_name, decided_at, after_sync)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (subject, verdict, reason, by_name, now.isoformat(), self.newest_sync()),
        )

    def verdicts(self) -> list[Verdict]:
        """List all verdicts in order."""
        if self.schema == 1:
            return []
        rows = self._rows(
            "SELECT verdict_id, subject, verdict, reason, by_name, decided_at, after_sync FROM verdicts ORDER BY 1"
        )
        return [Verdict(row[0], row[1], row[2], row[3], row[4], _moment(row[5]), row[6]) for row in rows]

    def add_note(self, run_digest: str, kind: str, note: str, by_name: str, now: datetime) -> None:
        """Add a person's note on a run."""
        self._run(
            "INSERT INTO notes (run_digest, kind, note, by_name, written_at) VALUES (?, ?, ?, ?, ?)",
            (run_digest, kind, note, by_name, now.isoformat()),
        )

    def notes(self) -> list[Note]:
        """List all notes in order."""
        if self.schema == 1:
            return []
        rows = self._rows("SELECT note_id, run_digest, kind, note, by_name, written_at FROM notes ORDER BY 1")
        return [Note(row[0], row[1], row[2], row[3], row[4], _moment(row[5])) for row in rows]

    # -- bodies and fetches

    def store(self, body: bytes) -> str:
        """Keep a body and return its digest. A body that is there already costs nothing."""
        digest = "sha256:" + hashlib.sha256(body).hexdigest()
        if not self.holds(digest):
            self._run("INSERT INTO bodies VALUES (?, ?, ?)", (digest, len(body), self._pack.compress(body)))
        return digest

    def damage(self) -> list[str]:
        """List what SQLite finds wrong with the file itself."""
        return [line for (line,) in self._rows("PRAGMA integrity_check(5)") if line != "ok"]

    def broken_reports(self) -> list[int]:
        """List the syncs whose report is no longer the JSON that was written."""
        found = self._rows("SELECT sync_id FROM syncs WHERE report IS NOT NULL AND NOT json_valid(report)")
        return [sync_id for (sync_id,) in found]

    def bodies(self) -> list[str]:
        """List the digest of every body that is there, without checking it."""
        return [digest for (digest,) in self._rows("SELECT body_digest FROM bodies ORDER BY body_digest")]

    def newest_bodies(self, count: int) -> list[str]:
        """List the digests of the bodies that came last."""
        return [one for (one,) in self._rows("SELECT body_digest FROM bodies ORDER BY rowid DESC LIMIT ?", (count,))]

    def holds(self, digest: str) -> bool:
        """Whether the body is there."""
        return self._row("SELECT 1 FROM bodies WHERE body_digest = ?", (digest,)) is not None

    def body(self, digest: str) -> bytes:
        """Return a stored body, checked against its digest. Raises `ArchiveDamaged`."""
        row = self._row("SELECT size_bytes, zstd FROM bodies WHERE body_digest = ?", (digest,))
        if row is None:
            raise ArchiveDamaged(f"the archive {self.path} lacks the body {digest}; restore it or sync with --full")
        try:
            # A damaged header could ask for any amount of memory.
            fits = zstandard.frame_content_size(row[1]) == row[0]
            body = self._unpack.decompress(row[1]) if fits else b""
        except (zstandard.ZstdError, MemoryError, OverflowError) as error:
            raise ArchiveDamaged(f"the body {digest} in {self.path} cannot be unpacked: {error}") from error
        if "sha256:" + hashlib.sha256(body).hexdigest() != digest:
            raise ArchiveDamaged(f"the body {digest} in {self.path} no longer hashes to its name; restore the archive")
        return body

    def record(self, sync_id: int, fetch: FetchRecord) -> None:
        """Add a line to `fetches`."""
        values = {name: getattr(fetch, name) for name in FetchRecord.__slots__}
        values |= {"fetched_at": fetch.fetched_at.isoformat(), "sync_id": sync_id}
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        self._run(f"INSERT INTO fetches ({names}) VALUES ({marks})", tuple(values.values()))

    def fetches(self, sync_id: int) -> list[tuple[Any, ...]]:
        """List a sync's fetches in order, as (fetch_id, url, status, fetched_at text, via, etag, media_type,
        body_digest, size_bytes, error)."""
        return self._rows(
            "SELECT fetch_id, url, status, fetched_at, via, etag, media_type, body_digest, size_bytes, error"
            " FROM fetches WHERE sync_id = ? ORDER BY fetch_id",
            (sync_id,),
        )

    def validators(self, url: str) -> Validators | None:
        """What the newest sound answer to `url` can be revalidated with."""
        row = self._row(
            "SELECT etag, last_modified, media_type, body_digest FROM fetches"
            " WHERE url = ? AND status IN (200, 304) AND body_digest IS NOT NULL AND via <> 'archive'"
            " ORDER BY fetch_id DESC LIMIT 1",
            (url,),
        )
        return Validators(*row) if row and (row[0] or row[1]) else None

    def held(self, url: str, sync_id: int | None = None) -> Capture | None:
        """Return the newest sound answer to `url`, of one sync or of any."""
        row = self._row(
            "SELECT status, fetched_at, media_type, body_digest FROM fetches WHERE url = ?"
            " AND (? IS NULL OR sync_id = ?) AND status IN (200, 304) AND body_digest IS NOT NULL"
            " ORDER BY fetch_id DESC LIMIT 1",
            (url, sync_id, sync_id),
        )
        if row is None:
            return None
        status, fetched_at, media_type, digest = row
        return Capture(url, status, _moment(fetched_at), media_type or "", digest, self.body(digest), "archive")


class Offline:
    """A `Fetch` that answers from the archive only: the newest body of each URL."""

    def __init__(self, archive: Archive, sync_id: int) -> None:
        self._archive = archive
        self._sync_id = sync_id

    async def __call__(self, url: str, *, again: bool = False, fresh: bool = False) -> Capture:  # noqa: ARG002  no newer
        """Return the newest stored answer to `url`. Raises `GiveUp` when there is none."""
        noted = self._archive.held(url, self._sync_id)
        if noted is not None:
            return noted
        capture = self._archive.held(url)
        if capture is None:
            raise GiveUp(url, "not in the archive: sync once with the network", code=Code.NOT_IN_ARCHIVE)
        note = FetchRecord(
            url, capture.status, capture.fetched_at, "archive",
            media_type=capture.media_type, body_digest=capture.body_digest, size_bytes=len(capture.body),
        )  # fmt: skip
        self._archive.record(self._sync_id, note)
        return capture


def _next_step(error: sqlite3.Error) -> str:
    words = str(error)
    if "locked" in words:
        return "another process is writing to it; try again"
    if "full" in words or "readonly" in words or "I/O" in words:
        return "make room, or make its folder writable"
    return "restore it, or choose another --home"


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArchiveDamaged(f"the archive holds {text!r} where a time belongs; restore it") from error
