"""Parts mapped to rows: here, or ahead of the load in a process of its own where there is much to map (ADR 0012)."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import shutil
import signal
import sys
from concurrent.futures import Future
from importlib import import_module
from pathlib import Path

from flows import garbage
from flows.helper import Helper, helper_if_possible
from flows.progress import Progress
from flows.registry import SOURCES, Source
from scrapers.archive import Archive
from scrapers.contract import Findings, Part
from transforms.bundle import Bundle
from warehouse.staging import Staging

STAGED, STAGED_AGAIN = "warehouse.staged", "warehouse.staged-again"
"""Folders of rows on their way in, beside the warehouse they go to: of a sync, and of earlier ones loaded again."""

WORTH_A_PROCESS = 3_000
"""Claims from which a second process pays: mapping them takes as long as starting it."""

CHUNK, FIRST_CHUNK = 1_500, 250
"""Claims that the second process is given at once. Each time it is given some it waits for this one, which is busy; the
first `WORTH_A_PROCESS` it gets sooner."""

HERE, AHEAD = "here", "ahead"
Numbered = dict[int, Part]


class Mapper:
    """Maps a source's parts from an archive to rows in a staging folder, which is there as long as this is entered.

    Parts are named `ahead`, as soon as they are there. Once they hold `WORTH_A_PROCESS` claims, a second process begins
    with them while this one still reads. It reads the archive, writes to the staging folder, and ends with this
    process, however that ends. Whatever goes wrong there is done again here, and told from here. `early` is one that
    was started before it was known how much there is: where it is little, it does all of it, and this one need not load
    what mapping takes.
    """

    def __init__(self, source: Source, archive: Archive, folder: Path, early: Helper | None = None) -> None:
        self.source = source
        self.archive = archive
        self.staging = Staging(folder, HERE)
        self._named: Numbered = {}
        self._waiting: Numbered = {}
        self._claims = self._claims_waiting = 0
        self._begun: list[tuple[Numbered, Future[dict[int, Findings] | None]]] = []
        self._early = early
        self._helper: Helper | None = None

    def __enter__(self) -> Mapper:
        self._remove()  # what a killed process left
        self.staging.folder.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_helper()
        self._remove()

    def _remove(self) -> None:
        if self.staging.folder.is_symlink():  # which nobody here made: the link goes, what it leads to stays
            self.staging.folder.unlink()
        shutil.rmtree(self.staging.folder, ignore_errors=True)

    def expect(self, claims: int) -> None:
        """Have the second process ready when so many claims are worth it: it takes a moment to start."""
        if self._helper is not None:
            return
        if self._early is None and claims >= WORTH_A_PROCESS:
            self._early = helper_if_possible()
        if self._early is not None:
            self._helper, self._early = self._early, None
            self._helper.begin(self.source.policy.slug, self.archive.path, self.staging.folder)

    def ahead(self, number: int, part: Part) -> None:
        """Take note that this part, of this number in the reading, is to be mapped."""
        if number in self._named:
            return
        self._named[number] = self._waiting[number] = part
        self._claims += part.listed
        self._claims_waiting += part.listed
        self.expect(self._claims)
        if self._helper and self._claims_waiting >= (FIRST_CHUNK if self._are_few() else CHUNK):
            self._hand_over(self._helper)

    def _hand_over(self, helper: Helper) -> None:
        self._begun.append((self._waiting, helper.map(self._waiting)))
        self._waiting, self._claims_waiting = {}, 0

    def _are_few(self) -> bool:
        return self._claims < WORTH_A_PROCESS

    async def mapped(self, progress: Progress) -> dict[int, Findings]:
        """Have the rows of all parts named put into files of the staging folder. Returns what did not fit, by number.

        Raises `ArchiveDamaged` when a body is gone.
        """
        found: dict[int, Findings] = {}
        there: Numbered = {}
        few = self._are_few()
        if self._helper and self._waiting and few:
            self._hand_over(self._helper)
        # The second process goes on from the first chunk, this one from the last: they meet.
        nobody: Future[dict[int, Findings] | None] | None = None
        for parts, begun in reversed([*self._begun, (self._waiting, nobody)]):
            mapped = None if begun is None or (not few and begun.cancel()) else await asyncio.wrap_future(begun)
            if mapped is None:
                found |= await self._map(parts, progress, len(found))
            else:
                found |= mapped
                there |= parts
        if self._helper and there:
            flushed = self._helper.flush()
            self.staging.flush()  # both at once
            if not await asyncio.wrap_future(flushed):
                # What it had put into files is not all of what it mapped.
                for path in self.staging.folder.glob(f"*/{AHEAD}-*"):
                    path.unlink()
                found |= await self._map(there, progress, len(found) - len(there))
        self._end_helper()  # its memory is wanted for the load
        return found

    def _end_helper(self) -> None:
        if self._helper is not None:
            self._helper.close()
            self._helper = None

    async def _map(self, parts: Numbered, progress: Progress, done: int) -> dict[int, Findings]:
        found = {}
        for number, part in parts.items():
            bundle = _bundle(self.source, part, self.archive)
            self.staging.add(number, bundle)
            found[number] = Findings(bundle.rejects, bundle.drift)
            progress("loading", done + len(found), len(self._named))
            await asyncio.sleep(0)  # an interrupt is heard here
        return found


def _bundle(source: Source, part: Part, archive: Archive) -> Bundle:
    return source.transform(part, source.parse(part, archive.body))


def serve() -> None:
    """Map the parts that come on standard input until it closes: what the second process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import_module("polars")  # while nobody waits
    import_module("transforms.manifests")
    garbage.look_seldom()
    # Nothing but answers goes to standard output.
    requests, answers, sys.stdout = sys.stdin.buffer, sys.stdout.buffer, sys.stderr
    with contextlib.suppress(EOFError):
        slug, archive, folder = pickle.load(requests)  # noqa: S301  our own program's
        staging = Staging(Path(folder), AHEAD)
        with Archive(Path(archive), read_only=True) as bodies:
            answer: object = True
            while True:
                pickle.dump(answer, answers)
                answers.flush()
                request: Numbered | None = pickle.load(requests)  # noqa: S301
                answer = _answer(SOURCES[slug], request, bodies, staging)


def _answer(source: Source, request: Numbered | None, archive: Archive, staging: Staging) -> object:
    if request is None:
        staging.flush()
        return True
    try:
        bundles = {number: _bundle(source, part, archive) for number, part in request.items()}
    except Exception:  # noqa: BLE001  it is met again where it can be told
        return None
    # When this goes wrong, rows of other parts are lost too: the process ends, and all is done again.
    for number, bundle in bundles.items():
        staging.add(number, bundle)
    return {number: Findings(bundle.rejects, bundle.drift) for number, bundle in bundles.items()}
