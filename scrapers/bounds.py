"""Bounds of an answer: its size, packed and unpacked, its time, and how long it may ask us to wait."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from scrapers.codes import Code
from scrapers.errors import GiveUp, TryAgain

GZIP_EXTRA_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one answer and of the effort for it. Sizes in bytes, times in seconds."""

    body_bytes: int = 32 * 1024 * 1024
    expansion: int = 200
    redirects: int = 3
    connect_s: float = 10.0
    read_s: float = 20.0
    answer_s: float = 60.0
    attempts: int = 6
    retry_s: float = 300.0
    wait_max_s: float = 30.0
    crawl_delay_s: float = 60.0
    robots_bytes: int = 1024 * 1024


class BoundedBody:
    """A body that grows only within its bounds, decompressed on the way. Only gzip was asked for.

    Raises `GiveUp` beyond a bound or for another encoding, `TryAgain` for a broken stream.
    """

    def __init__(self, url: str, encoding: str, limits: Limits) -> None:
        if encoding not in ("identity", "gzip", "x-gzip"):
            raise GiveUp(url, f"content encoding {encoding!r}: only gzip was asked for")
        self._url = url
        self._limits = limits
        self._gzip = zlib.decompressobj(31) if encoding != "identity" else None
        self._pieces: list[bytes] = []
        self._size = 0
        self._received = 0

    def add(self, chunk: bytes) -> None:
        """Take what came next, as it came."""
        self._received += len(chunk)
        if self._gzip is None:
            self._keep(chunk)
            return
        # A stream may unpack to nothing for ever; a sound one is hardly longer than what is in it.
        if self._received > self._limits.body_bytes + GZIP_EXTRA_BYTES:
            raise self._too_large()
        try:
            while chunk:
                # One byte more than may be kept: enough to notice, never enough to hurt.
                self._keep(self._gzip.decompress(chunk, self._room() + 1))
                chunk = self._gzip.unconsumed_tail
        except zlib.error as error:
            raise TryAgain(self._url, f"broken gzip: {error}") from error
        if self._gzip.unused_data:
            raise GiveUp(self._url, "bytes after the end of the gzip body")

    def finish(self) -> bytes:
        """Return the whole body, decompressed."""
        if self._gzip is not None and self._received and not self._gzip.eof:
            raise TryAgain(self._url, "the gzip body ends early")
        return b"".join(self._pieces)

    def _room(self) -> int:
        bound = self._limits.body_bytes
        if self._gzip is not None:
            bound = min(bound, max(self._received * self._limits.expansion, 1024 * 1024))
        return bound - self._size

    def _keep(self, piece: bytes) -> None:
        if len(piece) > self._room():
            raise self._too_large()
        self._size += len(piece)
        self._pieces.append(piece)

    def _too_large(self) -> GiveUp:
        self._pieces.clear()  # the error that says so holds on to this body
        bound = f"{self._limits.body_bytes:,} bytes, and {self._limits.expansion} times what was received"
        return GiveUp(self._url, f"body larger than the bound ({bound})", code=Code.ANSWER_TOO_LARGE)


def retry_after_s(value: str | None, now: datetime) -> float | None:
    """Seconds that a `Retry-After` header asks for: a number, or a date (RFC 9110 §10.2.3). None if unreadable."""
    if value is None:
        return None
    digits = value.strip()
    if digits.isascii() and digits.isdigit():
        return float(digits)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())
