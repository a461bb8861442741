"""What is new from one snapshot to a later one, for those who keep up by increments.

It follows from the two snapshots alone. A table of which rows are only added has the added ones; one of which rows may
change (what is derived, and when a submission was last seen) is there whole, if it changed at all. Which is which is
not believed but counted: the older rows and the added ones must be the newer rows, else the table is there whole.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scrapers.codes import Code
from warehouse import snapshot_folder as shelf
from warehouse.connection import Connection, WarehouseError
from warehouse.export import File, file_of, parquet, parquet_rows, write
from warehouse.quoting import literal
from warehouse.snapshot import BY_NAME, PARTITION, Table
from warehouse.snapshot_manifest import columns_in, files_in, manifest_text

FORMAT = "kix-increment/1"
APPLYING = (
    "Table by table, onto the snapshot `since`: append = its rows and these; replace = these instead of its rows;"
    " same = its rows. The result is the snapshot `snapshot`, row for row."
)


@dataclass(frozen=True, slots=True)
class Increment:
    """An increment that was written, or was there: from which snapshot, to which, where, and its rows by table."""

    since: str
    snapshot: str
    path: Path
    rows: dict[str, int]
    bytes: int


@dataclass(frozen=True, slots=True)
class _Side:
    folder: Path
    manifest: dict[str, Any]

    def files(self, table: str) -> list[File]:
        return [one for one in files_in(self.manifest) if one.table == table]

    def rows(self, table: str) -> str:
        return parquet(self.folder / one.path for one in self.files(table))


def increment_path(directory: Path, since: str, snapshot: str) -> Path:
    """Return where the increment from one snapshot to another stands."""
    return directory / shelf.INCREMENTS / f"{since}_to_{snapshot}"


def check_base(directory: Path, since: str, family: str | None) -> None:
    """Raise `WarehouseError` when no increment can begin at a snapshot: it is not there, or covers something else."""
    covered = shelf.read_manifest(shelf.snapshot_path(directory, since)).get("family")
    if covered != family:
        theirs, ours = ("everything" if one is None else f"the family {one!r}" for one in (covered, family))
        words = f"the snapshot {since} is of {theirs}, and this export of {ours}: name one of the same"
        raise WarehouseError(words, code=Code.NOT_FOUND)


def write_increment(db: Connection, directory: Path, since: str, snapshot: str) -> Increment | None:
    """Write what is new from one snapshot to another beside them; None when they are the same one.

    The caller holds the folder's lock. Raises `WarehouseError` when one of them cannot be read.
    """
    if since == snapshot:
        return None
    target = increment_path(directory, since, snapshot)
    for path in (target.parent, target):
        if path.is_symlink():
            words = f"{path} is a symbolic link; increments are written into real folders only"
            raise WarehouseError(words, code=Code.FILE_UNUSABLE)
    if not target.is_dir():
        target.parent.mkdir(exist_ok=True)
        aside = directory / f"{shelf.WRITING}{target.name}"
        aside.mkdir()
        try:
            _write(db, directory, since, snapshot, aside)
            shelf.put_in_place(aside, target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    found = shelf.read_manifest(target)
    rows = {one["name"]: one["rows"] for one in found["tables"] if one["mode"] != "same"}
    return Increment(since, snapshot, target, rows, sum(one["bytes"] for one in found["files"]))


def _write(db: Connection, directory: Path, since: str, snapshot: str, aside: Path) -> None:
    old, new = (_Side(path, shelf.read_manifest(path)) for path in
                (shelf.snapshot_path(directory, one) for one in (since, snapshot)))  # fmt: skip
    files: list[File] = []
    tables = []
    for entry in new.manifest["tables"]:
        mode, mine = _table(db, entry["name"], old, new, aside)
        files += mine
        tables.append(entry | {"mode": mode, "rows": sum(one.rows for one in mine)})
    said = {
        "format": FORMAT,
        "since": since,
        "since_content_digest": old.manifest["content_digest"],
        "since_sync": old.manifest["last_sync"],
        "applying": APPLYING,
        **{name: new.manifest[name] for name in
           ("snapshot", "family", "created_at", "kix_version", "schema_migration", "content_digest", "warning",
            "sources", "last_sync", "partition_column")},
        "syncs": [one for one in new.manifest["syncs"] if one["sync_id"] > old.manifest["last_sync"]],
        "tables": tables,
        "files": [asdict(one) for one in files],
        "documents": [],
    }  # fmt: skip
    (aside / shelf.MANIFEST).write_bytes(manifest_text(said))


def _table(db: Connection, name: str, old: _Side, new: _Side, aside: Path) -> tuple[str, list[File]]:
    if columns_in(old.manifest).get(name) == columns_in(new.manifest)[name]:
        before, after = _counted(db, old.rows(name)), _counted(db, new.rows(name))
        if before == after:
            return "same", []
        added = _added(BY_NAME[name], old, new) if name in BY_NAME and BY_NAME[name].since else None
        if added is not None:
            there = _counted(db, f"(FROM {new.rows(name)} WHERE {added})")
            if (before[0] + there[0], before[1] + there[1]) == after:
                return "append", _append(db, BY_NAME[name], new, added, aside)
    return "replace", [_copied(new, one, aside) for one in new.files(name)]


def _counted(db: Connection, rows: str) -> tuple[int, int]:
    # DuckDB's own quick hash: both sides are hashed here and now, by one version of it.
    count, hashes = db.execute(f"SELECT count(*), coalesce(sum(hash(one)), 0) FROM {rows} one").fetchall()[0]
    return int(count), int(hashes)


def _added(table: Table, old: _Side, new: _Side) -> str:
    return table.since.replace("$SYNC", str(int(old.manifest["last_sync"]))).replace("$RUNS", new.rows("runs"))


def _append(db: Connection, table: Table, new: _Side, added: str, aside: Path) -> list[File]:
    columns = columns_in(new.manifest)[table.name]
    files = []
    for one in new.files(table.name):
        part = "true" if one.family is None else f"{PARTITION} = {literal(one.family)}"
        path = aside / one.path
        path.parent.mkdir(parents=True)
        write(db, f"FROM {parquet([new.folder / one.path])} WHERE ({added}) AND {part} ORDER BY {table.order}",
              columns, path)  # fmt: skip
        files.append(file_of(aside, one.path, table.name, one.family, parquet_rows(db, path)))
    return files


def _copied(new: _Side, file: File, aside: Path) -> File:
    (aside / file.path).parent.mkdir(parents=True)
    shutil.copyfile(new.folder / file.path, aside / file.path)
    return file_of(aside, file.path, file.table, file.family, file.rows)
