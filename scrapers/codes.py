"""The codes of errors: one for each kind of cause and remedy, whatever the words. docs/errors.md explains each."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """What an error is known by, in reports and to scripts. A code that was published once keeps its meaning."""

    # how kix was asked
    USAGE = "usage"
    SETTING = "setting"
    NOT_FOUND = "not-found"
    AMBIGUOUS = "ambiguous"
    NOT_COMPARABLE = "not-comparable"
    NOTHING_READ = "nothing-read"
    INTERRUPTED = "interrupted"
    # queries
    QUERY_REFUSED = "query-refused"
    QUERY_FAILED = "query-failed"
    QUERY_TOO_LARGE = "query-too-large"
    # an answer of a source
    ADDRESS_REFUSED = "address-refused"
    ROBOTS = "robots"
    ROBOTS_UNREADABLE = "robots-unreadable"
    CRAWL_DELAY = "crawl-delay"
    NO_SUCH_ANSWER = "no-such-answer"
    SOURCE_BUSY = "source-busy"
    SOURCE_FAILING = "source-failing"
    TRANSFER_BROKEN = "transfer-broken"
    CERTIFICATE = "certificate"
    REDIRECT = "redirect"
    ANSWER_TOO_LARGE = "answer-too-large"
    ANSWER_UNREADABLE = "answer-unreadable"
    NOT_IN_ARCHIVE = "not-in-archive"
    # what is in it
    INDEX_UNUSABLE = "index-unusable"
    LISTING_INCOMPLETE = "listing-incomplete"
    ITEM_UNUSABLE = "item-unusable"
    # the home
    HOME_BUSY = "home-busy"
    HOME_MIXED = "home-mixed"
    FILE_UNUSABLE = "file-unusable"
    # the archive
    ARCHIVE_UNUSABLE = "archive-unusable"
    ARCHIVE_DAMAGED = "archive-damaged"
    ARCHIVE_INCOMPLETE = "archive-incomplete"
    ARCHIVE_EMPTY = "archive-empty"
    # the warehouse
    NO_WAREHOUSE = "no-warehouse"
    WAREHOUSE_UNREADABLE = "warehouse-unreadable"
    SCHEMA = "schema"
    LOAD_FAILED = "load-failed"
    # snapshots
    EXPORT_FAILED = "export-failed"
    SNAPSHOT_UNREADABLE = "snapshot-unreadable"
    # others
    NO_SERVER = "no-server"
    DEFECT = "defect"


WRONG_USAGE = frozenset({Code.USAGE, Code.SETTING})
"""Codes of what the person who asked has to write otherwise; a command ends with 2 for them, with 1 for the others."""


class CodedError(Exception):
    """An error that is told to people: words, and the code that docs/errors.md explains.

    Each class has a usual code; `code` is for what has another remedy than the class usually has.
    """

    code: Code

    def __init__(self, words: str, *, code: Code | None = None) -> None:
        super().__init__(words)
        if code is not None:
            self.code = code
