"""Writes the published state as Parquet files into an empty folder, and reads them back.

DuckDB writes the files itself, straight from the tables: nothing passes through Python, and what does not fit into its
memory limit goes to a folder on disk. Whatever was written is read again before anybody is told of it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from scrapers.codes import Code
from warehouse.connection import Connection, WarehouseError, first_row, reading
from warehouse.content import content_digest, table_line
from warehouse.quoting import literal, quoted
from warehouse.snapshot import PART, PARTITION, TABLES, Column, Table, columns_of, encoded, folder_of, rows_of

GROUP_ROWS = 122_880
DOCUMENT_GROUP_ROWS = 20_480
"""Rows in a row group; the second where rows carry documents (manifests, payloads). A reader over the network asks
for a column of a row group at once: so its documents stay below some 20 MB and its other columns around 1 MB."""

DOCUMENTS = frozenset({"manifest", "payload", "run_manifest", "item", "detail"})
_HASHED_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class File:
    """A Parquet file of a snapshot: its path in it, the family whose rows it holds (None: the table is not
    partitioned), rows, size in bytes, and the SHA-256 of the file in hexadecimal digits."""

    path: str
    table: str
    family: str | None
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class State:
    """What is to be exported: the family (None: everything), its tables with their columns, and the content digest."""

    family: str | None
    columns: dict[str, list[Column]]
    content_digest: str
    migration: int


@contextmanager
def exporting(home: Path, memory_limit: str, spill: Path | None = None) -> Iterator[Connection]:
    """Open the published state for an export: one connection to one file, so one state, whatever is published
    meanwhile.

    `spill` is where DuckDB puts what exceeds `memory_limit`. Raises `WarehouseError` when there is no warehouse.
    """
    with reading(home) as db:
        db.execute("SET TimeZone = 'UTC'")
        db.execute(f"SET memory_limit = {literal(memory_limit)}")
        if spill is not None:
            db.execute(f"SET temp_directory = {literal(str(spill))}")
        # Else a column is optional or required in the file by whether there happens to be a null in it.
        db.execute("SET disabled_optimizers = 'statistics_propagation'")
        try:
            yield db
        except duckdb.IOException as error:  # of what is written, or spilled: no damage of the warehouse
            raise OSError(str(error)) from error


@contextmanager
def in_words(directory: Path) -> Iterator[None]:
    """Turn what DuckDB or the disk raise during an export into a `WarehouseError` that says what to do."""
    try:
        yield
    except (duckdb.Error, OSError) as error:
        said = str(error).lower()
        full = any(word in said for word in ("no space", "quota", "too large", "out of disk"))
        step = f"make room in {directory}" if full else f"see whether {directory} can be written to"
        words = f"the export failed: {error}; {step}. No snapshot was changed"
        raise WarehouseError(words, code=Code.EXPORT_FAILED) from error


def state_of(db: Connection, family: str | None) -> State:
    """Return what there is to export. Raises `WarehouseError` for a family that is not there."""
    check_family(db, family)
    columns = {table.name: columns_of(db, table.name) for table in TABLES}
    lines = [
        table_line(db, table, columns[table.name], f"{quoted(table.name)} WHERE {rows_of(table, family)}")
        for table in TABLES
        if table.kind == "evidence"
    ]
    row = first_row(db, "SELECT max(number) FROM schema_migrations")
    return State(family, columns, content_digest(family, lines), int(row[0]) if row else 0)


def check_family(db: Connection, family: str | None) -> None:
    """Raise `WarehouseError` for a family that is not there, and for a warehouse of an older kix."""
    columns_of(db, TABLES[-1].name)
    if family is None:
        return
    encoded(family)
    query = "SELECT comparability_family FROM protocols UNION SELECT comparability_family FROM runs ORDER BY 1"
    known = [name for (name,) in db.execute(query).fetchall()]
    if family not in known:
        there = ", ".join(map(repr, known[:10])) or "none yet"
        words = f"no comparability family is called {family!r}; there is: {there}"
        raise WarehouseError(words, code=Code.NOT_FOUND)


def write_tables(db: Connection, state: State, folder: Path) -> list[File]:
    """Write all tables of a state below `folder`. Raises `duckdb.Error` and `OSError` when the disk refuses."""
    files = []
    for table in TABLES:
        for family in _families(db, state.family) if table.partitioned else [None]:
            path = f"{folder_of(table.name, family)}/{PART}"
            (folder / path).parent.mkdir(parents=True)
            where = rows_of(table, state.family)
            if family is not None:
                where = f"{PARTITION} = {literal(family)}"
            _copy(db, table, state.columns[table.name], where, folder / path)
            files.append(file_of(folder, path, table.name, family, parquet_rows(db, folder / path)))
    return files


def _families(db: Connection, only: str | None) -> list[str | None]:
    """Return the partitions: every partitioned table has a file for each, and without any a file of no rows."""
    if only is not None:
        return [only]
    rows = db.execute(f"SELECT DISTINCT {PARTITION} FROM runs ORDER BY 1").fetchall()
    return [family for (family,) in rows] or [None]


def _copy(db: Connection, table: Table, columns: list[Column], where: str, path: Path) -> None:
    shown = ", ".join(f"{quoted(one.name)}::{one.type} AS {quoted(one.name)}" for one in columns)
    write(db, f"SELECT {shown} FROM {quoted(table.name)} WHERE {where} ORDER BY {table.order}", columns, path)


def write(db: Connection, query: str, columns: list[Column], path: Path) -> None:
    """Write the rows of a query as one Parquet file, in their order."""
    wide = any(one.name in DOCUMENTS for one in columns)
    size = DOCUMENT_GROUP_ROWS if wide else GROUP_ROWS
    options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {size}"
    db.execute(f"COPY ({query}) TO {literal(str(path))} ({options})")


def file_of(folder: Path, path: str, table: str, family: str | None, rows: int) -> File:
    """Return the entry of a file that was written."""
    return File(path, table, family, rows, (folder / path).stat().st_size, file_sha256(folder / path))


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal digits. A symbolic link is not followed."""
    digest = hashlib.sha256()
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        while block := file.read(_HASHED_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def parquet_rows(db: Connection, path: Path) -> int:
    """Return the number of rows that a file's footer states. Raises `duckdb.Error` for a footer that cannot be read."""
    row = first_row(db, f"SELECT num_rows FROM parquet_file_metadata({_pattern(path)})")
    return int(row[0]) if row else 0


def parquet(paths: Iterable[Path]) -> str:
    """Return the SQL that reads Parquet files as they are, with nothing taken from their folders' names."""
    return f"read_parquet([{', '.join(_pattern(path) for path in paths)}], hive_partitioning = false)"


def _pattern(path: Path) -> str:
    return literal(re.sub(r"([*?\[])", r"[\1]", str(path)))


def check_against_warehouse(db: Connection, state: State, folder: Path, files: list[File]) -> list[str]:
    """Read all files back and hold them against the warehouse they were written from: columns, types, rows and every
    value.

    Returns what does not agree, in words.
    """
    problems = check_content(db, state.columns, state.family, state.content_digest, folder, files)
    for table in TABLES:
        mine = [one for one in files if one.table == table.name]
        stored = parquet(folder / one.path for one in mine)
        shown = ", ".join(f"{quoted(one.name)}::{one.type} AS {quoted(one.name)}" for one in state.columns[table.name])
        there = f"(SELECT {shown} FROM {quoted(table.name)} WHERE {rows_of(table, state.family)})"
        # One DuckDB in one process: its own quick hash compares every value, documents included.
        counts = [first_row(db, f"SELECT count(*), sum(hash(one)) FROM {rows} one") for rows in (there, stored)]
        if counts[0] != counts[1]:
            problems.append(f"{table.name}: what was written is not what the warehouse holds")
        problems += [f"{one.path}: its rows are not those of {one.family!r}" for one in mine if _mixed(db, folder, one)]
    return problems


def _mixed(db: Connection, folder: Path, file: File) -> bool:
    if file.family is None:
        return False
    query = f"SELECT 1 FROM {parquet([folder / file.path])} WHERE {PARTITION} <> {literal(file.family)} LIMIT 1"
    return first_row(db, query) is not None


def check_content(
    db: Connection, columns: dict[str, list[Column]], family: str | None, digest: str, folder: Path, files: list[File]
) -> list[str]:
    """Hold the files of a snapshot against what it says of itself: footers, rows, columns, and its content digest.

    Needs no warehouse. Returns what does not agree, in words.
    """
    problems = [problem for file in files for problem in check_file(db, columns[file.table], folder, file)]
    if problems:
        return problems
    lines = [
        table_line(db, table, columns[table.name],
                   parquet(folder / one.path for one in files if one.table == table.name))
        for table in TABLES if table.kind == "evidence"
    ]  # fmt: skip
    found = content_digest(family, lines)
    return [] if found == digest else [f"its content is {found}, it says {digest}"]


def check_file(db: Connection, columns: list[Column], folder: Path, file: File) -> list[str]:
    """Hold a file's footer against its entry: it can be read, and has the rows and columns that it should."""
    rows = parquet_rows(db, folder / file.path)
    if rows != file.rows:
        return [f"{file.path}: {rows} rows, the manifest says {file.rows}"]
    found = db.execute(f"DESCRIBE SELECT * FROM {parquet([folder / file.path])}").fetchall()
    there = [(name, kind) for name, kind, *_ in found]
    declared = [(one.name, one.type) for one in columns]
    return [] if there == declared else [f"{file.path}: its columns are not those of {file.table}"]
