"""The log: each event that is told becomes one line, as text or as JSON, on standard error or in a file."""

from __future__ import annotations

import json
import logging
import re
import sys
from contextlib import suppress
from datetime import UTC, datetime
from logging.handlers import WatchedFileHandler
from typing import Any

from flows.console import check_target
from flows.settings import Settings, load_settings
from scrapers.addresses import without_user_info
from scrapers.telling import EVENTS, OFF
from transforms.names import cut, printable_json

LONGEST = 4_000
"""Characters of a text in a line: what comes from upstream can be of any length."""

_PLAIN = re.compile(r"[!#-<>-~]+")
"""A text that needs no quotes: it has no space, no quote, no `=`, and nothing that a terminal would obey."""


def listen(settings: Settings) -> None:
    """Write the events of this process from now on as the settings say, or not at all.

    Raises `OSError` for a file that cannot be written to, or a symbolic link.
    """
    for handler in EVENTS.handlers[:]:
        EVENTS.removeHandler(handler)
        with suppress(OSError):  # what a full disk did not take is still in its buffer
            handler.close()
    EVENTS.setLevel(OFF)
    if settings.log == "off":
        return
    EVENTS.addHandler(_handler(settings))
    EVENTS.setLevel(logging.INFO)


def listening() -> Settings:
    """Load the settings of a process that no command began, and listen as they say."""
    settings = load_settings()
    listen(settings)
    return settings


def _handler(settings: Settings) -> logging.Handler:
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if settings.log_file is not None:
        check_target(settings.log_file)
        handler = WatchedFileHandler(settings.log_file, encoding="utf-8")  # a rotated file is let go
    handler.setFormatter(_Json() if settings.log == "json" else _Text())
    handler.handleError = _give_up  # type: ignore[method-assign]
    return handler


def _give_up(record: logging.LogRecord) -> None:
    """Stop telling: a full disk, or a reader that went away, is no reason to stop working."""
    EVENTS.setLevel(OFF)
    if sys.stderr is not None:
        reason = sys.exc_info()[1]
        sys.stderr.write(f"kix: the log ends here, at {record.getMessage()}: {printable_json(str(reason))}\n")


class _Json(logging.Formatter):
    """One JSON object a line, readable as it is: only what a terminal would obey is escaped."""

    def format(self, record: logging.LogRecord) -> str:
        return printable_json(json.dumps(_line(record), ensure_ascii=False))


class _Text(logging.Formatter):
    """Time, level and event, then `name=value` for each field; a value with spaces or quotes in it is a JSON text."""

    def format(self, record: logging.LogRecord) -> str:
        time, level, event, *fields = _line(record).items()
        return " ".join([time[1], level[1], event[1], *(f"{name}={_word(value)}" for name, value in fields)])


def _line(record: logging.LogRecord) -> dict[str, Any]:
    time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    fields: dict[str, object] = getattr(record, "fields", {})
    head = {"time": time, "level": record.levelname.lower(), "event": record.getMessage()}
    return head | {name: _value(value) for name, value in fields.items()}


def _value(value: object) -> object:
    """Numbers and truths as they are, anything else as text without user and password in any URL."""
    if isinstance(value, bool | int | float):
        return value
    return cut(without_user_info(str(value)), LONGEST)


def _word(value: object) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    return printable_json(json.dumps(value, ensure_ascii=False))
