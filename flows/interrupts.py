"""Ctrl-C and SIGTERM: a sync ends within a second, whatever it is doing, and everything is closed in order."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from flows import garbage
from scrapers.codes import Code

Result = TypeVar("Result")

GRACE_S = 0.3
"""Time to end in order by being cancelled; what has not ended by then, because it never waits, is broken off."""

AGAIN_S = 2.0
"""Time after which that is said once more: an exception can be lost where nobody hears it."""

NUMBERS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def starting(what: str) -> Iterator[None]:
    """While libraries are loaded, which an exception in the midst of it would break: a signal ends the process.

    No garbage is looked for meanwhile.
    """

    def leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  a handler's face
        os.write(2, f"kix: {what} was interrupted before it began; nothing was changed [{Code.INTERRUPTED}]\n".encode())
        os._exit(1)

    before = {number: signal.signal(number, leave) for number in NUMBERS}
    garbage.look_for_none()
    try:
        yield
    finally:
        garbage.look_seldom()
        for number, handler in before.items():
            signal.signal(number, handler)


def run_interruptible(work: Coroutine[Any, Any, Result], *, break_off: bool = True) -> tuple[Result, bool]:
    """Run `work` to its end; return what it returns, and whether a signal came all the same, too late to end it.

    Raises `KeyboardInterrupt` when a signal ended it. The first signal cancels it, which is heard wherever it waits. A
    load hardly ever waits: with `break_off`, what is running then is interrupted where it stands. For the main thread,
    where signals are heard.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)
        with _heard(task, loop, break_off=break_off) as signals:
            try:
                return loop.run_until_complete(task), bool(signals)
            except (Exception, asyncio.CancelledError):
                # DuckDB turns what interrupts it into an error of its own.
                if signals:
                    raise KeyboardInterrupt from None
                raise
            except KeyboardInterrupt:
                if task.done() and not task.cancelled():
                    task.exception()  # else it is told as one that nobody asked for
                raise


@contextmanager
def _heard(task: asyncio.Task[Any], loop: asyncio.AbstractEventLoop, *, break_off: bool) -> Iterator[list[int]]:
    """Turn signals into the end of `task`; yields those that came."""
    came: list[int] = []
    if sys.platform == "win32":
        yield came
        return

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  a handler's face
        came.append(number)
        loop.call_soon_threadsafe(task.cancel)
        if break_off:
            signal.setitimer(signal.ITIMER_REAL, GRACE_S, AGAIN_S)

    def break_it_off(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in NUMBERS}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, break_it_off)
    try:
        yield came
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
