"""Loads one sync's rows into a working copy: staged as they come, then turned into rows by the SQL files in `sql/load`.

Idempotent by digest: what is there already is not added again. Folders of files that write different tables are run at
once, on two connections (ADR 0012). A load that fails half way is no matter: the copy is thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from scrapers.archive import Archive, SyncRecord
from scrapers.codes import Code
from scrapers.contract import Drift, Reject
from scrapers.errors import ArchiveDamaged
from transforms.bundle import COLUMNS
from warehouse.checks import run_checks
from warehouse.connection import WHOLE_READING, Connection, WarehouseError, beside, first_row
from warehouse.migrations import add_family_schemas, migrate, sql_files
from warehouse.query import KnownListing, known_listings
from warehouse.quoting import literal
from warehouse.records import derive_standings, load_words

if TYPE_CHECKING:
    import polars as pl

Result = TypeVar("Result")

EVIDENCE = (
    "operation_specs", "workloads", "workload_bound_versions", "projects", "protocols", "environments",
    "implementations", "runs", "measurements", "source_metrics", "metadata_versions", "submission_versions",
    "submission_renames", "submission_runs", "reviews", "lifecycle", "published_run_versions",
    "published_run_problems",
)  # fmt: skip
"""Tables whose growth is news; listings, fetches and the like grow with every sync."""

DERIVED = frozenset({"standings"})
"""Big tables that are derived from the others."""

FRUGAL = "400MB"
"""DuckDB's memory while a small load's wide rows are sorted and written (ADR 0012)."""

SMALL_BYTES = 80_000_000
"""Bytes of staged files and warehouse up to which a load is small: a first one of some 110,000 claims."""

MEMORY = (
    "SELECT (SELECT sum(block_size * total_blocks) FROM pragma_database_size()"
    " WHERE database_name = current_database()), getvariable('memory_limit'),"
    " parse_formatted_bytes(?) < parse_formatted_bytes(getvariable('memory_limit'))"
)
"""Bytes of the warehouse, the memory that was allowed, and whether that is more than so much."""

LOOK_S = 0.1
"""How often a wait for the second connection looks whether a signal came."""

PUBLIC_NAMES = {
    "operation_specs": "operations",
    "workload_bound_versions": "workload_bounds",
    "submission_versions": "submissions",
    "published_run_versions": "published_runs",
}
"""Tables that people know by the view over them."""


@dataclass(slots=True)
class Loaded:
    """What a load did: rows inserted by table and rows that were there before, what it raised for review, whose records
    changed hands, and the kernels whose listing stayed incomplete."""

    inserted: dict[str, int] = field(default_factory=dict)
    unchanged: dict[str, int] = field(default_factory=dict)
    reviews: list[dict[str, str]] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    incomplete: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Turn:
    """A load's turn among several in a row: the first makes the views, the last derives and checks, once for all."""

    first: bool = True
    last: bool = True


class Loader:
    """One sync's load. Use as: construct, `read_staged`, `finish`. The caller publishes or discards the copy."""

    def __init__(self, connection: Connection, sync: SyncRecord, turn: Turn) -> None:
        self._db = connection
        self._sync = sync
        self._turn = turn
        self._staged_bytes = 0
        self._allowed: str | None = None  # memory, where less is taken
        self._db.execute("BEGIN")
        # What has been derived so far is not that of the rows before this load.
        self._stale = (turn.first and bool(migrate(self._db))) or not turn.first
        self._check_sync_is_new()
        self._db.execute("COMMIT")
        self._name(self._db)

    def _name(self, connection: Connection) -> None:
        """Let SQL on a connection ask for the sync by `getvariable`."""
        for name in ("sync_id", "source", "started_at"):
            connection.execute(f"SET VARIABLE {name} = ?", [getattr(self._sync, name)])

    def _check_sync_is_new(self) -> None:
        newest = first_row(self._db, "SELECT max(sync_id) FROM syncs WHERE source = ?", [self._sync.source])
        if newest and newest[0] is not None and newest[0] >= self._sync.sync_id:
            raise WarehouseError(
                f"sync {self._sync.sync_id} is not newer than the warehouse's last of {self._sync.source}, {newest[0]}:"
                " this archive and this warehouse do not belong together; restore the one that is missing",
                code=Code.ARCHIVE_INCOMPLETE,
            )

    def known_listings(self) -> dict[str, KnownListing]:
        """Return the latest listing of each kernel of the source."""
        return known_listings(self._db, self._sync.source)

    def last_whole_reading(self) -> frozenset[str]:
        """Return the kernels that the source's last whole sync read; empty when there was none."""
        rows = self._db.execute(
            "SELECT kernel FROM listings WHERE sync_id = (SELECT max(s.sync_id) FROM syncs s WHERE s.source = ?"
            f" AND {WHOLE_READING})",
            [self._sync.source],
        ).fetchall()
        return frozenset(kernel for (kernel,) in rows)

    def read_staged(self, folder: Path) -> list[Reject]:
        """Give the rows of a staging folder their names in SQL. Returns the submissions that stand on two kernels'
        listings: the first one counts, the others are rejected."""
        for table in COLUMNS:
            files = literal(str(folder / table / "*.parquet"))
            self._db.execute(f"CREATE OR REPLACE VIEW staging.stage_{table} AS SELECT * FROM read_parquet({files})")
            self._staged_bytes += sum(path.stat().st_size for path in (folder / table).iterdir())
        _run_files(self._db, "stage")
        return self._listed_twice()

    def _listed_twice(self) -> list[Reject]:
        rows = self._db.execute(
            "WITH twice AS (SELECT external_id FROM stage_submissions GROUP BY external_id HAVING count(*) > 1)"
            " SELECT external_id, first_value(kernel) OVER same, kernel, payload"
            " FROM stage_submissions SEMI JOIN twice USING (external_id)"
            " WINDOW same AS (PARTITION BY external_id ORDER BY place)"
            " QUALIFY row_number() OVER same > 1 ORDER BY place"
        ).fetchall()
        return [
            Reject(f"submission/{one}", payload, f"listed under {kernel} too; it counts under {first}")
            for one, first, kernel, payload in rows
        ]

    def finish(
        self,
        archive: Archive,
        status: str,
        finished_at: datetime,
        rejects: Sequence[Reject],
        drift: Sequence[Drift],
    ) -> Loaded:
        """Turn what is staged into rows, check the whole, and commit.

        Raises `WarehouseError` when a check fails: the copy is of no use then.
        """
        before = self._counts()

        def add_runs() -> list[str]:
            _run_files(self._db, "load/runs")
            self._add_provenance(archive, status, finished_at, rejects, drift)
            return load_words(self._db, archive)

        self._be_frugal()
        reviewed = self._at_once(add_runs, lambda second: _run_files(second, "load/listings"))
        loaded = self._tally(before)
        changed = any(loaded.inserted.values()) or self._stale
        if changed:
            self._keep_order(derived=False)
        if self._turn.last:

            def derive() -> list[dict[str, Any]]:
                return derive_standings(self._db, sync_id=self._sync.sync_id, runs=reviewed, everything=self._stale)

            def complete(second: Connection) -> None:
                add_family_schemas(second)
                if changed:  # else it was checked when it was loaded
                    _check(second)

            loaded.records = self._at_once(derive, complete)
        if changed:
            self._keep_order(derived=True)
        return loaded

    def _at_once(self, here: Callable[[], Result], beside_it: Callable[[Connection], None]) -> Result:
        """Do one thing on the first connection and another on a second one. Returns what the first returns.

        Each is a transaction. Both begin with what there was before, and what both did is there afterwards: they must
        not write to the same tables. What a small load's memory is not enough for is done again with all.
        """
        with beside(self._db) as second, ThreadPoolExecutor(1, thread_name_prefix="load") as thread:
            self._name(second)
            try:
                result = self._do_both(here, beside_it, second, thread)
            except duckdb.OutOfMemoryException:
                if self._allowed is None:
                    raise
                self._db.execute("ROLLBACK")
                second.execute("ROLLBACK")
                self._take_all()
                result = self._do_both(here, beside_it, second, thread)
            self._take_all()  # a commit is not done again
            second.execute("COMMIT")
        self._db.execute("COMMIT")
        return result

    def _do_both(
        self,
        here: Callable[[], Result],
        beside_it: Callable[[Connection], None],
        second: Connection,
        thread: ThreadPoolExecutor,
    ) -> Result:
        self._db.execute("BEGIN")
        second.execute("BEGIN")
        running = _started(thread, beside_it, second)
        try:
            result = here()
            # Looked at again and again: once polars is loaded, a signal no longer ends a wait.
            while wait([running], LOOK_S).not_done:
                continue
            running.result()
        except BaseException:
            second.interrupt()
            while wait([running], LOOK_S).not_done:
                second.interrupt()  # it was between two statements
            raise
        return result

    def _be_frugal(self) -> None:
        """Have DuckDB write a small load's wide rows with less memory than it may have: it takes what it gets."""
        there, allowed, more = first_row(self._db, MEMORY, [FRUGAL]) or (0, FRUGAL, False)
        if more and self._staged_bytes + there <= SMALL_BYTES:
            self._db.execute("SET memory_limit = ?", [FRUGAL])
            self._allowed = allowed

    def _take_all(self) -> None:
        """Have DuckDB take all the memory it may."""
        if self._allowed is not None:
            self._db.execute("SET memory_limit = ?", [self._allowed])
            self._allowed = None

    def _counts(self) -> dict[str, int]:
        text = " UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in EVIDENCE)
        return dict(self._db.execute(text).fetchall())

    def _tally(self, before: dict[str, int]) -> Loaded:
        inserted = {table: count - before[table] for table, count in self._counts().items()}
        rows = self._db.execute(
            "SELECT subject, reason, detail FROM reviews WHERE first_seen_sync = ?", [self._sync.sync_id]
        ).fetchall()
        reviews = [{"subject": subject, "reason": reason, "detail": detail} for subject, reason, detail in rows]
        incomplete = self._db.execute(
            "SELECT kernel FROM listings WHERE sync_id = ? AND NOT complete", [self._sync.sync_id]
        ).fetchall()
        kernels = frozenset(kernel for (kernel,) in incomplete)
        return Loaded(_public(inserted), _public(before), reviews, incomplete=kernels)

    def _add_provenance(
        self, archive: Archive, status: str, finished_at: datetime, rejects: Iterable[Reject], drift: Iterable[Drift]
    ) -> None:
        sync, source = self._sync.sync_id, self._sync.source
        there = {row[0] for row in self._db.execute("SELECT sync_id FROM syncs").fetchall()}
        # Those of its own source, which have all ended: when another source's did, no rebuild could tell.
        ended_badly = [one for one in archive.syncs(source) if one.status in ("failed", "interrupted")]
        failed = [one for one in ended_badly if one.sync_id not in there and one.sync_id < sync]
        for one in [*failed, self._sync]:
            closed = (status, finished_at) if one.sync_id == sync else (one.status, one.finished_at)
            self._db.execute(
                "INSERT INTO syncs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    one.sync_id,
                    one.source,
                    one.base_url,
                    one.scope,
                    closed[0],
                    one.started_at,
                    closed[1],
                    one.kix_version,
                ],
            )
            self._insert("fetches", _fetches(one.sync_id, archive))
        self._insert("rejects", _table(("locator", "item", "reason"), map(asdict, rejects), sync, source))
        self._insert("drift", _table(("path", "change", "locator", "count"), map(asdict, drift), sync, source))

    def _insert(self, table: str, frame: pl.DataFrame) -> None:
        self._db.register("incoming", _Frame(frame))
        self._db.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming")
        self._db.unregister("incoming")

    def _keep_order(self, *, derived: bool) -> None:
        """Put a big table back in order once more than a tenth of it was appended since it last was: those that are
        derived, or the others."""
        self._db.execute("BEGIN")
        done = dict(self._db.execute("SELECT table_name, rows_ordered FROM ordered_rows").fetchall())
        for table, text in sql_files("reorder"):
            if (table in DERIVED) != derived:
                continue
            (rows,) = first_row(self._db, f"SELECT count(*) FROM {table}") or (0,)
            ordered = done.get(table, 0)
            if rows - ordered <= rows / 10:
                continue
            if ordered:
                self._db.execute(text)
            self._db.execute("DELETE FROM ordered_rows WHERE table_name = ?", [table])
            self._db.execute("INSERT INTO ordered_rows VALUES (?, ?)", [table, rows])
        self._db.execute("COMMIT")


def _run_files(connection: Connection, folder: str) -> None:
    for _, text in sql_files(folder):
        connection.execute(text)


def _check(connection: Connection) -> None:
    if failures := run_checks(connection):
        raise WarehouseError("nothing was loaded, checks failed: " + " | ".join(map(str, failures)))


def _started(thread: ThreadPoolExecutor, work: Callable[[Connection], None], connection: Connection) -> Future[None]:
    try:
        return thread.submit(work, connection)
    except RuntimeError as error:
        words = f"the load failed: {error}; nothing was published; give kix room for another thread and sync again"
        raise WarehouseError(words) from error


class _Frame:
    """Lets DuckDB read a frame through Arrow's C interface, which needs no pyarrow."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def _table(names: tuple[str, ...], rows: Iterable[dict[str, object]], sync: int, source: str) -> pl.DataFrame:
    import polars as pl

    kinds = {name: pl.Int64 if name == "count" else pl.String for name in names}
    frame = pl.DataFrame([{name: row[name] for name in names} for row in rows], schema=kinds)
    return frame.with_columns(sync_id=pl.lit(sync, pl.Int64), source=pl.lit(source, pl.String))


def _public(counts: dict[str, int]) -> dict[str, int]:
    return {PUBLIC_NAMES.get(table, table): count for table, count in counts.items()}


def _fetches(sync_id: int, archive: Archive) -> pl.DataFrame:
    import polars as pl

    schema = {
        "fetch_id": pl.Int64, "url": pl.String, "status": pl.Int16, "fetched_at": pl.String, "via": pl.String,
        "etag": pl.String, "media_type": pl.String, "body_digest": pl.String, "size_bytes": pl.Int64,
        "error": pl.String,
    }  # fmt: skip
    try:
        frame = pl.DataFrame(archive.fetches(sync_id), schema=schema, orient="row")
        return frame.with_columns(
            pl.col("fetched_at").str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us", time_zone="UTC"),
            sync_id=pl.lit(sync_id, pl.Int64),
        )
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise ArchiveDamaged(f"the fetches of sync {sync_id} in {archive.path} are damaged: {error}") from error
