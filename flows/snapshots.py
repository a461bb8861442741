"""The folder of snapshots, later: what is in it, whether it is whole, and what may go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flows.export import LOCK, utc_now
from flows.lock import holding
from scrapers.codes import Code
from warehouse import snapshot_folder as shelf
from warehouse.connection import WarehouseError
from warehouse.export import file_sha256
from warehouse.snapshot_check import check_increment, check_snapshot, closed_room

WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot in a folder. `pointers` name it; `family` is None for everything; `bytes` of its Parquet files.

    `problem`, where there is one: its manifest cannot be read, and the other fields are empty.
    """

    snapshot: str
    path: Path
    created_at: datetime
    family: str | None = None
    content_digest: str = ""
    runs: int = 0
    bytes: int = 0
    last_sync: int = 0
    kix_version: str = ""
    warning: str | None = None
    pointers: tuple[str, ...] = ()
    problem: str | None = None


def listed(directory: Path) -> list[Snapshot]:
    """Return the snapshots of a folder, oldest first. Raises `WarehouseError` when it is no folder of snapshots."""
    _check(directory)
    pointers = list(shelf.pointers(directory))
    return [
        _snapshot(directory / shelf.SNAPSHOTS / one, tuple(said.name for said in pointers if said.snapshot == one))
        for one in shelf.snapshot_ids(directory)
    ]


def _check(directory: Path) -> None:
    if not (directory / shelf.SNAPSHOTS).is_dir():
        raise WarehouseError(
            f"{directory} is no folder of snapshots; `kix export {directory}` makes it one", code=Code.NOT_FOUND
        )


def _snapshot(path: Path, pointers: tuple[str, ...]) -> Snapshot:
    created = datetime.strptime(path.name.partition("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    try:
        said = shelf.read_manifest(path)
        return Snapshot(
            path.name, path, created, said["family"], said["content_digest"],
            sum(one["rows"] for one in said["tables"] if one["name"] == "runs"),
            sum(one["bytes"] for one in said["files"]), said["last_sync"], said["kix_version"], said["warning"],
            pointers,
        )  # fmt: skip
    except (WarehouseError, KeyError, TypeError) as error:
        return Snapshot(path.name, path, created, pointers=pointers, problem=f"its manifest cannot be read: {error}")


def verify(directory: Path, snapshot: str | None = None) -> list[str]:
    """Check one snapshot of a folder, or all with their pointers and increments. Returns what is wrong, in words.

    Every file is read: bytes against their SHA-256, footers, rows, columns, and the content digest against the rows.
    Raises `WarehouseError` for a folder or a snapshot that is not there.
    """
    _check(directory)
    chosen = shelf.snapshot_ids(directory) if snapshot is None else [snapshot]
    paths = [shelf.snapshot_path(directory, one) for one in chosen]
    with closed_room() as db:
        problems = [f"{path.name}: {problem}" for path in paths for problem in check_snapshot(db, path)]
        if snapshot is None:
            for path in _increments(directory):
                problems += [f"{shelf.INCREMENTS}/{path.name}: {problem}" for problem in check_increment(db, path)]
    return problems + _pointers_broken(directory, snapshot) + (_strangers(directory) if snapshot is None else [])


def _increments(directory: Path) -> list[Path]:
    folder = directory / shelf.INCREMENTS
    return sorted(one for one in folder.iterdir() if one.is_dir()) if folder.is_dir() else []


def _pointers_broken(directory: Path, only: str | None) -> list[str]:
    try:
        pointers = list(shelf.pointers(directory))
    except WarehouseError as error:
        return [str(error)]
    there = shelf.snapshot_ids(directory)
    problems = []
    for one in pointers:
        if only is not None and one.snapshot != only:
            continue
        if one.snapshot not in there:
            problems.append(f"{one.name} names {one.snapshot}, which is not there")
        elif file_sha256(directory / shelf.SNAPSHOTS / one.snapshot / shelf.MANIFEST) != one.manifest_sha256:
            problems.append(f"{one.name}: the manifest of {one.snapshot} is not the one that it names")
    return problems


def _strangers(directory: Path) -> list[str]:
    known = set(shelf.snapshot_ids(directory))
    return [
        f"{shelf.SNAPSHOTS}/{one.name} is no snapshot of kix"
        for one in sorted((directory / shelf.SNAPSHOTS).iterdir())
        if one.name not in known
    ]


def prune(
    directory: Path, *, keep: int | None = None, keep_days: int | None = None, now: Callable[[], datetime] = utc_now
) -> list[str]:
    """Remove snapshots that are neither among the newest `keep` nor younger than `keep_days` days; returns their IDs.

    Counted for everything and for each family alone. Never removed: the newest of each, and what a pointer names. An
    increment goes with the snapshot that it leads to. Raises `ValueError` when there is no policy, `WarehouseError`
    for a folder that is none (or with a pointer that cannot be read), `HomeBusy` while an export writes into it.
    """
    if keep is None and keep_days is None:
        raise ValueError("say what to keep: the newest N, or those of the last N days")
    _check(directory)
    with holding(directory, "kix snapshots prune", WAIT_S, name=LOCK):
        everything = listed(directory)
        gone = [one.snapshot for one in everything if not _kept(one, everything, keep, keep_days, now())]
        for snapshot in gone:
            for path in _increments(directory):
                if path.name.endswith(f"_to_{snapshot}"):
                    shelf.remove(path)
            shelf.remove(directory / shelf.SNAPSHOTS / snapshot)
    return gone


def _kept(one: Snapshot, everything: list[Snapshot], keep: int | None, keep_days: int | None, now: datetime) -> bool:
    if one.pointers or one.problem:
        return True
    newer = sum(other.family == one.family and other.snapshot > one.snapshot for other in everything)
    young = keep_days is not None and one.created_at > now - timedelta(days=keep_days)
    return newer < max(1, keep or 0) or young
