"""Whether a snapshot is what its manifest says: nothing missing, nothing more, no byte another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from warehouse import snapshot_folder as shelf
from warehouse.connection import Connection, WarehouseError
from warehouse.export import check_content, check_file, file_sha256
from warehouse.snapshot_manifest import columns_in, files_in


@contextmanager
def closed_room() -> Iterator[Connection]:
    """Open a database of nothing, to read Parquet files with."""
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        yield db


def present(folder: Path, manifest: dict[str, Any]) -> list[str]:
    """Say what is missing or of another size. Reads no file."""
    listed = {one["path"]: one["bytes"] for one in (*manifest["files"], *manifest["documents"])}
    there = dict(_on_disk(folder))
    problems = [f"{path} is missing" for path in listed if path not in there]
    problems += [
        f"{path} has {there[path]} bytes, the manifest says {size}"
        for path, size in listed.items()
        if path in there and there[path] != size
    ]
    return problems + [f"{path} is not in the manifest" for path in there if path not in {*listed, shelf.MANIFEST}]


def _on_disk(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield everything below a folder that is no folder, links included and not followed, with its size in bytes."""
    for parent, folders, names in os.walk(folder):
        for name in (*names, *(one for one in folders if (Path(parent) / one).is_symlink())):
            path = Path(parent) / name
            yield path.relative_to(folder).as_posix(), path.lstat().st_size


def check_snapshot(db: Connection, folder: Path) -> list[str]:
    """Hold a snapshot's folder against its manifest: every file, its bytes, rows and columns, and the content digest
    that follows from its rows. Returns what does not agree, in words."""
    try:
        manifest = shelf.read_manifest(folder)
        problems = present(folder, manifest) or _bytes(folder, manifest)
        if problems:
            return problems
        if manifest["snapshot"] != folder.name:
            return [f"its manifest is that of {manifest['snapshot']}"]
        digest = manifest["content_digest"]
        if not folder.name.endswith(digest.removeprefix("sha256:")[:12]):
            return [f"its name does not follow from its content digest {digest}"]
        return check_content(db, columns_in(manifest), manifest["family"], digest, folder, files_in(manifest))
    except (WarehouseError, OSError, duckdb.Error, KeyError, TypeError, ValueError) as error:
        return [f"it cannot be read: {error or type(error).__name__}"]


def check_increment(db: Connection, folder: Path) -> list[str]:
    """Hold an increment's folder against its manifest. Returns what does not agree, in words."""
    try:
        manifest = shelf.read_manifest(folder)
        problems = present(folder, manifest) or _bytes(folder, manifest)
        if f"{manifest['since']}_to_{manifest['snapshot']}" != folder.name:
            problems.append(f"its manifest leads from {manifest['since']} to {manifest['snapshot']}")
        columns = columns_in(manifest)
        return problems or [
            problem for one in files_in(manifest) for problem in check_file(db, columns[one.table], folder, one)
        ]
    except (WarehouseError, OSError, duckdb.Error, KeyError, TypeError, ValueError) as error:
        return [f"it cannot be read: {error or type(error).__name__}"]


def _bytes(folder: Path, manifest: dict[str, Any]) -> list[str]:
    return [
        f"{one['path']}: its bytes are not those that were written"
        for one in (*manifest["files"], *manifest["documents"])
        if file_sha256(folder / one["path"]) != one["sha256"]
    ]
