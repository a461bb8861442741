"""One sync of a home at a time: an operating-system lock, with its owner written beside it."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from scrapers.codes import Code, CodedError
from scrapers.own_files import refuse_links
from transforms.names import printable

LOCK = "sync.lock"
OWNER: dict[str, type[str] | type[int]] = {"pid": int, "host": str, "what": str, "since": str}
"""What is written down of a lock's owner."""

SAY_SO_S = 0.5
BUSY_S = 2.0
"""How long a scheduled run waits for the home: longer than a look at who holds it takes, and no more."""


class HomeBusy(CodedError):
    """Another process holds the home."""

    code = Code.HOME_BUSY


@contextmanager
def holding(home: Path, what: str, timeout_s: float, *, name: str = LOCK) -> Iterator[None]:
    """Hold the home's lock, or another folder's of that `name`. Waits at most `timeout_s` seconds, then raises
    `HomeBusy`, which says who holds it; `OSError` when a symbolic link is in the lock's place.

    The lock falls with its process, however that ends; what is written beside it only tells.
    """
    refuse_links(home / name)
    lock = FileLock(home / name)
    try:
        lock.acquire(timeout=timeout_s)
    except Timeout:
        _await_owner(home / f"{name}.owner")
        raise HomeBusy(
            f"{home} is in use by {owner_text(home, name)}; waited {timeout_s:g} s, nothing was changed"
        ) from None
    try:
        _write_owner(home / f"{name}.owner", what)
        yield
    finally:
        with suppress(OSError):
            (home / f"{name}.owner").unlink()
        lock.release()


def _write_owner(path: Path, what: str) -> None:
    """Write down who holds the lock. It only tells: on a full disk there is still maintenance to be done."""
    owner = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "what": what,
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        aside.unlink(missing_ok=True)
        with aside.open("x", encoding="utf-8") as file:
            file.write(json.dumps(owner))
        aside.replace(path)
    except OSError:
        for left in (aside, path):  # a name from before would tell of another
            with suppress(OSError):
                left.unlink()


def _await_owner(path: Path) -> None:
    """Give whoever has just taken the lock the moment it needs to say so."""
    deadline = time.monotonic() + SAY_SO_S
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def owner(home: Path) -> dict[str, str | int] | None:
    """Return who holds the home's lock now, None when nobody does, or when it is not ours to ask (a read-only home)."""
    lock = FileLock(home / LOCK)
    try:
        if not (home / LOCK).exists() or (home / LOCK).is_symlink():
            return None
        lock.acquire(timeout=0)
    except Timeout:
        return _read_owner(home / f"{LOCK}.owner")
    except OSError:
        return None
    lock.release()
    return None


def _read_owner(path: Path) -> dict[str, str | int]:
    """Read who wrote himself down; what is no such note says nothing."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        return {name: kind(read[name]) for name, kind in OWNER.items()}
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return {"what": "another process"}


def owner_text(home: Path, name: str = LOCK) -> str:
    """Say in words who holds the lock."""
    held = _read_owner(home / f"{name}.owner")
    if "pid" not in held:
        return str(held["what"])
    return printable(f"`{held['what']}` (process {held['pid']} on {held['host']}, since {held['since']})")
