"""Errors of reading a source, sorted by what is to be done next, not by where they came from."""

from __future__ import annotations

from scrapers.addresses import without_user_info
from scrapers.codes import Code, CodedError


class SourceError(CodedError):
    """An answer that cannot be used: which one, why, and what to do about it.

    `locator` names the answer or the item (a URL, `submission/12`); `reason` is for a person. Both are printed and
    stored, so whatever URL is in them is without user and password. `status` is that of the answer, if there was one.
    """

    code = Code.ANSWER_UNREADABLE

    def __init__(self, locator: str, reason: str, *, code: Code | None = None, status: int | None = None) -> None:
        locator, reason = without_user_info(locator), without_user_info(reason)
        super().__init__(f"{locator}: {reason}", code=code)
        self.locator = locator
        self.reason = reason
        self.status = status


class TryAgain(SourceError):
    """The same request may succeed later: 429, 5xx, a broken or late transfer.

    `wait_s` is the wait that the server asked for (`Retry-After`), in seconds, if it did.
    """

    code = Code.TRANSFER_BROKEN

    def __init__(
        self,
        locator: str,
        reason: str,
        wait_s: float | None = None,
        *,
        code: Code | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(locator, reason, code=code, status=status)
        self.wait_s = wait_s


class GiveUp(SourceError):
    """This answer cannot be had in this sync; the rest of the sync goes on without it."""


class NoSuchAnswer(GiveUp):
    """The source says that this URL has no answer for us (a 4xx other than the passing ones)."""

    code = Code.NO_SUCH_ANSWER


class RejectItem(SourceError):
    """One item cannot be used; its neighbours can."""

    code = Code.ITEM_UNUSABLE


class SyncFailed(CodedError):
    """The sync as a whole cannot go on, and nothing of it is published."""

    code = Code.ARCHIVE_UNUSABLE


class ArchiveDamaged(SyncFailed):
    """A stored body is missing or no longer hashes to its name."""

    code = Code.ARCHIVE_DAMAGED
