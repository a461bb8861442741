"""Reads the SOL-ExecBench API into the archive: the kernel list, each kernel's detail, each kernel's whole listing.

Only as much of an answer is decoded here as is needed to know what to ask next; `parse` reads the items.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from scrapers.codes import Code
from scrapers.contract import Capture, Drift, Entry, Fetch, Index, Part, Reject, Scope
from scrapers.errors import GiveUp, SyncFailed
from scrapers.sol_execbench.items import UNREADABLE

Read = TypeVar("Read")

PAGE_LIMIT = 100
"""Rows asked for at once. The server caps it (50 seen), so listings advance by the rows received."""

MOST_PASSES = 4
MOST_PAGES = 20_000


class _Kernel(msgspec.Struct, frozen=True):
    id: int
    name: str
    tags: list[Any] | None = None
    submission_count: Any = None


class _KernelList(msgspec.Struct, frozen=True):
    kernels: list[msgspec.Raw]


class _Detail(msgspec.Struct, frozen=True):
    workloads: list[msgspec.Raw]


class _Row(msgspec.Struct, frozen=True):
    id: int


class _Listing(msgspec.Struct, frozen=True):
    submissions: list[_Row]
    total: Any = None


class _LooseListing(msgspec.Struct, frozen=True):
    submissions: list[msgspec.Raw]
    total: Any = None


class _Answer(msgspec.Struct, frozen=True):
    data: msgspec.Raw


_ANSWER = msgspec.json.Decoder(_Answer)
_DETAIL = msgspec.json.Decoder(_Detail)
_LISTING = msgspec.json.Decoder(_Listing)
_LOOSE = msgspec.json.Decoder(_LooseListing)
_KERNELS = msgspec.json.Decoder(_KernelList)
_KERNEL = msgspec.json.Decoder(_Kernel)
_ROW = msgspec.json.Decoder(_Row)
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])

LIST_FIELDS = frozenset({"id", "name", "title", "gpu_types", "tags", "submission_count"})


def answer_data(url: str, media_type: str, body: bytes) -> msgspec.Raw:
    """Return the `data` member of an answer as raw JSON. Raises `GiveUp` when it is no such answer."""
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise GiveUp(url, f"not JSON but {media_type or 'of no stated type'}, starting {body[:40]!r}")
    try:
        return _ANSWER.decode(body).data
    except UNREADABLE as error:
        raise GiveUp(url, f"unreadable answer: {error}") from error


async def _ask(fetch: Fetch, url: str, read: Callable[[msgspec.Raw], Read], *, again: bool = False) -> tuple[str, Read]:
    """Fetch an answer and read it; return its body's digest and what was read. Raises `GiveUp`.

    A stored body that cannot be read is not believed on the strength of a 304: it is asked for anew.
    """
    capture = await fetch(url, again=again)
    try:
        return capture.body_digest, _read(capture, read)
    except GiveUp:
        if capture.via != "revalidated":
            raise
    capture = await fetch(url, again=True, fresh=True)
    return capture.body_digest, _read(capture, read)


def _read(capture: Capture, read: Callable[[msgspec.Raw], Read]) -> Read:
    data = answer_data(capture.url, capture.media_type, capture.body)
    try:
        return read(data)
    except UNREADABLE as error:
        raise GiveUp(capture.url, f"the answer has another shape: {error}") from error


async def read_index(fetch: Fetch, base_url: str, scope: Scope) -> Index:
    """Read the kernel list and choose the kernels in scope. Raises `SyncFailed` when there is no usable list."""
    url = f"{base_url}/kernels"
    try:
        _, listed = await _ask(fetch, url, _KERNELS.decode)
    except GiveUp as error:
        raise SyncFailed(f"the kernel list cannot be read: {error}", code=error.code) from error
    raw = listed.kernels
    if not raw:
        words = f"the kernel list {url} is empty; an empty board is a failure to be looked at, not news"
        raise SyncFailed(words, code=Code.INDEX_UNUSABLE)
    kernels, rejects, drift = _kernels(url, raw)
    chosen = [kernel for kernel in kernels if _in_scope(kernel, scope)][: scope.limit]
    unknown = set(scope.kernels) - {kernel.name for kernel in kernels}
    if unknown:
        words = f"no such kernel on the board: {', '.join(sorted(unknown))}; names are whole, as on {url}"
        raise SyncFailed(words, code=Code.NOT_FOUND)
    if not chosen:
        raise SyncFailed(f"no kernel of the board has the tag {scope.tag!r}; tags are on {url}", code=Code.NOT_FOUND)
    entries = tuple(
        Entry(kernel.name, f"{base_url}/kernels/{kernel.id}", str(kernel.id), _total(kernel.submission_count))
        for kernel in chosen
    )
    return Index(entries, len(raw), tuple(rejects), tuple(drift))


def _kernels(url: str, raw: list[msgspec.Raw]) -> tuple[list[_Kernel], list[Reject], list[Drift]]:
    kernels: dict[int, _Kernel] = {}
    names: set[str] = set()
    rejects: list[Reject] = []
    drift: list[Drift] = []
    for place, item in enumerate(raw):
        locator = f"{url}#kernels[{place}]"
        text = bytes(item).decode("utf-8", errors="backslashreplace")
        try:
            kernel = _KERNEL.decode(item)
            fields = _OBJECT.decode(item)
        except UNREADABLE as error:
            rejects.append(Reject(locator, text, f"not a kernel: {error}"))
            continue
        if "\ufffd" in kernel.name:
            rejects.append(Reject(locator, text, "a replacement character (U+FFFD) in its name"))
            continue
        new_fields = sorted(fields.keys() - LIST_FIELDS)
        drift += [Drift(f"kernels[].{name}", "new field", locator) for name in new_fields]
        if kernel.id in kernels or kernel.name in names:
            rejects.append(Reject(locator, text, f"kernel {kernel.id} {kernel.name} is listed twice"))
            continue
        kernels[kernel.id] = kernel
        names.add(kernel.name)
    return list(kernels.values()), rejects, drift


def _in_scope(kernel: _Kernel, scope: Scope) -> bool:
    if scope.kernels and kernel.name not in scope.kernels:
        return False
    return scope.tag is None or scope.tag in (kernel.tags or ())


async def read_part(fetch: Fetch, base_url: str, entry: Entry) -> Part:
    """Read one kernel's detail and its whole listing, at the same time. What cannot be had is named in `rejects`."""
    (definition, workloads, missing), listing = await asyncio.gather(
        _read_detail(fetch, entry), _read_listing(fetch, f"{base_url}/submissions", entry)
    )
    if listing.complete and not listing.ids and entry.stated:
        # Zero where there should be rows is a failure to be looked at, not news.
        reason = f"the listing is empty, but the kernel list says {entry.stated} submissions"
        first = _page_url(f"{base_url}/submissions", entry, 0)
        listing = _merged([listing], Reject(first, "", reason, Code.LISTING_INCOMPLETE))
    return Part(
        entry.key,
        entry.locator,
        entry.upstream_id,
        definition,
        tuple(listing.pages),
        listing.complete,
        workloads,
        len(set(listing.ids)),
        entry.stated,
        rejects=(*missing, *listing.rejects),
    )


async def _read_detail(fetch: Fetch, entry: Entry) -> tuple[str | None, int, tuple[Reject, ...]]:
    try:
        digest, detail = await _ask(fetch, entry.locator, _DETAIL.decode)
    except GiveUp as error:
        return None, 0, (Reject(error.locator, "", error.reason, error.code),)
    return digest, len(detail.workloads), ()


@dataclass(slots=True)
class _Pass:
    """One reading of a listing from its first row to its last."""

    pages: list[str]
    ids: list[object]
    totals: set[int | None]
    rejects: list[Reject]
    complete: bool = False

    @property
    def whole(self) -> bool:
        """Whether nothing is missing by the listing's own account: no row twice, and as many as every page says."""
        return len(set(self.ids)) == len(self.ids) and self.totals <= {None, len(self.ids)}

    @property
    def settled(self) -> bool:
        """Whether this pass alone shows that nothing moved: it is whole, and every page gave a total."""
        return self.whole and None not in self.totals


async def _read_listing(fetch: Fetch, url: str, entry: Entry) -> _Pass:
    """Read a listing until one pass is at rest or two agree; otherwise merge all passes and call it incomplete."""
    passes: list[_Pass] = []
    while len(passes) < MOST_PASSES:
        try:
            passes.append(await _read_pass(fetch, url, entry, again=bool(passes)))
        except _Broken as broken:
            return _merged([*passes, broken.so_far], broken.reject)
        if passes[-1].settled:
            passes[-1].complete = True
            return passes[-1]
        if len(passes) > 1 and passes[-1].ids == passes[-2].ids:
            passes[-1].complete = passes[-1].whole
            break
    if passes[-1].complete:
        return passes[-1]
    last = passes[-1]
    totals = sorted(map(str, last.totals))
    reason = f"the listing did not close in {len(passes)} readings: {len(last.ids)} rows, totals {totals}"
    return _merged(passes, Reject(_page_url(url, entry, 0), "", reason, Code.LISTING_INCOMPLETE))


def _merged(passes: list[_Pass], reject: Reject) -> _Pass:
    pages = list(dict.fromkeys(page for one in passes for page in one.pages))
    ids = list(dict.fromkeys(key for one in passes for key in one.ids))
    return _Pass(pages, ids, set(), [reject], complete=False)


class _Broken(Exception):
    """A page of a pass could not be read."""

    def __init__(self, so_far: _Pass, reject: Reject) -> None:
        super().__init__(reject.reason)
        self.so_far = so_far
        self.reject = reject


async def _read_pass(fetch: Fetch, url: str, entry: Entry, *, again: bool) -> _Pass:
    this = _Pass([], [], set(), [])
    seen: set[object] = set()
    while len(this.pages) < MOST_PAGES:
        page_url = _page_url(url, entry, len(this.ids))
        try:
            digest, (ids, total) = await _ask(fetch, page_url, _page, again=again)
        except GiveUp as error:
            raise _Broken(this, Reject(error.locator, "", error.reason, error.code)) from error
        this.pages.append(digest)
        this.totals.add(total)
        this.ids += ids
        # A total may count one page only: where the kernel list says more, one page more is asked for.
        enough = max(total or 0, entry.stated or 0)
        if set(ids) <= seen or (total is not None and len(this.ids) >= enough):
            break
        seen.update(ids)
    return this


def _page_url(url: str, entry: Entry, offset: int) -> str:
    return f"{url}?{urlencode({'kernel_id': entry.upstream_id, 'offset': offset, 'limit': PAGE_LIMIT})}"


def _page(data: msgspec.Raw) -> tuple[list[object], int | None]:
    try:
        listing = _LISTING.decode(data)
        return [row.id for row in listing.submissions], _total(listing.total)
    except msgspec.ValidationError:
        # An item without an id of its own is known by its bytes, so that the page still counts and goes on.
        loose = _LOOSE.decode(data)
        return [_key(item) for item in loose.submissions], _total(loose.total)


def _total(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _key(item: msgspec.Raw) -> object:
    try:
        return _ROW.decode(item).id
    except UNREADABLE:
        return bytes(item)
