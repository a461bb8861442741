"""Events of a run, for whoever watches it: a name, fields, and what they are about. Nobody listens until told to.

Scrapers tell what only they see; who listens, and where to, is decided in `flows.telling`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

OFF = logging.CRITICAL + 1

EVENTS = logging.getLogger("kix")
EVENTS.setLevel(OFF)
EVENTS.propagate = False

_ABOUT: ContextVar[dict[str, object] | None] = ContextVar("about", default=None)


def tell(event: str, level: int = logging.INFO, /, **fields: object) -> None:
    """Tell an event, such as `request.retried`, with its fields. Fields that are None are left out."""
    if EVENTS.isEnabledFor(level):
        about = _ABOUT.get() or {}
        said = {name: value for name, value in fields.items() if value is not None}
        EVENTS.log(level, event, extra={"fields": about | said})


@contextmanager
def about(**fields: object) -> Iterator[None]:
    """Give every event that is told in here these fields too, such as the sync's id; tasks begun in here as well."""
    before = _ABOUT.set((_ABOUT.get() or {}) | fields)
    try:
        yield
    finally:
        _ABOUT.reset(before)
