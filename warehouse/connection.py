"""Where the warehouse is opened: by the one writer on a copy, by readers on the published file.

The published file changes only by being replaced with a whole new state. A reader that has it open keeps its state;
the writer never waits for a reader.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from scrapers.codes import Code, CodedError
from warehouse.quoting import literal

Connection = duckdb.DuckDBPyConnection

WHOLE_READING = (
    "s.status IN ('complete', 'partial') AND s.scope->>'$.tag' IS NULL AND s.scope->>'$.limit' IS NULL"
    " AND json_array_length(s.scope->'$.kernels') = 0 AND s.scope->>'$.mode' <> 'offline'"
    " AND coalesce(json_array_length(s.scope->'$.pages'), 0) = 0"
)
"""Syncs that read everything their source lists; only these make it fresh."""

WAREHOUSE = "warehouse.duckdb"
WORKING = "warehouse.working.duckdb"

ROW_GROUP = 30 * 1024
"""Rows that are compressed, and read, by one thread at a time (ADR 0012)."""


class WarehouseError(CodedError):
    """The warehouse cannot be used as asked: which one, why, and what to do."""

    code = Code.LOAD_FAILED


UNREADABLE = (duckdb.IOException, duckdb.FatalException, duckdb.InternalException, duckdb.SerializationException)
"""What DuckDB raises on a damaged file; on a wrong checksum it raises the bare `duckdb.Error`."""


def published_path(home: Path) -> Path:
    """Return where the published state of a home is."""
    return home / WAREHOUSE


def check_published(home: Path) -> None:
    """Raise `WarehouseError` when there is no published warehouse, saying where the sample is if that is there."""
    if published_path(home).exists():
        return
    sample = home / "sample"
    hint = "run `kix sync` first (or `kix sync --sample` to try it out)"
    if published_path(sample).exists():
        hint = f"the synthetic sample is in a home of its own: --home {sample}"
    raise WarehouseError(f"no warehouse in {home} yet: {hint}", code=Code.NO_WAREHOUSE)


@contextmanager
def reading(home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the published state read-only. Raises `WarehouseError` when there is none yet or it cannot be read."""
    path = published_path(home)
    check_published(home)
    try:
        _remove_stray_wal(path)
        connection = duckdb.connect(path, read_only=True)
    except (duckdb.Error, OSError) as error:
        raise _unreadable("open", path, error) from error
    with connection:
        try:
            yield connection
        except duckdb.Error as error:
            if isinstance(error, UNREADABLE) or type(error) is duckdb.Error:
                raise _unreadable("read", path, error) from error
            raise


def _unreadable(what: str, path: Path, error: Exception) -> WarehouseError:
    words = str(error).partition("\n")[0]
    words = f"cannot {what} {path}: {words}; restore it, or make it anew from the archive: `kix rebuild`"
    return WarehouseError(words, code=Code.WAREHOUSE_UNREADABLE)


def bounded(connection: Connection, memory_limit: str, spill: Path) -> None:
    """Bound the memory of a connection that asks about everything; what does not fit goes to the folder `spill`."""
    connection.execute("SET memory_limit = ?", [memory_limit])
    connection.execute("SET temp_directory = ?", [str(spill)])


class Working:
    """A private copy of the published state, loaded into and then published or thrown away.

    Whoever holds one must hold the home's lock. `memory_limit` bounds DuckDB's memory (e.g. `1GB`); what does not fit
    goes to a temporary folder in the home. A `fresh` one begins empty instead. When the state that is replaced was of
    another schema, `backup` is where it is kept.
    """

    def __init__(self, home: Path, memory_limit: str, *, fresh: bool = False) -> None:
        self.home = home
        self.path = home / WORKING
        self._spill = home / (WORKING + ".tmp")
        self._sealed = False
        self.backup: Path | None = None
        self.discard()
        try:
            self._open(memory_limit, fresh=fresh)
        except BaseException:
            self.discard()
            raise

    def _open(self, memory_limit: str, *, fresh: bool) -> None:
        if published_path(self.home).exists() and not fresh:
            shutil.copyfile(published_path(self.home), self.path)
            self.path.chmod(0o644)
        self.connection = duckdb.connect(
            config={
                "memory_limit": memory_limit,
                "temp_directory": str(self._spill),
                "preserve_insertion_order": True,
                "autoinstall_known_extensions": False,
            },
        )
        self.connection.execute(f"ATTACH {literal(str(self.path))} AS warehouse (ROW_GROUP_SIZE {ROW_GROUP})")
        self.connection.execute("ATTACH ':memory:' AS staging")
        _settle(self.connection)
        self.connection.execute("SET VARIABLE memory_limit = ?", [memory_limit])  # DuckDB rounds its own

    def seal(self) -> Path:
        """Write everything into the file and close it. Returns its path: it can be read now, and published still."""
        if not self._sealed:
            self.connection.execute("CHECKPOINT")
            self.connection.close()
            self._sealed = True
        return self.path

    def publish(self) -> Path:
        """Make the copy the published state: checkpoint, close, sync to disk, read-only, rename. Returns its path.

        A state of another schema is kept beside it: an older or newer kix reads that one alone.
        """
        _sync_to_disk(self.seal())
        self.path.chmod(0o444)
        target = published_path(self.home)
        before = _schema_of(target)
        if before is not None and before != _schema_of(self.path):
            self.backup = _keep(target, before)
        _remove_stray_wal(target)
        self.path.replace(target)
        _sync_to_disk(self.home)
        return target

    def discard(self) -> None:
        """Throw the copy away, also what a killed process left of one."""
        if hasattr(self, "connection"):
            self.connection.close()
        for path in (self.path, self.path.with_name(WORKING + ".wal")):
            path.unlink(missing_ok=True)
        if self._spill.is_symlink():  # which nobody here made: the link goes, what it leads to stays
            self._spill.unlink()
        shutil.rmtree(self._spill, ignore_errors=True)


def beside(connection: Connection) -> Connection:
    """Return a second connection to the working copy, for a thread of its own. It sees what the first has committed."""
    second = connection.cursor()
    _settle(second)
    return second


def _settle(connection: Connection) -> None:
    # What is made without saying where is made in the warehouse; `staging` holds what is on its way there.
    connection.execute("SET search_path = 'warehouse.main,staging.main'")
    connection.execute("SET TimeZone = 'UTC'")


@contextmanager
def in_words(home: Path) -> Iterator[None]:
    """Turn what DuckDB or the disk raise during a load into a `WarehouseError` that says what to do."""
    try:
        yield
    except (duckdb.Error, OSError) as error:
        words = str(error).lower()
        step = "nothing was published; the next sync starts from the published state"
        if any(sign in words for sign in ("no space", "quota", "too large", "could not write")):
            step = f"make room in {home}"
        elif isinstance(error, UNREADABLE) or type(error) is duckdb.Error:
            step += "; if it fails again, `kix verify` says what is damaged and `kix rebuild` makes the warehouse anew"
        raise WarehouseError(f"the load failed: {error}; {step}") from error


def applied(connection: Connection) -> list[int]:
    """Return the numbers of the migrations that made this schema; none for an empty file."""
    known = first_row(
        connection,
        "SELECT 1 FROM information_schema.tables WHERE table_name = 'schema_migrations' AND table_schema = 'main'",
    )
    if known is None:
        return []
    return [row[0] for row in connection.execute("SELECT number FROM schema_migrations ORDER BY number").fetchall()]


def _schema_of(path: Path) -> int | None:
    """Return the schema of a closed file, None when there is none that can be read."""
    if not path.exists():
        return None
    try:
        with duckdb.connect(path, read_only=True) as connection:
            return max(applied(connection), default=None)
    except (duckdb.Error, OSError):
        return None


def _keep(path: Path, schema: int) -> Path:
    """Give a published file, which never changes, a second name. Returns that."""
    kept = path.with_name(f"{path.name}.schema-{schema}.bak")
    aside = kept.with_name(kept.name + ".part")
    aside.unlink(missing_ok=True)
    if kept.exists() and kept.samefile(path):
        return kept
    try:
        aside.hardlink_to(path)
    except OSError:  # a file system without links
        shutil.copy2(path, aside)
        _sync_to_disk(aside)
    return aside.replace(kept)


def _remove_stray_wal(path: Path) -> None:
    # Left by someone who opened the published file for writing; it would make every reader fail.
    path.with_name(path.name + ".wal").unlink(missing_ok=True)


def _sync_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def first_row(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: list[object] | None = None
) -> tuple[Any, ...] | None:
    """Return the first row of a result that is read to its end: a half-read one blocks the connection."""
    rows = connection.execute(query, parameters).fetchall()
    return rows[0] if rows else None


def dicts(cursor: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Return the rows of an answered question, each by the names of its columns."""
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
