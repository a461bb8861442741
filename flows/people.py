"""What people say: verdicts on what is held for doubt, and notes on runs. The archive keeps it."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from flows.lock import holding
from flows.settings import Settings
from scrapers.archive import Archive
from warehouse import query
from warehouse.connection import Working, in_words, reading
from warehouse.migrations import check_schema
from warehouse.records import take_in_words

LONGEST = 10_000
LONGEST_NAME = 200


def signature(settings: Settings, name: str | None) -> str:
    """Return who signs: the given name, else the setting, else the login name. Raises `ValueError` for an empty one."""
    signed = name if name is not None else settings.name or _login()
    return _checked(signed, "an empty name signs nothing: give --by NAME or set KIX_NAME", LONGEST_NAME)


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, ImportError, OSError):  # nobody has this process's user id
        raise ValueError("there is no login name to sign with: give --by NAME or set KIX_NAME") from None


def decide(settings: Settings, name: str, verdict: str, reason: str, by_name: str) -> tuple[str, list[dict[str, Any]]]:
    """Decide on a review: `accept` lets the run rank, `hold` keeps it out.

    `name` is the reviewed run or operation. Returns its digest and whose records changed hands. Raises
    `WarehouseError` when it means no review or several, `HomeBusy` when the home is in use.
    """
    with reading(settings.home) as db:
        check_schema(db)
        subject = query.find_review(db, name)
    words = _checked(reason, "a verdict needs its reason")
    return subject, _say(settings, lambda archive, now: archive.add_verdict(subject, verdict, words, by_name, now))


def write_note(settings: Settings, name: str, kind: str, note: str, by_name: str) -> str:
    """Write a note on a run. Returns the run's digest. Raises as `decide` does."""
    with reading(settings.home) as db:
        check_schema(db)
        run = query.find_run(db, name)
    words = _checked(note, "a note needs its text")
    _say(settings, lambda archive, now: archive.add_note(run, kind, words, by_name, now))
    return run


def _checked(text: str, problem: str, longest: int = LONGEST) -> str:
    if not text.strip():
        raise ValueError(problem)
    if len(text) > longest:
        raise ValueError(f"{len(text):,} characters: at most {longest:,} are kept")
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(f"{text[:40]!r} is no text: it holds bytes that are not UTF-8, or a NUL")
    return text.strip()


def _say(settings: Settings, add: Callable[[Archive, datetime], None]) -> list[dict[str, Any]]:
    home = settings.home
    with (
        holding(home, "kix review or note", settings.lock_timeout_s),
        Archive(home / "archive.sqlite") as archive,
        in_words(home),
    ):
        # First the archive, which is the truth: a kill in between is made up for by the next sync.
        add(archive, datetime.now(UTC))
        archive.checkpoint()
        working = Working(home, settings.memory_limit)
        try:
            news = take_in_words(working.connection, archive)
            working.publish()
        finally:
            working.discard()
    return news
