"""The SOL-ExecBench scraper: the sample's own files, played by a server on loopback, against what is read from them."""

import asyncio
import contextlib
import hashlib
import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from board_server import API, BoardServer, Reply
from conftest import SAMPLE, SOURCE, run_sync
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.settings import Settings
from flows.sync import Request, sync
from scrapers.archive import Archive, Offline
from scrapers.bounds import Limits
from scrapers.contract import Entry, Index, Part, Scope, merge_drift
from scrapers.errors import SyncFailed
from scrapers.http import Client
from scrapers.sol_execbench import POLICY, Items, parse, read_index, read_part

KERNELS = json.loads((SAMPLE / "kernels.json").read_bytes())["data"]["kernels"]
NAMES = {kernel["id"]: kernel["name"] for kernel in KERNELS}
STATED = {kernel["id"]: kernel["submission_count"] for kernel in KERNELS}
LINES = {kernel_id: (SAMPLE / f"submissions/{kernel_id}.json").read_bytes().splitlines()[1:-1] for kernel_id in NAMES}
TEXTS = {kernel_id: [line.decode().removesuffix(",") for line in lines] for kernel_id, lines in LINES.items()}
IDS = {kernel_id: [json.loads(text)["id"] for text in texts] for kernel_id, texts in TEXTS.items()}
LONG = 1  # a kernel whose listing has 63 rows
NONE = 13  # a kernel whose listing has none
REQUIRED = {"id", "username", "kernel_id", "kernel_name", "status", "gpu_type"}  # the design's list
METRICS = ["latency_ms", "sol_score", "avg_speedup", "fast_1_count", "fast_1_total"]

QUICK = Limits(attempts=2, retry_s=5, wait_max_s=0.02, answer_s=5, read_s=3)
JSON = {"Content-Type": "application/json"}
NOW = datetime(2026, 11, 2, 12, 0, 0, tzinfo=UTC)
SYNCS = itertools.count(1)


@pytest.fixture
def board() -> Iterator[BoardServer]:
    with BoardServer(SAMPLE) as board:
        yield board


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.sqlite") as archive:
        yield archive


def entry_of(board: BoardServer, kernel_id: int) -> Entry:
    locator = f"{board.base_url}/kernels/{kernel_id}"
    return Entry(NAMES[kernel_id], locator, str(kernel_id), STATED[kernel_id])


def with_client(board: BoardServer, archive: Archive, work: Callable, sync_id: int | None = None, **options):
    """What `work(client)` returns, in a sync of its own unless one is given."""
    if sync_id is None:
        sync_id = archive.open_sync("test", f"test {next(SYNCS)}", Scope(), "normal", NOW, "test").sync_id

    async def within() -> object:
        async with asyncio.timeout(30):
            options_ = {"user_agent": "kix/test", "base_url": board.base_url, "limits": QUICK, **options}
            async with Client(POLICY, archive, sync_id, **options_) as client:
                return await work(client)

    return asyncio.run(within())


def read(board: BoardServer, archive: Archive, kernel_id: int = LONG, **options) -> tuple[Part, Items]:
    """A kernel's board, read through the client and parsed from the archive."""
    entry = entry_of(board, kernel_id)
    part = with_client(board, archive, lambda client: read_part(client, board.base_url, entry), **options)
    return part, parse(part, archive.body)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Archive, dict[int, tuple[Part, Items]]]]:
    """The whole sample, read once: the archive, and each kernel's part and items."""
    path = tmp_path_factory.mktemp("whole") / "archive.sqlite"
    with BoardServer(SAMPLE) as board, Archive(path) as archive:
        parts = with_client(board, archive, lambda client: read_board(client, board.base_url))
        yield archive, {int(part.upstream_id): (part, parse(part, archive.body)) for part in parts}


def index(board: BoardServer, archive: Archive, scope: Scope | None = None) -> Index:
    return with_client(board, archive, lambda client: read_index(client, board.base_url, scope or Scope()))


def listing_requests(board: BoardServer) -> list[dict[str, str]]:
    urls = [urlsplit(request.path) for request in board.requests]
    return [dict(parse_qsl(url.query)) for url in urls if url.path == f"{API}/submissions"]


def offsets(board: BoardServer) -> list[int]:
    return [int(query["offset"]) for query in listing_requests(board)]


def ids(items: Items) -> list[int]:
    return [submission.id for submission in items.submissions]


def with_fields(text: str, **changes: object) -> str:
    """The item with other fields; a `str` subclass `Spelled` goes in as it is, None of a field removes nothing."""
    fields = json.loads(text, parse_float=Spelled, parse_int=Spelled) | changes
    return "{" + ",".join(f"{json.dumps(name)}:{spell(value)}" for name, value in fields.items()) + "}"


class Spelled(str):
    """JSON text, to be sent as it is."""

    __slots__ = ()


def spell(value: object) -> str:
    return value if isinstance(value, Spelled) else json.dumps(value, ensure_ascii=False)


def without(text: str, *names: str) -> str:
    fields = json.loads(text, parse_float=Spelled, parse_int=Spelled)
    return "{" + ",".join(f"{json.dumps(name)}:{spell(fields[name])}" for name in fields if name not in names) + "}"


# -- a server of our own for listings that are not at rest


@dataclass
class Listing:
    """Answers `/submissions` from `texts`. `moves` are done before the n-th page (from 1) is served.

    `total` is what a page says: None for the truth, a number, or a function of the page's number and its rows. A page
    has no `total` at all when it is `absent`. With `ignores_offset` every page is the first.
    """

    texts: list[str]
    cap: int = 50
    moves: dict[int, Callable[[list[str]], object]] = field(default_factory=dict)
    always: Callable[[list[str]], object] | None = None
    total: object = None
    ignores_offset: bool = False
    pages: int = 0

    def __call__(self, path: str, n: int) -> Reply | None:
        url = urlsplit(path)
        if url.path != f"{API}/submissions":
            return None
        self.pages += 1
        for move in (self.moves.get(self.pages), self.always):
            if move:
                move(self.texts)
        query = dict(parse_qsl(url.query))
        offset = 0 if self.ignores_offset else int(query["offset"])
        page = self.texts[offset : offset + min(self.cap, int(query["limit"]))]
        total = self.total(self.pages, page) if callable(self.total) else self.total
        said = "" if total == "absent" else f',"total":{len(self.texts) if total is None else total}'
        return Reply(200, JSON, f'{{"data":{{"submissions":[{",".join(page)}]{said}}}}}'.encode())


def new_row(n: int, kernel_id: int = LONG) -> str:
    return with_fields(TEXTS[kernel_id][5], id=900_000 + n)


def assert_never_silently_short(part: Part, items: Items, expected: set[int]) -> None:
    """Either the listing closed with every row that was there throughout, or it says that it did not."""
    if part.complete:
        assert expected <= set(ids(items))
    else:
        assert part.rejects


# -- paging


@pytest.mark.parametrize("max_limit", [2, 3, 50])
def test_every_row_once_advancing_by_the_rows_received(board, archive, max_limit):
    board.max_limit = max_limit
    part, items = read(board, archive)

    assert part.complete
    assert (part.listed, part.rejects) == (63, ())
    assert ids(items) == IDS[LONG]
    assert offsets(board) == list(range(0, 63, max_limit))
    assert {query["kernel_id"] for query in listing_requests(board)} == {str(LONG)}
    assert len(part.pages) == len(offsets(board))


@pytest.mark.parametrize("kernel_id", [5, 19, NONE])
def test_a_page_that_is_exactly_full_one_row_and_none(board, archive, kernel_id):
    part, items = read(board, archive, kernel_id)
    assert {5: 50, 19: 1, NONE: 0}[kernel_id] == part.listed == STATED[kernel_id]
    assert part.complete
    assert ids(items) == IDS[kernel_id]
    assert offsets(board) == [0]


def test_a_server_that_gives_all_that_is_asked_for_is_asked_once(board, archive):
    board.max_limit = 1000
    part, items = read(board, archive)
    assert (part.complete, ids(items), offsets(board)) == (True, IDS[LONG], [0])


@pytest.mark.parametrize("cap", [7, 50])
def test_a_row_inserted_at_the_head_while_paged_is_read_too(board, archive, cap):
    board.answer = Listing(TEXTS[LONG].copy(), cap, {2: lambda rows: rows.insert(0, new_row(1))})
    part, items = read(board, archive)
    assert part.complete
    assert sorted(ids(items)) == sorted([900_001, *IDS[LONG]])
    assert part.listed == 64


@pytest.mark.parametrize("cap", [7, 50])
@pytest.mark.parametrize("total", [None, "absent"])
def test_a_row_deleted_at_the_head_while_paged_loses_no_other(board, archive, cap, total):
    board.answer = Listing(TEXTS[LONG].copy(), cap, {2: lambda rows: rows.pop(0)}, total=total)
    part, items = read(board, archive)
    assert_never_silently_short(part, items, set(IDS[LONG][1:]))
    if part.complete:
        assert ids(items) == IDS[LONG][1:]  # and what is gone is not listed


@pytest.mark.parametrize("total", [None, "absent"])
def test_a_listing_that_never_rests_is_incomplete_and_ends(board, archive, total):
    rows = itertools.count(1)
    listing = Listing(TEXTS[LONG].copy(), 25, always=lambda texts: texts.insert(0, new_row(next(rows))), total=total)
    board.answer = listing
    part, items = read(board, archive)
    assert not part.complete
    assert part.rejects
    assert set(IDS[LONG]) <= set(ids(items))
    assert listing.pages < 40


def test_a_row_that_changed_between_two_readings_is_read_as_it_was_last(board, archive):
    def move(rows: list[str]) -> None:
        rows.insert(0, new_row(1))
        rows[3] = with_fields(rows[3], status="REJECTED")

    board.answer = Listing(TEXTS[LONG].copy(), 50, {2: move})
    part, items = read(board, archive)
    assert part.complete
    assert {one.id: one.status for one in items.submissions}[IDS[LONG][2]] == "REJECTED"


@pytest.mark.parametrize("total", [64, 100, 10_000, 10, 0, -1], ids=str)
def test_a_total_that_lies_makes_a_listing_incomplete(board, archive, total):
    listing = board.answer = Listing(TEXTS[LONG].copy(), total=total)
    part, items = read(board, archive)
    assert not part.complete
    assert part.rejects
    assert listing.pages <= 16
    assert set(ids(items)) >= set(IDS[LONG] if total > 63 else IDS[LONG][:50])


def test_a_total_that_counts_the_page_alone_makes_no_short_listing_complete(board, archive):
    """50 of 50, says the page; 63, says the kernel list."""
    board.answer = Listing(TEXTS[LONG].copy(), total=lambda n, page: len(page))
    part, items = read(board, archive)
    assert_never_silently_short(part, items, set(IDS[LONG]))


@pytest.mark.parametrize("total", ["absent", "null"])
@pytest.mark.parametrize("cap", [7, 50, 63])
def test_without_a_total_a_listing_is_read_to_its_end(board, archive, cap, total):
    board.answer = Listing(TEXTS[LONG].copy(), cap, total=total)
    part, items = read(board, archive)
    assert (part.complete, part.rejects, ids(items)) == (True, (), IDS[LONG])


def test_totals_that_differ_from_page_to_page_do_not_close(board, archive):
    board.answer = Listing(TEXTS[LONG].copy(), total=lambda n, page: 63 + n % 2)
    part, items = read(board, archive)
    assert not part.complete
    assert set(ids(items)) == set(IDS[LONG])


@pytest.mark.parametrize("total", [None, "absent"])
def test_a_server_that_ignores_the_offset_gives_no_complete_listing(board, archive, total):
    listing = board.answer = Listing(TEXTS[LONG].copy(), total=total, ignores_offset=True)
    part, items = read(board, archive)
    assert not part.complete
    assert part.rejects
    assert set(ids(items)) == set(IDS[LONG][:50])
    assert listing.pages <= 16


def test_a_server_that_stops_short_of_its_total_gives_no_complete_listing(board, archive):
    board.answer = Listing(TEXTS[LONG][:50], total=63)
    part, items = read(board, archive)
    assert not part.complete
    assert ids(items) == IDS[LONG][:50]


# -- pages that are none


NO_PAGES = {
    "HTML": Reply(200, {"Content-Type": "text/html"}, b"<!doctype html><title>Log in</title>"),
    "HTML that says JSON": Reply(200, JSON, b"<!doctype html><title>Log in</title>"),
    "no type": Reply(200, {}, b'{"data":{"submissions":[],"total":0}}'),
    "nothing": Reply(200, JSON, b""),
    "cut": Reply(200, JSON, b'{"data":{"submissions":[{"id":1'),
    "more than JSON": Reply(200, JSON, b'{"data":{"submissions":[],"total":0}}{}'),
    "a list": Reply(200, JSON, b"[]"),
    "null": Reply(200, JSON, b"null"),
    "an error": Reply(200, JSON, b'{"error":"busy"}'),
    "no data": Reply(200, JSON, b'{"data":null}'),
    "no rows": Reply(200, JSON, b'{"data":{"total":0}}'),
    "rows that are none": Reply(200, JSON, b'{"data":{"submissions":{},"total":0}}'),
    "not UTF-8": Reply(200, JSON, '{"data":{"submissions":[],"total":0}}'.encode("utf-16")),
    "NaN": Reply(200, JSON, b'{"data":{"submissions":[{"id":1,"x":NaN}],"total":1}}'),
    "Infinity": Reply(200, JSON, b'{"data":{"submissions":[{"id":1,"x":-Infinity}],"total":1}}'),
    "too deep": Reply(200, JSON, b'{"data":{"submissions":[{"id":1,"x":' + b"[" * 200_000 + b"]" * 200_000 + b"}]}}"),
    "half a character": Reply(200, JSON, b'{"data":{"submissions":[{"id":1,"x":"\\ud800"}],"total":1}}'),
    "gone": Reply(404, JSON, b'{"detail":"Not Found"}'),
    "broken": Reply(500),
}


@pytest.mark.parametrize("kind", NO_PAGES)
def test_a_page_that_is_none_makes_a_listing_incomplete_and_keeps_the_others(board, archive, kind):
    board.answer = lambda path, n: NO_PAGES[kind] if "offset=50" in path else None
    part, items = read(board, archive)
    assert not part.complete
    assert any("offset=50" in reject.locator and reject.reason for reject in part.rejects)
    assert ids(items) == IDS[LONG][:50]
    assert items.kernel.name == NAMES[LONG]


@pytest.mark.parametrize(
    "kind", ["HTML", "HTML that says JSON", "cut", "null", "an error", "no data", "too deep", "gone", "broken"]
)
def test_a_definition_that_is_none_is_rejected_and_the_listing_goes_on(board, archive, kind):
    board.answer = lambda path, n: NO_PAGES[kind] if path.endswith(f"/kernels/{LONG}") else None
    part, items = read(board, archive)
    assert items.kernel is None
    assert [reject.locator for reject in (*part.rejects, *items.rejects)] == [f"{board.base_url}/kernels/{LONG}"]
    assert part.complete
    assert ids(items) == IDS[LONG]


@pytest.mark.parametrize(
    "kind", ["HTML", "HTML that says JSON", "no type", "cut", "a list", "no rows", "NaN", "too deep", "gone", "broken"]
)
def test_without_a_kernel_list_there_is_no_sync(board, archive, kind):
    board.answer = lambda path, n: NO_PAGES[kind]
    with pytest.raises(SyncFailed, match="/kernels"):
        index(board, archive)


def test_an_empty_kernel_list_is_a_failure(board, archive):
    board.bodies["/kernels"] = b'{"data":{"kernels":[]}}'
    with pytest.raises(SyncFailed, match="empty"):
        index(board, archive)


def test_an_empty_listing_where_rows_are_stated_is_incomplete(board, archive):
    board.answer = Listing([])
    part, items = read(board, archive)
    assert not part.complete
    assert items.submissions == ()
    (reject,) = part.rejects
    assert f"kernel_id={LONG}" in reject.locator
    assert "63" in reject.reason


def test_a_total_without_rows_is_incomplete(board, archive):
    board.answer = Listing([], total=63)
    part, _ = read(board, archive)
    assert not part.complete


def test_an_answer_that_could_not_be_used_is_not_taken_for_good_next_time(board, archive):
    """Half a document with the whole one's tag: no Content-Length says that it is cut (RFC 9112 §6.3)."""
    body = (SAMPLE / f"kernels/{LONG}.json").read_bytes()
    tag = {"ETag": f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'}  # as the server has it
    cut = Reply(200, JSON | tag, [body[: len(body) // 2]])
    board.answer = lambda path, n: cut if path.endswith(f"/kernels/{LONG}") else None
    assert read(board, archive)[1].kernel is None
    board.answer = None
    assert read(board, archive)[1].kernel is not None


# -- the kernel list


AWKWARD = {
    "1e400": Spelled("1e400"),
    "a large integer": Spelled("1" + "0" * 5000),
    "nested": Spelled("[" * 900 + "]" * 900),
}


def kernels_with(*items: str) -> bytes:
    """The kernel list with its first item and `items`."""
    first = json.dumps(KERNELS[0], ensure_ascii=False)
    return f'{{"data":{{"kernels":[{",".join([first, *items])}]}}}}'.encode()


def test_the_kernel_list_is_read_in_its_order(board, archive):
    found = index(board, archive)
    assert [(one.key, one.upstream_id, one.stated) for one in found.entries] == [
        (kernel["name"], str(kernel["id"]), kernel["submission_count"]) for kernel in KERNELS
    ]
    assert [one.locator for one in found.entries] == [f"{board.base_url}/kernels/{kernel['id']}" for kernel in KERNELS]
    assert (found.listed, found.rejects, found.drift) == (len(KERNELS), (), ())


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope(kernels=(NAMES[2], NAMES[9])), [2, 9]),
        (Scope(kernels=(NAMES[9], NAMES[2])), [2, 9]),
        (Scope(tag="L2"), [kernel["id"] for kernel in KERNELS if "L2" in kernel["tags"]]),
        (Scope(limit=3), [kernel["id"] for kernel in KERNELS[:3]]),
        (Scope(tag="L2", limit=1), [kernel["id"] for kernel in KERNELS if "L2" in kernel["tags"]][:1]),
    ],
)
def test_a_scope_chooses_kernels(board, archive, scope, expected):
    found = index(board, archive, scope)
    assert [int(one.upstream_id) for one in found.entries] == expected
    assert found.listed == len(KERNELS)


def test_a_tag_that_no_kernel_has_is_told(board, archive):
    with pytest.raises(SyncFailed, match="no such tag"):
        index(board, archive, Scope(tag="no such tag"))


def test_a_kernel_that_is_not_there_is_named(board, archive):
    with pytest.raises(SyncFailed, match="no_such_kernel"):
        index(board, archive, Scope(kernels=(NAMES[2], "no_such_kernel")))


@pytest.mark.parametrize(
    "item",
    [
        '{"id":77}',
        '{"name":"x"}',
        '{"id":"seventy-seven","name":"x"}',
        '{"id":77,"name":null}',
        "null",
        '"x"',
        "[]",
        '{"id":77,"name":"damaged \ufffd"}',
        '{"id":77,"name":"damaged \\ufffd"}',
    ],
)
def test_a_bad_item_of_the_kernel_list_is_rejected_and_the_others_go_on(board, archive, item):
    board.bodies["/kernels"] = kernels_with(item, json.dumps(KERNELS[1]))
    found = index(board, archive)
    assert [one.upstream_id for one in found.entries] == [str(KERNELS[0]["id"]), str(KERNELS[1]["id"])]
    (reject,) = found.rejects
    assert reject.locator == f"{board.base_url}/kernels#kernels[1]"
    assert json.loads(reject.item) == json.loads(item)
    assert reject.reason


def test_a_name_of_the_kernel_list_that_is_not_utf_8_is_rejected(board, archive):
    board.bodies["/kernels"] = kernels_with('{"id":77,"name":"caf?"}').replace(b"caf?", b"caf\xe9")
    found = index(board, archive)
    assert [one.upstream_id for one in found.entries] == [str(KERNELS[0]["id"])]
    assert [reject.locator for reject in found.rejects] == [f"{board.base_url}/kernels#kernels[1]"]


@pytest.mark.parametrize("item", [b'{"id":77,"name":"x","caf\xe9":1}', b'{"id":77,"name":"x","new_field":"caf\xe9"}'])
def test_a_new_field_of_the_kernel_list_that_is_not_utf_8_stops_nothing(board, archive, item):
    board.bodies["/kernels"] = kernels_with("?").replace(b"?", item)
    found = index(board, archive)
    assert str(KERNELS[0]["id"]) in [one.upstream_id for one in found.entries]
    assert len(found.entries) + len(found.rejects) == 2


def test_a_kernel_that_is_listed_twice_is_read_once(board, archive):
    board.bodies["/kernels"] = kernels_with(json.dumps(KERNELS[0]), json.dumps(KERNELS[1] | {"name": NAMES[LONG]}))
    found = index(board, archive)
    assert [one.upstream_id for one in found.entries] == [str(KERNELS[0]["id"])]
    assert len(found.rejects) == 2


def test_a_new_field_of_the_kernel_list_is_drift(board, archive):
    items = [json.dumps(kernel | {"new_field": kernel["id"]}) for kernel in KERNELS[1:4]]
    board.bodies["/kernels"] = kernels_with(*items)
    found = index(board, archive)
    (drift,) = merge_drift(found.drift)
    assert (drift.path, drift.change, drift.count) == ("kernels[].new_field", "new field", 3)
    assert len(found.entries) == 4


@pytest.mark.parametrize("kind", AWKWARD)
def test_an_awkward_value_in_the_kernel_list_stops_nothing(board, archive, kind):
    board.bodies["/kernels"] = kernels_with(f'{{"id":77,"name":"x","new_field":{AWKWARD[kind]}}}')
    found = index(board, archive)
    taken = [one.upstream_id for one in found.entries]
    rejected = [reject.locator for reject in found.rejects]
    assert (taken, rejected) in (
        ([str(KERNELS[0]["id"]), "77"], []),
        ([str(KERNELS[0]["id"])], [f"{board.base_url}/kernels#kernels[1]"]),
    )


# -- definitions


def definition_with(**changes: object) -> bytes:
    text = (SAMPLE / f"kernels/{LONG}.json").read_text()
    fields = json.loads(text)["data"] | changes
    return (
        '{"data":{' + ",".join(f"{json.dumps(name)}:{spell(value)}" for name, value in fields.items()) + "}}"
    ).encode()


def test_definitions_are_read(whole):
    _, read_ = whole
    assert read_.keys() == NAMES.keys()
    for kernel_id, (part, items) in read_.items():
        data = json.loads((SAMPLE / f"kernels/{kernel_id}.json").read_bytes())["data"]
        assert (items.kernel.id, items.kernel.name, items.kernel.tags) == (kernel_id, data["name"], data["tags"])
        assert list(items.kernel.axes) == list(data["axes"])
        assert list(items.kernel.inputs) == list(data["inputs"])
        assert [list(entry.axes.items()) for entry in items.kernel.workloads] == [
            list(entry["axes"].items()) for entry in data["workloads"]
        ]
        assert part.workloads == len(data["workloads"])
        assert (part.rejects, items.rejects, items.drift) == ((), (), ())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"id": 2}, "2"),
        ({"name": "another"}, "another"),
        ({"latency_unit": "us"}, "us"),
        ({"axes": []}, ""),
        ({"inputs": None}, ""),
    ],
)
def test_a_definition_of_another_kernel_or_shape_is_rejected(board, archive, changes, reason):
    board.bodies[f"/kernels/{LONG}"] = definition_with(**changes)
    part, items = read(board, archive)
    assert items.kernel is None
    (reject,) = items.rejects
    assert reject.locator == f"{board.base_url}/kernels/{LONG}"
    assert reason in reject.reason
    assert part.complete
    assert ids(items) == IDS[LONG]


def test_new_fields_of_a_definition_are_drift(board, archive):
    workloads = json.loads((SAMPLE / f"kernels/{LONG}.json").read_bytes())["data"]["workloads"]
    workloads[2]["newer_field"] = 1
    board.bodies[f"/kernels/{LONG}"] = definition_with(new_field=1, workloads=workloads)
    _, items = read(board, archive)
    assert items.kernel.name == NAMES[LONG]
    assert {(drift.path, drift.change) for drift in items.drift} == {
        ("kernel.new_field", "new field"),
        ("kernel.workloads[].newer_field", "new field"),
    }


@pytest.mark.parametrize("place", ["name", "new field", "new field's name", "sol_ms", "max_atol"])
def test_a_definition_that_is_not_utf_8_is_rejected(board, archive, place):
    workload = {"axes": {"rows": 1}, "sol_ms": "?", "tolerance": {"max_atol": "?"}}
    spoilt = {
        "name": {"name": "?"},
        "new field": {"new_field": "?"},
        "new field's name": {"?": 1},
        "sol_ms": {"workloads": [workload | {"tolerance": None}]},
        "max_atol": {"workloads": [workload | {"sol_ms": 1}]},
    }[place]
    body = definition_with(description=None, baseline=None, **spoilt)
    assert body.count(b'"?"') == 1
    board.bodies[f"/kernels/{LONG}"] = body.replace(b'"?"', b'"caf\xe9"')
    part, items = read(board, archive)
    assert items.kernel is None
    assert [one.locator for one in (*part.rejects, *items.rejects)] == [f"{board.base_url}/kernels/{LONG}"]
    assert ids(items) == IDS[LONG]


@pytest.mark.parametrize("kind", AWKWARD)
def test_an_awkward_value_in_a_definition_stops_nothing(board, archive, kind):
    board.bodies[f"/kernels/{LONG}"] = definition_with(new_field=AWKWARD[kind])
    part, items = read(board, archive)
    assert items.kernel is not None or [one.locator for one in (*part.rejects, *items.rejects)] == [
        f"{board.base_url}/kernels/{LONG}"
    ]
    assert ids(items) == IDS[LONG]


# -- items


def parse_page(*items: str | bytes, kernel_id: int = LONG) -> Items:
    """What `parse` makes of a page with these items."""
    sent = b",".join(item.encode() if isinstance(item, str) else item for item in items)
    page = b'{"data":{"submissions":[' + sent + b'],"total":%d}}' % len(items)
    stored = page_digest(page)
    part = Part(NAMES[LONG], "https://a.example/kernels/1", str(kernel_id), None, (stored,), True, 0, len(items))
    return parse(part, {stored: page}.__getitem__)


def page_digest(page: bytes) -> str:
    return "sha256:" + hashlib.sha256(page).hexdigest()


ROW = TEXTS[LONG][2]  # a usual one: completed, correct, with figures
FIELDS = json.loads(ROW)


def test_the_usual_row_is_a_usual_one():
    assert FIELDS["status"] == "COMPLETED"
    assert FIELDS["latency_ms"] > 0
    assert FIELDS.keys() > REQUIRED


def test_submissions_are_what_the_sample_says(whole):
    _, read_ = whole
    for kernel_id, texts in TEXTS.items():
        _, items = read_[kernel_id]
        assert (items.rejects, items.drift) == ((), ())
        for submission, text in zip(items.submissions, texts, strict=True):
            fields = json.loads(text, parse_float=str, parse_int=str)
            for name in ("username", "kernel_name", "status", "gpu_type", "is_correct", "is_disqualified",
                         "disqualification_reason", "evaluation_stack_version", "worker_id", "submitted_at",
                         "finished_at", *METRICS):  # fmt: skip
                assert getattr(submission, name) == fields[name], name
            assert (submission.id, submission.kernel_id) == (int(fields["id"]), kernel_id)


def test_the_payload_is_the_servers_text_byte_for_byte(whole):
    archive, read_ = whole
    for kernel_id, texts in TEXTS.items():
        part, items = read_[kernel_id]
        assert [submission.payload for submission in items.submissions] == texts
        for submission in items.submissions:
            assert submission.body_digest in part.pages
            assert submission.payload.encode() in archive.body(submission.body_digest)


@pytest.mark.parametrize(
    "spelled", [' { "id" : 1 , "latency_ms" : 1.10 , ', '{"id":1,"x":"\\u00e9\\/","latency_ms":2.5E-2,']
)
def test_the_payload_keeps_blanks_escapes_and_spellings(spelled):
    text = (spelled + ROW.partition(",")[2].replace('"latency_ms"', '"other"')).strip()
    (submission,) = parse_page(text).submissions
    assert submission.payload == text


@pytest.mark.parametrize(
    "name",
    [
        "山田 yamada-simd",
        "Łukasz Ż.",
        "נועה noa",
        "🦉 nightowl",
        "e\u0301 is not \u00e9",
        "a\u200bb",
        "\u202eabc",
        " x ",
    ],
)
def test_names_survive_byte_for_byte(name):
    for text in (with_fields(ROW, username=name), with_fields(ROW, username=Spelled(json.dumps(name)))):
        (submission,) = parse_page(text).submissions
        assert submission.username == name
        assert submission.payload == text


def test_the_samples_names_survive(whole):
    names = {json.loads(text)["username"] for texts in TEXTS.values() for text in texts}
    assert any(not name.isascii() for name in names)
    read_names = {one.username for _, items in whole[1].values() for one in items.submissions}
    assert {name.encode() for name in read_names} == {name.encode() for name in names}


BAD = {
    "no GPU": with_fields(ROW, gpu_type=""),
    "no name": with_fields(ROW, username=" "),
    "no username": without(ROW, "username"),
    "no kernel_name": without(ROW, "kernel_name"),
    "no status": without(ROW, "status"),
    "no gpu_type": without(ROW, "gpu_type"),
    "no kernel_id": without(ROW, "kernel_id"),
    "a null username": with_fields(ROW, username=None),
    "a number for a name": with_fields(ROW, username=5),
    "another kernel": with_fields(ROW, kernel_id=2),
    "a truth for a latency": with_fields(ROW, latency_ms=True),
    "an object for a latency": with_fields(ROW, latency_ms={"ms": 1}),
    "words for a latency": with_fields(ROW, latency_ms="fast"),
    "a decimal comma": with_fields(ROW, latency_ms="0,05"),
    "nothing for a latency": with_fields(ROW, latency_ms=""),
    "NaN as text": with_fields(ROW, latency_ms="NaN"),
    "Infinity as text": with_fields(ROW, latency_ms="Infinity"),
    "a latency with blanks": with_fields(ROW, latency_ms=" 0.05"),
    "a latency in hexadecimal": with_fields(ROW, latency_ms="0x10"),
    "other digits": with_fields(ROW, latency_ms="٠.٥"),
    "a damaged name": with_fields(ROW, username="caf\ufffd"),
    "a damaged name, escaped": with_fields(ROW, username=Spelled('"caf\\ufffd"')),
    "a damaged name, escaped in capitals": with_fields(ROW, username=Spelled('"caf\\uFFFD"')),
    "a name that is not UTF-8": with_fields(ROW, username="caf?").encode().replace(b"caf?", b"caf\xe9"),
    "a latency that is not UTF-8": with_fields(ROW, latency_ms="caf?").encode().replace(b"caf?", b"caf\xe9"),
    "a new field that is not UTF-8": with_fields(ROW, new_field="caf?").encode().replace(b"caf?", b"caf\xe9"),
    "a time that is none": with_fields(ROW, finished_at=5),
    "1e400 for a number": with_fields(ROW, user_id=Spelled("1e400")),
}


@pytest.mark.parametrize("kind", BAD)
def test_one_bad_item_in_a_page_of_good_ones_is_one_reject(kind):
    bad = BAD[kind]
    good = TEXTS[LONG][:2] + TEXTS[LONG][3:6]
    items = parse_page(*good[:3], bad, *good[3:])
    assert [submission.payload for submission in items.submissions] == good
    (reject,) = items.rejects
    page = b'{"data":{"submissions":[' + b",".join(
        x if isinstance(x, bytes) else x.encode() for x in [*good[:3], bad, *good[3:]]
    )
    assert f"submission/{FIELDS['id']}" in reject.locator
    assert page_digest(page + b'],"total":6}}') in reject.locator
    assert "[3]" in reject.locator
    assert reject.reason
    if isinstance(bad, str):
        assert reject.item == bad


def test_an_item_with_a_fields_name_that_is_not_utf_8_is_one_reject_too():
    bad = with_fields(ROW, **{"caf?": 1}).encode().replace(b"caf?", b"caf\xe9")
    items = parse_page(TEXTS[LONG][0], bad, TEXTS[LONG][1])
    assert ids(items) == IDS[LONG][:2]
    (reject,) = items.rejects
    assert "[1]" in reject.locator


@pytest.mark.parametrize(
    "item", [without(ROW, "id"), with_fields(ROW, id="x"), with_fields(ROW, id=None), "null", "[]", "5", '"x"']
)
def test_an_item_without_an_id_is_one_reject_too(board, archive, item):
    board.answer = Listing([*TEXTS[LONG][:3], item, *TEXTS[LONG][3:]])
    part, items = read(board, archive)
    assert (part.complete, part.listed, part.rejects) == (True, 64, ())
    assert ids(items) == IDS[LONG]
    (reject,) = items.rejects
    assert "[3]" in reject.locator
    assert reject.item == item


@pytest.mark.parametrize("name", [*METRICS, "benchmark_results", "error_log", "collection_id", "new_field"])
@pytest.mark.parametrize("kind", AWKWARD)
def test_an_awkward_value_in_one_item_stops_nothing(name, kind):
    items = parse_page(TEXTS[LONG][0], with_fields(ROW, **{name: AWKWARD[kind]}), TEXTS[LONG][1])
    assert {one.id for one in items.submissions} >= set(IDS[LONG][:2])
    assert len(items.submissions) + len(items.rejects) == 3


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(
    "value", ["1e9999999999999999999999", "1e-9999999999999999999999", "1e999999999", "9" * 5000, "0.0", "-1", "0e0"]
)
def test_no_number_stops_the_parser(name, value):
    text = with_fields(ROW, **{name: Spelled(value)})
    items = parse_page(TEXTS[LONG][0], text, TEXTS[LONG][1])
    assert {one.id for one in items.submissions} >= set(IDS[LONG][:2])
    assert len(items.submissions) + len(items.rejects) == 3
    for one in items.submissions:
        if one.id == FIELDS["id"]:
            assert getattr(one, name) == value


def test_a_number_that_is_none_spoils_the_page_and_says_where(board, archive):
    board.answer = Listing(
        [*TEXTS[LONG][:3], with_fields(ROW, id=900_001, latency_ms=Spelled("NaN")), *TEXTS[LONG][3:]]
    )
    part, items = read(board, archive)
    assert not part.complete
    (reject,) = part.rejects
    assert "offset=0" in reject.locator
    assert 900_001 not in ids(items)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("value", ["0.0123455", "1.10", "2.5e-2", "7"])
def test_a_number_as_text_is_taken_and_reported(name, value):
    items = parse_page(TEXTS[LONG][0], with_fields(ROW, **{name: value}))
    (drift,) = items.drift
    assert (drift.path, drift.locator) == (f"submissions[].{name}", f"submission/{FIELDS['id']}")
    assert "text" in drift.change
    assert getattr(items.submissions[1], name) == value
    assert items.rejects == ()


def test_unknown_fields_are_drift_and_counted():
    texts = [
        with_fields(text, new_field=1, **({"newer": None} if place == 4 else {}))
        for place, text in enumerate(TEXTS[LONG])
    ]
    items = parse_page(*texts)
    assert ids(items) == IDS[LONG]
    assert items.rejects == ()
    found = {(one.path, one.change, one.locator, one.count) for one in merge_drift(items.drift)}
    assert found == {
        ("submissions[].new_field", "new field", f"submission/{IDS[LONG][0]}", 63),
        ("submissions[].newer", "new field", f"submission/{IDS[LONG][4]}", 1),
    }
    assert [submission.payload for submission in items.submissions] == texts


def test_fields_that_only_some_answers_carry_are_no_drift():
    some = {"result_available_at": "2026-08-26T10:10:10", "review_status": "open", "profiling_status": None}
    assert parse_page(with_fields(ROW, **some)).drift == ()


@pytest.mark.parametrize("name", sorted(FIELDS.keys() - REQUIRED))
def test_a_field_that_is_gone_is_drift(name):
    items = parse_page(without(ROW, name), *(without(text, name) for text in TEXTS[LONG][:2]))
    assert len(items.submissions) == 3
    (drift,) = merge_drift(items.drift)
    assert (drift.path, drift.change, drift.count) == (f"submissions[].{name}", "field gone", 3)


@pytest.mark.parametrize("name", sorted(FIELDS.keys() - REQUIRED))
def test_a_field_may_be_null(name):
    items = parse_page(with_fields(ROW, **{name: None}))
    assert (len(items.submissions), items.rejects, items.drift) == (1, (), ())


# -- the state's digest


def state_of(text: str) -> str:
    (submission,) = parse_page(text, kernel_id=json.loads(text)["kernel_id"]).submissions
    return submission.state_digest


OPTIONAL = sorted(FIELDS.keys() - REQUIRED)
LATER = ["result_available_at", "review_status", "review_comment", "reviewed_at", "profiling_status"]
KNOWN = sorted(FIELDS.keys() - {"username"}) + LATER
numbers = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-10, max_value=10**6)


SOUND_TEXTS = st.text(max_size=30).filter(
    lambda text: text.strip() and not any(c == "\ufffd" or "\ud800" <= c <= "\udfff" for c in text)
)


def values_of(name: str) -> st.SearchStrategy:
    """Values of the kind that the sample has for a field."""
    if name in ("id", "kernel_id", "user_id"):
        return st.integers(1, 10**9).map(lambda n: Spelled(str(n)))
    if name in METRICS:
        return numbers.map(lambda number: Spelled(f"{number:f}"))
    if name in ("is_correct", "is_disqualified"):
        return st.booleans()
    return SOUND_TEXTS


def value_of(text: str, name: str) -> object:
    return json.loads(text, parse_float=Decimal, parse_int=Decimal).get(name)


@settings(deadline=None)
@given(data=st.data())
def test_a_state_changes_with_any_known_field_but_the_username(data):
    text = data.draw(st.sampled_from([text for texts in TEXTS.values() for text in texts]))
    name = data.draw(st.sampled_from(KNOWN))
    changed = with_fields(text, **{name: data.draw(values_of(name))})
    same = value_of(text, name) == value_of(changed, name)
    assert (state_of(text) == state_of(changed)) is same


@settings(deadline=None)
@given(name=SOUND_TEXTS)
def test_a_state_does_not_depend_on_the_username(name):
    assert state_of(with_fields(ROW, username=name)) == state_of(ROW)


@settings(deadline=None)
@given(
    name=st.sampled_from(METRICS),
    digits=st.integers(-(10**12), 10**12).filter(bool),
    exponent=st.integers(-25, 25),
    zeros=st.integers(0, 5),
    letter=st.sampled_from(["e", "E", "e+"]),
)
def test_a_state_takes_numbers_by_value(name, digits, exponent, zeros, letter):
    number = Decimal(digits).scaleb(exponent)
    spellings = {
        f"{number:f}",
        f"{number:f}{'.' if exponent >= 0 else ''}{'0' * (zeros + 1)}",
        f"{digits}{'0' * zeros}e{exponent - zeros}",
        f"{digits}.0{'E' if letter == 'E' else 'e'}{exponent}",
        *([f"{digits}{letter}{exponent}"] if exponent >= 0 or letter != "e+" else []),
    }
    assert all(Decimal(spelling) == number for spelling in spellings)
    states = {state_of(with_fields(ROW, **{name: Spelled(spelling)})) for spelling in spellings}
    assert len(states) == 1
    other = Spelled(f"{digits + 1}e{exponent}")
    assert state_of(with_fields(ROW, **{name: other})) not in states


def test_a_state_takes_1_10_for_1_1_and_11e_minus_1():
    spellings = ["1.10", "1.1", "11e-1", "0.11E+1", "1.1e0", "1.1000000000000000000000000000000000000000"]
    assert len({state_of(with_fields(ROW, latency_ms=Spelled(spelling))) for spelling in spellings}) == 1
    near = [Spelled("1.1000000000000000000000000000000000000001"), Spelled("1.1"), Spelled("1.2"), Spelled("11"), None]
    assert len({state_of(with_fields(ROW, latency_ms=value)) for value in near}) == len(near)


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_state_takes_absent_for_null(name):
    assert state_of(without(ROW, name)) == state_of(with_fields(ROW, **{name: None}))


@pytest.mark.parametrize("name", LATER)
def test_a_state_takes_null_for_absent(name):
    assert state_of(with_fields(ROW, **{name: None})) == state_of(ROW)


def test_a_state_does_not_depend_on_order_blanks_escapes_or_unknown_fields():
    fields = json.loads(ROW, parse_float=Spelled, parse_int=Spelled)
    backwards = "{ " + " , ".join(f"{json.dumps(name)} : {spell(fields[name])}" for name in reversed(fields)) + " }"
    escaped = with_fields(
        ROW, kernel_name=Spelled('"' + "".join(f"\\u{ord(c):04x}" for c in fields["kernel_name"]) + '"')
    )
    assert {state_of(text) for text in (backwards, escaped, with_fields(ROW, new_field=[1]))} == {state_of(ROW)}


def test_a_state_is_a_sha_256():
    kind, _, hexadecimal = state_of(ROW).partition(":")
    assert (kind, len(hexadecimal)) == ("sha256", 64)
    assert int(hexadecimal, 16) >= 0


# -- syncs


async def read_board(client: Client, base_url: str) -> list[Part]:
    entries = (await read_index(client, base_url, Scope())).entries
    return await asyncio.gather(*(read_part(client, base_url, entry) for entry in entries))


def paths(board: BoardServer) -> list[str]:
    return [request.path for request in board.requests if request.path != "/robots.txt"]


def whole_board(board: BoardServer) -> list[str]:
    """Every URL that a reader of the whole board asks for, from the sample's own counts and the server's cap."""
    expected = [f"{API}/kernels", *(f"{API}/kernels/{kernel_id}" for kernel_id in NAMES)]
    for kernel_id, rows in IDS.items():
        for offset in range(0, len(rows) or 1, board.max_limit):
            expected.append(f"{API}/submissions?kernel_id={kernel_id}&offset={offset}")
    return sorted(expected)


def without_limit(asked: list[str]) -> list[str]:
    return sorted(path.partition("&limit=")[0] for path in asked)


def test_a_board_is_read_without_a_request_too_many(board, archive):
    parts = with_client(board, archive, lambda client: read_board(client, board.base_url))
    assert all(part.complete and not part.rejects for part in parts)
    assert without_limit(paths(board)) == whole_board(board)
    assert sum(part.listed for part in parts) == sum(map(len, IDS.values()))


def test_the_second_sync_revalidates_everything(board, archive):
    first = with_client(board, archive, lambda client: read_board(client, board.base_url))
    board.requests.clear()
    second = with_client(board, archive, lambda client: read_board(client, board.base_url))

    asked = [request for request in board.requests if request.path != "/robots.txt"]
    assert without_limit([request.path for request in asked]) == whole_board(board)
    assert all("if-none-match" in request.headers for request in asked)
    assert {request.status for request in asked} == {304}
    assert second == first


def test_a_change_is_found_by_revalidating(board, archive):
    with_client(board, archive, lambda client: read_board(client, board.base_url))
    board.edit(2, lambda items: [items[0] | {"is_disqualified": True}, *items[1:]])
    board.requests.clear()
    parts = with_client(board, archive, lambda client: read_board(client, board.base_url))
    changed = [request.path for request in board.requests if request.path != "/robots.txt" and request.status == 200]
    assert without_limit(changed) == [f"{API}/submissions?kernel_id=2&offset=0"]
    (part,) = (part for part in parts if part.upstream_id == "2")
    assert parse(part, archive.body).submissions[0].is_disqualified is True


def test_a_board_is_read_offline_from_the_archive(board, archive):
    first = with_client(board, archive, lambda client: read_board(client, board.base_url))
    board.close()
    sync_id = archive.open_sync("test", "offline", Scope(), "offline", NOW, "test").sync_id
    assert asyncio.run(read_board(Offline(archive, sync_id), board.base_url)) == first


def test_after_an_offline_sync_the_next_one_revalidates(board, archive):
    with_client(board, archive, lambda client: read_board(client, board.base_url))
    sync_id = archive.open_sync("test", "offline", Scope(), "offline", NOW, "test").sync_id
    asyncio.run(read_board(Offline(archive, sync_id), board.base_url))
    board.requests.clear()
    with_client(board, archive, lambda client: read_board(client, board.base_url))
    assert {request.status for request in board.requests if request.path != "/robots.txt"} == {304}


def test_a_resumed_sync_asks_only_for_what_is_missing(board, archive):
    board.max_limit = 20

    def begin() -> tuple[int, bool]:
        sync_record = archive.open_sync("test", board.base_url, Scope(), "normal", NOW, "test")
        return sync_record.sync_id, sync_record.resumed

    sync_id, resumed = begin()
    assert not resumed
    board.answer = lambda path, n: Reply(200, JSON, [b"{"]) if n > 17 else None  # nothing more of use

    async def a_part(client: Client) -> None:
        await read_index(client, board.base_url, Scope())
        for kernel_id in (1, 2, 5):
            await read_part(client, board.base_url, entry_of(board, kernel_id))
        raise InterruptedError

    with pytest.raises(InterruptedError):
        with_client(board, archive, a_part, sync_id, now=lambda: NOW)
    before = paths(board)
    assert 10 < len(before) < len(whole_board(board))
    assert len(before) <= 17
    board.requests.clear()
    board.answer = None

    assert begin() == (sync_id, True)
    parts = with_client(board, archive, lambda client: read_board(client, board.base_url), sync_id, resumed=True)
    assert all(part.complete for part in parts)
    assert not set(before) & set(paths(board))
    assert without_limit(before + paths(board)) == whole_board(board)
    assert [ids(parse(part, archive.body)) for part in parts] == list(IDS.values())


def test_a_command_that_was_interrupted_is_resumed_by_the_next(board, tmp_path):
    """The same by way of the flow, cancelled as Ctrl-C cancels it."""

    async def interrupted() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        board.answer = lambda path, n: loop.call_soon_threadsafe(task.cancel) and None if n == 20 else None
        settings_ = Settings(home=tmp_path / "home", lock_timeout_s=5, max_wait_s=1)
        await sync(SOURCE, Request(Scope(), board.base_url), settings_)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    archived = sound_urls(tmp_path / "home")
    assert 3 < len(archived) < len(whole_board(board))
    board.requests.clear()

    report = run_sync(tmp_path / "home", board.base_url)
    assert (report.status, report.resumed) == ("complete", True)
    assert not archived & {board.base_url.removesuffix(API) + path for path in paths(board)}
    assert len(archived) + len(paths(board)) == len(whole_board(board))


def test_a_submission_under_another_name_of_its_kernel_stops_no_sync(board, tmp_path):
    """A renamed kernel: the list has the new name, an old submission the old one."""
    board.edit(2, lambda items: [items[0] | {"kernel_name": "its_old_name"}, *items[1:]])
    report = run_sync(tmp_path / "home", board.base_url, scope=Scope(kernels=(NAMES[2],)))
    assert report.error is None
    assert report.status in ("complete", "partial")
    assert report.inserted["submissions"] + len(report.rejects) == len(IDS[2])


def sound_urls(home: Path) -> set[str]:
    with contextlib.closing(sqlite3.connect(home / "archive.sqlite")) as db:
        return {url for (url,) in db.execute("SELECT url FROM fetches WHERE status = 200 AND url LIKE '%/api/%'")}


def test_a_damaged_archive_fails_the_sync_in_clear_words(board, tmp_path):
    home = tmp_path / "home"
    assert run_sync(home, board.base_url).status == "complete"
    body = (SAMPLE / "kernels/19.json").read_bytes()
    with contextlib.closing(sqlite3.connect(home / "archive.sqlite")) as db, db:
        damaged = db.execute("UPDATE bodies SET zstd = x'00' WHERE body_digest = ?", (page_digest(body),))
        assert damaged.rowcount == 1
    report = run_sync(home, board.base_url)
    assert report.status == "failed"
    assert page_digest(body) in report.error
