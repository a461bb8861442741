"""Saved pages: files that somebody kept, put into the archive as bodies beside what was fetched.

A saved page is known by its content and its bare name, `file:<12 hex digits>/<name>`; where it lay is nobody's
business and stays out of the archive.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from scrapers.archive import Archive, FetchRecord
from scrapers.codes import Code
from scrapers.contract import Capture, Fetch
from scrapers.errors import GiveUp

SCHEME = "file:"


def address(name: str, body: bytes) -> str:
    """Return the address by which a saved page is known."""
    return f"{SCHEME}{hashlib.sha256(body).hexdigest()[:12]}/{quote(name)}"


def put_into(archive: Archive, sync_id: int, now: datetime, paths: Iterable[Path], most_bytes: int) -> None:
    """Store saved pages as answers of a sync. One that is too large, or gone, is left out: asking for it then fails."""
    for path in paths:
        if not path.is_file() or path.stat().st_size > most_bytes:
            continue
        body = path.read_bytes()
        note = FetchRecord(
            address(path.name, body), 200, now, "saved", media_type="text/html", body_digest=archive.store(body),
            size_bytes=len(body),
        )  # fmt: skip
        archive.record(sync_id, note)


class WithSaved:
    """A `Fetch` that answers the addresses of saved pages from the archive and leaves the others to `fetch`."""

    def __init__(self, fetch: Fetch, archive: Archive, sync_id: int) -> None:
        self._fetch = fetch
        self._archive = archive
        self._sync_id = sync_id

    async def __call__(self, url: str, *, again: bool = False, fresh: bool = False) -> Capture:
        """Return the answer to `url`. Raises `GiveUp` when there is none."""
        if not url.startswith(SCHEME):
            return await self._fetch(url, again=again, fresh=fresh)
        held = self._archive.held(url, self._sync_id)
        if held is None:
            raise GiveUp(
                url,
                "the saved page is not in the archive: it changed, went away, or is too large",
                code=Code.NOT_IN_ARCHIVE,
            )
        return held
