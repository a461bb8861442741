"""The second process of a large sync, which maps parts ahead of the load, and how this one speaks with it (ADR 0012).

It knows no library that takes long to import: the process may be started while this one loads its own.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, cast

from flows.home import default_home

if TYPE_CHECKING:
    from scrapers.contract import Findings, Part

PROGRAM = "from flows import garbage; garbage.look_for_none(); import flows.mapping; flows.mapping.serve()"


class Helper:
    """The second process, and the thread that speaks with it: one request after another, the first one `begin`.

    It ends with this process, however that ends: its standard input closes then.
    """

    def __init__(self) -> None:
        # Not in the folder that this one happens to be in, and not in its group: an interrupt is for this one to hear.
        self._process = subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-P", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mapping")

    def begin(self, slug: str, archive: Path, folder: Path) -> None:
        """Say whose parts it is to map, from which archive, and into which folder."""
        self._asked((slug, str(archive.absolute()), str(folder.absolute())))

    def map(self, parts: dict[int, Part]) -> Future[dict[int, Findings] | None]:
        """Ask for the rows of parts to be staged. None is the answer when none of them are."""
        return cast("Future[dict[int, Findings] | None]", self._asked(parts))

    def flush(self) -> Future[bool | None]:
        """Ask for all rows to be put into files. True is the answer when they are."""
        return cast("Future[bool | None]", self._asked(None))

    def _asked(self, request: object) -> Future[object]:
        try:
            return self._thread.submit(self._ask, request)
        except RuntimeError:  # there is no room for a thread: as if the process were gone
            unanswered: Future[object] = Future()
            unanswered.set_result(None)
            return unanswered

    def _ask(self, request: object) -> object:
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None:
            return None
        try:
            pickle.dump(request, requests)
            requests.flush()
            return cast(object, pickle.load(answers))  # noqa: S301  our own program's
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            return None  # it is gone

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._thread.shutdown(wait=True, cancel_futures=True)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()


def helper_if_possible() -> Helper | None:
    """Start a helper; None where there is no second core for it, or no room for another process."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    with contextlib.suppress(OSError):
        return Helper() if len(cores) > 1 else None
    return None


@contextlib.contextmanager
def begun_early(home: Path | None) -> Iterator[Helper | None]:
    """Start a helper for the first whole sync of a home, before anything says how much there is to map.

    With a large board it is ready when the first parts are there; with a small one it maps all, and this process need
    not load what that takes.
    """
    first = False
    with contextlib.suppress(OSError):
        first = not any((home or default_home()).glob("*.duckdb"))
    helper = helper_if_possible() if first else None
    try:
        yield helper
    finally:
        if helper is not None:
            helper.close()
