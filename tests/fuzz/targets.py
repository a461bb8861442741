"""One function for each parser of what strangers write: takes any bytes, and lets nothing out but what is promised.

Each returns without a word when the parser read the input, or refused it with an error that its docstring declares.
Anything else is a finding: an undeclared error, or a statement at the end of a function here that does not hold.
`run.py` drives them with coverage (atheris), `test_fuzz.py` for a moment in the suite.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fuzz.seeds import SEEDS
from protego import Protego

from scrapers.archive import Archive
from scrapers.bounds import BoundedBody, Limits, retry_after_s
from scrapers.contract import Capture, Entry, Part
from scrapers.errors import ArchiveDamaged, SourceError, SyncFailed
from scrapers.kernelindex.markup import BrokenMarkup
from scrapers.kernelindex.parse import parse as parse_page
from scrapers.kernelindex.parse import run_ids
from scrapers.sol_execbench.client import read_part
from scrapers.sol_execbench.parse import parse as parse_board
from transforms import axes, names, units
from transforms.identity import canonical_json
from transforms.manifests import ManifestError
from transforms.manifests import parse as parse_manifest
from transforms.manifests import parse_record as parse_manifests
from warehouse.admission import MOST_WORDS, in_words
from warehouse.connection import WarehouseError
from warehouse.snapshot import encoded

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
Target = Callable[[bytes], None]
_LOOP = asyncio.new_event_loop()


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


class _Answers:
    """A source whose every answer is one body: a `Fetch` and a `Body` in one."""

    def __init__(self, detail: bytes, page: bytes) -> None:
        self._bodies = {f"sha256:{hashlib.sha256(body).hexdigest()}": body for body in (detail, page)}
        self._detail, self._page = self._bodies if len(self._bodies) == 2 else [*self._bodies] * 2

    async def __call__(self, url: str, *, again: bool = False, fresh: bool = False) -> Capture:
        digest = self._page if "submissions" in url else self._detail
        return Capture(url, 200, NOW, "application/json", digest, self._bodies[digest], "network")

    def body(self, digest: str) -> bytes:
        return self._bodies[digest]


def _board(detail: bytes, page: bytes) -> None:
    answers = _Answers(detail, page)
    entry = Entry("sample_rmsnorm_hidden4096", "https://board.example/api/kernels/1", "1", 1)
    try:
        part = _LOOP.run_until_complete(read_part(answers, "https://board.example/api", entry))
    except (SourceError, SyncFailed):
        return
    items = parse_board(part, answers.body)
    assert len({one.id for one in items.submissions}) == len(items.submissions)
    for one in items.submissions:
        assert "\ufffd" not in one.payload
        json.loads(one.payload)


def board(data: bytes) -> None:
    """A listing and a kernel's definition, whole answers."""
    detail, _, page = data.partition(b"\x00")
    _board(detail, page)


def submission(data: bytes) -> None:
    """One item of a listing."""
    _board(b"", b'{"data":{"submissions":[' + data + b'],"total":1}}')


def submission_field(data: bytes) -> None:
    """One field of an item: the first byte says which, the others are its JSON."""
    submission(_with_field(SEEDS["submission"][0], data))


def kernel_field(data: bytes) -> None:
    """One value of a kernel's definition, at any depth, likewise."""
    kernel(_with_field(SEEDS["kernel"][0], data))


def _with_field(seed: bytes, data: bytes) -> bytes:
    """Put JSON text in the place of one value of a sound document: which one, the first byte says."""
    document = json.loads(seed)
    places = list(_places(document))
    holder, key = places[(data[:1] or b"\0")[0] % len(places)]
    mark = "the place of the value"
    holder[key] = mark
    return json.dumps(document).encode().replace(json.dumps(mark).encode(), data[1:])


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def kernel(data: bytes) -> None:
    """A kernel's definition."""
    _board(b'{"data":' + data + b"}", b'{"data":{"submissions":[],"total":0}}')


def run_page(data: bytes) -> None:
    """A run page of the index, and the links of any page."""
    part = Part("a", "https://index.example/runs/a", "a", None, ("sha256:" + "0" * 64,), True, 0, 1)
    items = parse_page(part, lambda _: data)
    assert items.page is not None or items.rejects
    with suppress(BrokenMarkup):
        run_ids(data)


def axis(data: bytes) -> None:
    """An axis expression."""
    text = _text(data)
    bindings: Mapping[str, int] = {"a": 3, "b": 0, "hidden_size": 4096}
    with suppress(axes.AxisError):
        assert abs(axes.evaluate(text, bindings)) < 2**63
        assert axes.names(text) <= set(bindings)


def number(data: bytes) -> None:
    """Numbers, durations and times."""
    text = _text(data)
    for read in (units.plain_number, units.json_number, units.ms_to_ns, units.ms_to_ns_real, units.duration_ns):
        with suppress(units.UnitError):
            value = read(text)
            assert isinstance(value, int) or math.isfinite(value)
    with suppress(units.UnitError):
        moment = units.parse_instant(text)
        assert moment.utcoffset() == timedelta(0)
        assert units.parse_instant(units.format_instant_ms(moment)) <= moment


def manifest(data: bytes) -> None:
    """A manifest, from bytes and from text."""
    for given in (data, _text(data)):
        with suppress(ManifestError):
            made = parse_manifest(given)
            assert parse_manifest(made.text) == made
            assert canonical_json(json.loads(made.text)).decode() == made.text


def record(data: bytes) -> None:
    """A published record of three manifests."""
    with suppress(ManifestError):
        parse_manifests(data)


def robots(data: bytes) -> None:
    """A robots.txt, as the client reads it, and what it asks."""
    rules = Protego.parse(data.decode("utf-8-sig", errors="replace"))
    rules.can_fetch("https://board.example/api/kernels?limit=50", "kix")
    delay = rules.crawl_delay("kix")
    assert delay is None or isinstance(delay, float)


def retry_after(data: bytes) -> None:
    """The header that says when to come again."""
    wait_s = retry_after_s(data.decode("latin-1"), NOW)
    assert wait_s is None or wait_s >= 0


def gzip_body(data: bytes) -> None:
    """A compressed answer, in pieces."""
    limits = Limits(body_bytes=1 << 20, expansion=200)
    body = BoundedBody("https://board.example/", "gzip", limits)
    with suppress(SourceError):
        for start in range(0, len(data), 97):
            body.add(data[start : start + 97])
        assert len(body.finish()) <= limits.body_bytes


class _Stored:
    """An archive with one body, whose stored bytes are replaced."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory()
        path = Path(self._folder.name) / "archive.sqlite"
        self._archive = Archive(path)
        self._digest = self._archive.store(b'{"data": {}}')
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA synchronous = OFF")

    def read(self, size: int, stored: bytes) -> None:
        self._db.execute("UPDATE bodies SET size_bytes = ?, zstd = ?", (size, stored))
        try:
            body = self._archive.body(self._digest)
        except ArchiveDamaged:
            return
        assert body == b'{"data": {}}'


_STORED: list[_Stored] = []


def stored_body(data: bytes) -> None:
    """A body in the archive, as damage leaves it: the first four bytes are its stated size."""
    if not _STORED:
        _STORED.append(_Stored())
    _STORED[0].read(int.from_bytes(data[:4], "little"), data[4:])


def name(data: bytes) -> None:
    """What becomes of names: on a terminal, in JSON, as a folder, in the words of a refusal."""
    text = _text(data)
    assert names.printable(names.printable(text)) == names.printable(text)
    assert names.printable(text).isprintable()
    assert json.loads(names.printable_json(json.dumps(text, ensure_ascii=False))) == text
    with suppress(WarehouseError):
        assert re.fullmatch(r"[A-Za-z0-9._~%-]*", encoded(text))
        assert not encoded(text).startswith(".")
    assert len(in_words(RuntimeError(text), "", [])) <= MOST_WORDS + 2


TARGETS: dict[str, Target] = {
    one.__name__: one
    for one in (
        board, submission, submission_field, kernel, kernel_field, run_page, axis, number, manifest, record, robots,
        retry_after, gzip_body, stored_body, name,
    )
}  # fmt: skip
