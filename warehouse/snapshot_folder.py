"""The folder of snapshots: what lies in it, its pointers, and how a snapshot gets there whole or not at all.

A snapshot is written into `.writing-…`, which nobody reads, and renamed. A pointer is replaced last. Nothing here
follows a symbolic link below the folder, and no name that was not made here becomes part of a path.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from scrapers.codes import Code
from warehouse.connection import WarehouseError
from warehouse.snapshot import is_snapshot_id, pointer_of

SNAPSHOTS = "snapshots"
INCREMENTS = "increments"
MANIFEST = "manifest.json"
WRITING = ".writing-"


@dataclass(frozen=True, slots=True)
class Pointer:
    """What a `latest.json` or `latest-F.json` says: a snapshot, and the SHA-256 of its manifest in hexadecimal
    digits."""

    name: str
    snapshot: str
    manifest_sha256: str


def prepare(directory: Path) -> None:
    """Make the folder and what is always in it. Raises `WarehouseError` when it is something else."""
    if directory.exists() and not directory.is_dir():
        raise WarehouseError(f"{directory} is a file; name a folder for the snapshots", code=Code.FILE_UNUSABLE)
    for folder in (directory, directory / SNAPSHOTS):
        if folder != directory and folder.is_symlink():
            words = f"{folder} is a symbolic link; snapshots are written into real folders only"
            raise WarehouseError(words, code=Code.FILE_UNUSABLE)
        folder.mkdir(parents=True, exist_ok=True)


def take_away(directory: Path, lock: str | None) -> None:
    """Remove what `prepare` made as far as it is empty; with `lock` the lock's file and the folder itself too."""
    folders = [directory / SNAPSHOTS]
    if lock is not None:
        (directory / lock).unlink(missing_ok=True)
        folders.append(directory)
    for folder in folders:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def remove_leftovers(directory: Path) -> None:
    """Remove what killed exports left. The caller holds the folder's lock, so nobody is writing any of it."""
    for path in directory.iterdir():
        if path.name.startswith(WRITING):
            remove(path)


def remove(path: Path) -> None:
    """Remove a file, link or folder; a folder out of sight first, so that nobody sees a part of it."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    if not path.name.startswith(WRITING):
        aside = path.parent.parent / f"{WRITING}removed-{path.name}"
        path.replace(aside)
        path = aside
    shutil.rmtree(path)


def snapshot_ids(directory: Path) -> list[str]:
    """Return the IDs of the snapshots that are there, oldest first; nothing else in the folder counts."""
    folder = directory / SNAPSHOTS
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(
        one.name for one in folder.iterdir() if is_snapshot_id(one.name) and not one.is_symlink() and one.is_dir()
    )


def snapshot_path(directory: Path, snapshot: str) -> Path:
    """Return where a snapshot is. Raises `WarehouseError` for one that is not there."""
    there = snapshot_ids(directory)
    if snapshot not in there:
        shown = ", ".join(there[-5:]) or "none yet"
        words = f"no snapshot {snapshot[:60]!r} in {directory}; there is: {shown}"
        raise WarehouseError(words, code=Code.NOT_FOUND)
    return directory / SNAPSHOTS / snapshot


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest in a snapshot's folder. Raises `WarehouseError` when it cannot be read."""
    path = folder / MANIFEST
    try:
        found = orjson.loads(_bytes(path))
    except (OSError, orjson.JSONDecodeError) as error:
        raise WarehouseError(f"{path} cannot be read: {error}", code=Code.SNAPSHOT_UNREADABLE) from error
    if not isinstance(found, dict):
        raise WarehouseError(f"{path} is no manifest", code=Code.SNAPSHOT_UNREADABLE)
    return found


def pointers(directory: Path) -> Iterator[Pointer]:
    """Yield what the pointers of a folder say. Raises `WarehouseError` for one that says nothing."""
    for path in sorted(directory.glob("latest*.json")):
        if path.name == "latest.json" or path.name.startswith("latest-"):
            yield _pointer(path)


def pointed(directory: Path, family: str | None) -> Pointer | None:
    """Return what the pointer of everything, or of one family, says; None where there is none yet."""
    path = directory / pointer_of(family)
    return _pointer(path) if os.path.lexists(path) else None


def _pointer(path: Path) -> Pointer:
    try:
        said = orjson.loads(_bytes(path))
        pointer = Pointer(path.name, said["snapshot"], said["manifest_sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        words = f"the pointer {path} cannot be read ({error}); remove it and export again"
        raise WarehouseError(words, code=Code.SNAPSHOT_UNREADABLE) from error
    if not (isinstance(pointer.snapshot, str) and is_snapshot_id(pointer.snapshot)):
        words = f"the pointer {path} names no snapshot; remove it and export again"
        raise WarehouseError(words, code=Code.SNAPSHOT_UNREADABLE)
    return pointer


def _bytes(path: Path) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read()


def put_in_place(written: Path, target: Path) -> None:
    """Sync everything below `written` to disk, make its files read-only, and rename it to `target`, which is new."""
    for folder, _, names in os.walk(written, topdown=False):
        for name in names:
            (Path(folder) / name).chmod(0o444)
            _sync(Path(folder) / name)
        _sync(Path(folder))
    if os.path.lexists(target):
        raise WarehouseError(f"{target} is there already; wait a second and export again", code=Code.EXPORT_FAILED)
    written.rename(target)
    _sync(target.parent)


def point(directory: Path, family: str | None, snapshot: str) -> None:
    """Make the pointer name a snapshot, all at once."""
    manifest = _bytes(directory / SNAPSHOTS / snapshot / MANIFEST)
    said = {"snapshot": snapshot, "manifest_sha256": hashlib.sha256(manifest).hexdigest()}
    name = pointer_of(family)
    aside = directory / f"{WRITING}{name}"
    with aside.open("xb") as file:  # new: what killed exports left, or others put there, is gone
        file.write(orjson.dumps(said, option=orjson.OPT_INDENT_2) + b"\n")
    _sync(aside)
    aside.replace(directory / name)
    _sync(directory)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
