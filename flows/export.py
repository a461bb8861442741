"""The published state as an immutable Parquet snapshot: written aside, read back, put in place, and pointed at last."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import flows.sample
from flows.lock import holding
from flows.registry import SOURCES
from flows.settings import Settings
from scrapers.codes import Code
from scrapers.telling import tell
from warehouse import snapshot_folder as shelf
from warehouse.card import card
from warehouse.connection import Connection, WarehouseError
from warehouse.croissant import croissant
from warehouse.export import (
    State,
    check_against_warehouse,
    check_family,
    exporting,
    file_sha256,
    in_words,
    state_of,
    write_tables,
)
from warehouse.increments import Increment, check_base, write_increment
from warehouse.snapshot import snapshot_id
from warehouse.snapshot_check import check_snapshot, present
from warehouse.snapshot_manifest import SourceInfo, make_manifest, manifest_text, syncs_in

LOCK = ".export.lock"


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export came to. `new` is whether it made a snapshot; else `snapshot` is the one that says the same
    already.

    `rows` by table, `bytes` of all its Parquet files. `increment` is what `since` asked for, None when nothing is new
    since then.
    """

    snapshot: str
    path: Path
    new: bool
    family: str | None
    content_digest: str
    rows: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    warning: str | None = None
    since: str | None = None
    increment: Increment | None = None


def utc_now() -> datetime:
    """Return the time, UTC."""
    return datetime.now(UTC)


def export(
    settings: Settings,
    directory: Path,
    *,
    family: str | None = None,
    since: str | None = None,
    now: Callable[[], datetime] = utc_now,
) -> Exported:
    """Export the home's published state into `directory`, of one family alone if that is named, and what is new since a
    snapshot that is there.

    Nothing is made when the evidence is that of the current snapshot. Raises `WarehouseError` (no warehouse, no such
    family or snapshot, a folder that cannot be used, a full disk) and `HomeBusy` (another export holds the folder);
    then what was there is as it was.
    """
    begun = time.monotonic()
    directory = directory.absolute()
    with exporting(settings.home, settings.memory_limit) as db:
        check_family(db, family)  # what cannot be exported is said before anything is made
    with in_words(directory), _using(directory), _holding(directory, settings.lock_timeout_s):
        shelf.remove_leftovers(directory)
        if since is not None:
            check_base(directory, since, family)
        spill = directory / f"{shelf.WRITING}spill"
        try:
            with exporting(settings.home, settings.memory_limit, spill) as db:
                state = state_of(db, family)
                before = _current(directory, family)
                done = _there(db, directory, state, before) or _write(db, state, directory, now())
                if done != before:
                    shelf.point(directory, family, done)
                increment = write_increment(db, directory, since, done) if since is not None else None
        finally:
            shutil.rmtree(spill, ignore_errors=True)
    exported = _exported(directory, done, new=done != before, since=since, increment=increment)
    tell(
        "exported", snapshot=exported.snapshot, path=exported.path, new=exported.new, family=exported.family,
        rows=sum(exported.rows.values()), bytes=exported.bytes, seconds=round(time.monotonic() - begun, 3),
    )  # fmt: skip
    return exported


@contextmanager
def _using(directory: Path) -> Iterator[None]:
    """Make the folder; where that was new and nothing comes of it, take it away again."""
    made = not directory.exists()
    shelf.prepare(directory)
    try:
        yield
    except BaseException:
        shelf.take_away(directory, LOCK if made else None)
        raise


def _holding(directory: Path, timeout_s: float) -> AbstractContextManager[None]:
    return holding(directory, "kix export", timeout_s, name=LOCK)


def _current(directory: Path, family: str | None) -> str | None:
    pointer = shelf.pointed(directory, family)
    return pointer.snapshot if pointer else None


def _there(db: Connection, directory: Path, state: State, current: str | None) -> str | None:
    """Return the snapshot that says the same already: the current one, or one that a kill left unnamed."""
    for snapshot in sorted(shelf.snapshot_ids(directory), key=lambda one: (one == current, one), reverse=True):
        if not snapshot.endswith(state.content_digest.removeprefix("sha256:")[:12]):
            continue
        folder = directory / shelf.SNAPSHOTS / snapshot
        try:
            manifest = shelf.read_manifest(folder)
        except WarehouseError:  # damaged: `verify` names it, and the evidence is written anew
            continue
        same = (manifest.get("family"), manifest.get("content_digest")) == (state.family, state.content_digest)
        if same and not (present(folder, manifest) if snapshot == current else check_snapshot(db, folder)):
            return snapshot
    return None


def _write(db: Connection, state: State, directory: Path, now: datetime) -> str:
    created_at = now.astimezone(UTC).replace(microsecond=0)
    snapshot = snapshot_id(created_at, state.content_digest)
    aside = directory / f"{shelf.WRITING}{snapshot}"
    aside.mkdir()
    try:
        files = write_tables(db, state, aside)
        if problems := check_against_warehouse(db, state, aside, files):
            words = f"what was written is not what was to be: {problems[0]}; nothing was published"
            raise WarehouseError(words, code=Code.EXPORT_FAILED)
        syncs = syncs_in(db, state.family)
        manifest = make_manifest(
            db, state, files, snapshot=snapshot, created_at=created_at, kix_version=version("kix"),
            sources=_sources(syncs), syncs=syncs,
        )  # fmt: skip
        for name, text in (("README.md", card(manifest)), ("croissant.json", croissant(manifest))):
            (aside / name).write_bytes(text)
            manifest["documents"].append({"path": name, "bytes": len(text), "sha256": file_sha256(aside / name)})
        (aside / shelf.MANIFEST).write_bytes(manifest_text(manifest))
        shelf.put_in_place(aside, directory / shelf.SNAPSHOTS / snapshot)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return snapshot


def _sources(syncs: list[dict[str, Any]]) -> list[SourceInfo]:
    found = []
    for slug in sorted({one["source"] for one in syncs}):
        synthetic = any(flows.sample.is_synthetic(one["base_url"]) for one in syncs if one["source"] == slug)
        if slug not in SOURCES:
            found.append(SourceInfo(slug, slug, "unknown to this kix", slug, "", synthetic))
            continue
        policy = SOURCES[slug].policy
        licence, attribution = policy.licence, policy.attribution
        if synthetic:
            licence, attribution = (
                "Apache-2.0 (made for trying kix out)",
                f"synthetic sample of kix, in the shape of {policy.title}",
            )
        page = "" if synthetic else policy.page_url
        found.append(SourceInfo(slug, policy.title, licence, attribution, page, synthetic))
    return found


def _exported(directory: Path, snapshot: str, *, new: bool, since: str | None, increment: Increment | None) -> Exported:
    path = directory / shelf.SNAPSHOTS / snapshot
    manifest = shelf.read_manifest(path)
    return Exported(
        snapshot=snapshot,
        path=path,
        new=new,
        family=manifest["family"],
        content_digest=manifest["content_digest"],
        rows={table["name"]: table["rows"] for table in manifest["tables"]},
        bytes=sum(one["bytes"] for one in manifest["files"]),
        warning=manifest["warning"],
        since=since,
        increment=increment,
    )
