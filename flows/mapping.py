"""Parts mapped to rows: here, or ahead of their use in a process of its own where there is much to map (ADR 0012)."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import zstandard

from flows.registry import SOURCES, Source
from scrapers.archive import Archive
from scrapers.contract import Body, Drift, Part, Reject

if TYPE_CHECKING:
    import polars as pl

WORTH_A_PROCESS = 3_000
"""Claims from which a second process pays: mapping them takes as long as starting it."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """What a part came to: its rows by table, and what did not fit."""

    frames: dict[str, pl.DataFrame]
    rejects: list[Reject]
    drift: list[Drift]


def map_part(source: Source, part: Part, body: Body) -> Mapped:
    """Parse and map a part from its bodies in the archive."""
    bundle = source.transform(part, source.parse(part, body))
    return Mapped(bundle.frames(), bundle.rejects, bundle.drift)


class Mapper:
    """Maps a source's parts from an archive. A context manager.

    A part of which is known that it will be asked for can be named `ahead`. Once these hold `WORTH_A_PROCESS` claims
    they are mapped in a second process, while this one goes on reading or loading. It reads the archive alone, and ends
    with this process, however that ends. Whatever goes wrong there is done again here, and told from here.
    """

    def __init__(self, source: Source, archive: Archive) -> None:
        self.source = source
        self.archive = archive
        self._waiting: dict[str, Part] = {}
        self._claims = 0
        self._helper: _Helper | None = None
        self._begun: dict[str, Future[bytes | None]] = {}

    def __enter__(self) -> Mapper:
        return self

    def __exit__(self, *_: object) -> None:
        if self._helper is not None:
            self._helper.close()

    def ahead(self, part: Part) -> None:
        """Take note that this part will be asked for."""
        if part.key in self._waiting or part.key in self._begun:
            return
        self._waiting[part.key] = part
        self._claims += part.listed
        if self._claims < WORTH_A_PROCESS or not _has_second_core():
            return
        if self._helper is None:
            self._helper = _Helper(self.source.policy.slug, self.archive.path)
        for key, one in self._waiting.items():
            self._begun[key] = self._helper.begin(one)
        self._waiting.clear()

    async def mapped(self, part: Part) -> Mapped:
        """Return what a part comes to. Raises `ArchiveDamaged` when a body of it is gone."""
        self._waiting.pop(part.key, None)
        begun = self._begun.pop(part.key, None)
        # What has not been begun is done here: so both processes have work until the last part.
        if begun is not None and not begun.cancel():
            packed = await asyncio.wrap_future(begun)
            if packed is not None:
                return _unpacked(packed)
        return map_part(self.source, part, self.archive.body)


class _Helper:
    """The second process, and the thread that speaks with it: one part after another."""

    def __init__(self, slug: str, archive: Path) -> None:
        program = f"import {__name__}; {__name__}.{serve.__name__}()"
        # Not in the folder that this one happens to be in, and not in its group: an interrupt is for this one to hear.
        command = [sys.executable, "-P", "-c", program, slug, str(archive.absolute())]
        self._process = subprocess.Popen(  # noqa: S603  our own program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mapping")

    def begin(self, part: Part) -> Future[bytes | None]:
        return self._thread.submit(self._ask, part)

    def _ask(self, part: Part) -> bytes | None:
        requests, answers = self._process.stdin, self._process.stdout
        if requests is None or answers is None:
            return None
        try:
            pickle.dump(part, requests)
            requests.flush()
            return cast("bytes | None", pickle.load(answers))  # noqa: S301  our own program's
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            return None  # it is gone

    def close(self) -> None:
        self._process.kill()
        self._thread.shutdown(wait=True, cancel_futures=True)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()


def serve() -> None:
    """Map the parts that come on standard input until it closes: what the second process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    slug, archive = sys.argv[1:]
    # Nothing but answers goes to standard output.
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    with Archive(Path(archive), read_only=True) as bodies:
        while True:
            try:
                part = pickle.load(sys.stdin.buffer)  # noqa: S301  our own program's
            except EOFError:
                return
            try:
                answer = _packed(map_part(SOURCES[slug], part, bodies.body))
            except Exception:  # noqa: BLE001  it is met again where it can be told
                answer = None
            pickle.dump(answer, answers)
            answers.flush()


def _packed(mapped: Mapped) -> bytes:
    return zstandard.ZstdCompressor(level=1).compress(pickle.dumps(mapped, protocol=5))


def _unpacked(packed: bytes) -> Mapped:
    return cast(Mapped, pickle.loads(zstandard.ZstdDecompressor().decompress(packed)))  # noqa: S301  our own program's


def _has_second_core() -> bool:
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return len(cores) > 1
