"""The bundled synthetic sample, put into an archive as if it had been fetched."""

from __future__ import annotations

from datetime import datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from urllib.parse import urlencode

import msgspec

from scrapers.archive import Archive, FetchRecord
from scrapers.codes import Code
from scrapers.errors import SyncFailed
from scrapers.sol_execbench.client import PAGE_LIMIT

BASE_URL = "https://sample.invalid/benchmarks/sol-execbench/api"
"""An address that cannot exist (RFC 6761): whatever was read from it is synthetic."""

PAGE_ROWS = 50


def put_into(archive: Archive, sync_id: int, now: datetime) -> None:
    """Store every answer of the sample under the URL that a sync asks for."""
    folder = files("scrapers.sol_execbench").joinpath("sample")
    _put(archive, sync_id, now, f"{BASE_URL}/kernels", folder.joinpath("kernels.json").read_bytes())
    for answer in sorted(folder.joinpath("kernels").iterdir(), key=lambda one: one.name):
        kernel_id = answer.name.removesuffix(".json")
        _put(archive, sync_id, now, f"{BASE_URL}/kernels/{kernel_id}", answer.read_bytes())
        _put_pages(archive, sync_id, now, kernel_id, folder.joinpath("submissions", answer.name))


def _put_pages(archive: Archive, sync_id: int, now: datetime, kernel_id: str, listing: Traversable) -> None:
    items = msgspec.json.decode(listing.read_bytes(), type=list[msgspec.Raw])
    for offset in range(0, max(1, len(items)), PAGE_ROWS):
        page = {"submissions": items[offset : offset + PAGE_ROWS], "total": len(items), "offset": offset}
        query = urlencode({"kernel_id": kernel_id, "offset": offset, "limit": PAGE_LIMIT})
        body = msgspec.json.encode({"data": {**page, "limit": PAGE_ROWS}})
        _put(archive, sync_id, now, f"{BASE_URL}/submissions?{query}", body)


def _put(archive: Archive, sync_id: int, now: datetime, url: str, body: bytes) -> None:
    note = FetchRecord(
        url, 200, now, "archive", media_type="application/json", body_digest=archive.store(body), size_bytes=len(body)
    )
    archive.record(sync_id, note)


def is_synthetic(base_url: str) -> bool:
    """Whether what was read from there is synthetic."""
    return base_url == BASE_URL


def check_not_mixed(archive: Archive, *, synthetic: bool) -> None:
    """Raise `SyncFailed` when a home would come to hold synthetic rows beside real ones."""
    for sync in archive.syncs():
        if is_synthetic(sync.base_url) is not synthetic:
            kinds = (
                ("the synthetic sample", "real rows") if is_synthetic(sync.base_url) else ("real rows", "the sample")
            )
            raise SyncFailed(
                f"{archive.path.parent} holds {kinds[0]}; {kinds[1]} need another --home", code=Code.HOME_MIXED
            )
