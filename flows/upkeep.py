"""The chores as Prefect flows: a snapshot, the proofs, and maintenance."""

from __future__ import annotations

import logging
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import acreate_markdown_artifact
from prefect.assets import add_asset_metadata, materialize
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.coalescing import coalesced, superseded_by
from flows.export import export
from flows.lock import BUSY_S, HomeBusy, owner_text
from flows.maintenance import export_folder, maintain
from flows.orphan import end_with_parent
from flows.report import code
from flows.seen import WAREHOUSE, progress_shown, snapshot_asset, tell_stale_now
from flows.settings import Settings
from flows.telling import listening
from flows.verify import Proof, verify
from scrapers.codes import Code, CodedError
from scrapers.errors import SyncFailed
from scrapers.telling import tell
from transforms.names import printable
from warehouse.checks import checks
from warehouse.connection import WarehouseError, published_path

AFTER_CHECKS = 7
"""Proofs that follow the checks; only for how far a proof run is."""


@flow(name="kix export", persist_result=False)
async def export_flow(*, family: str | None = None) -> State[Any]:
    """Write a Parquet snapshot of the published warehouse, unless nothing is new since the last one.

    Args:
        family: Only this comparability family, under a pointer of its own.
    """
    end_with_parent()
    if (newer := await superseded_by()) is not None:
        return coalesced(newer)
    settings = listening()

    @task(name="write the snapshot", cache_policy=NO_CACHE, persist_result=False)
    async def write() -> Any:
        folder = export_folder(settings)
        folder.mkdir(parents=True, exist_ok=True)
        return export(settings, folder, family=family)

    try:
        done = await write()
    except HomeBusy as busy:
        return _skipped(printable(str(busy)))
    except WarehouseError as error:
        return _failed(error)
    asset = snapshot_asset(done.snapshot)

    @materialize(asset, by="kix", name="publish", asset_deps=[WAREHOUSE], cache_policy=NO_CACHE, persist_result=False)
    async def publish() -> None:
        add_asset_metadata(asset, {"bytes": done.bytes, "new": done.new})

    await publish()
    words = f"snapshot {done.snapshot} " + ("was written" if done.new else "is there already: nothing is new")
    get_run_logger().info("%s", words)
    return Completed(message=words)


@flow(name="kix verify", persist_result=False)
async def verify_flow() -> State[Any]:
    """Prove the warehouse: every rule, digest and figure, and every row against the archive. Changes nothing."""
    end_with_parent()
    if (newer := await superseded_by()) is not None:
        return coalesced(newer)
    logger, proofs, settings = get_run_logger(), list[Proof](), listening()
    before = _published(settings)
    expected = sum(1 for _ in checks()) + AFTER_CHECKS
    async with progress_shown("progress-verify") as progress:
        try:
            async for proof in verify(settings):
                proofs.append(proof)
                logger.info("%s: %s", "holds" if proof.holds else "BROKEN", printable(proof.what))
                progress("proofs", min(len(proofs), expected), expected)
        except WarehouseError as error:
            return _failed(error)
    broken = [proof for proof in proofs if not proof.holds]
    if broken and _published(settings) != before:
        return Completed(name="Skipped", message="a sync published meanwhile: the proofs do not speak of one state")
    words = f"{len(proofs) - len(broken)} of {len(proofs)} proofs hold"
    lines = [f"# {words}", ""]
    for proof in broken:
        lines += [f"## {code(proof.what)}", "", *(f"- {code(one)}" for one in proof.examples), ""]
    await acreate_markdown_artifact(key="verify", markdown="\n".join(lines), description=words)
    if broken:
        return Failed(message=f"{words}; broken: " + ", ".join(printable(proof.what) for proof in broken))
    return Completed(message=words)


def _skipped(words: str) -> State[Any]:
    tell("run.skipped", logging.WARNING, code=Code.HOME_BUSY, reason=words)
    return Completed(name="Skipped", message=words)


def _failed(error: CodedError) -> State[Any]:
    tell("run.failed", logging.ERROR, code=error.code, reason=str(error))
    return Failed(message=printable(f"{error} [{error.code}]"))


def _published(settings: Settings) -> tuple[int, int] | None:
    """What tells one published state from another."""
    path = published_path(settings.home)
    return (path.stat().st_ino, path.stat().st_mtime_ns) if path.exists() else None


@flow(name="kix maintenance", persist_result=False)
async def maintenance_flow(*, compact_always: bool = False) -> State[Any]:
    """Compact the archive where that is worthwhile, drop snapshots the policy no longer keeps, and name stale sources.

    Ends as `Skipped` when another process works on the home.

    Args:
        compact_always: Write the archive anew even when little in it is unused.
    """
    end_with_parent()
    if (newer := await superseded_by()) is not None:
        return coalesced(newer)
    settings = listening().model_copy(update={"lock_timeout_s": BUSY_S})
    tell_stale_now(settings)
    try:
        done = maintain(settings, compact_always=compact_always)
    except HomeBusy:
        words = f"skipped, nothing was done: the home is in use by {owner_text(settings.home)}"
        get_run_logger().warning("%s", words)
        return _skipped(words)
    except (SyncFailed, WarehouseError) as error:
        return _failed(error)
    get_run_logger().info("%s", done.sentence())
    return Completed(message=done.sentence())
