"""Reads run pages into the archive: the ones asked for, or all that the sitemap leads to. `/api/` is never asked."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urljoin, urlsplit

from scrapers import saved
from scrapers.codes import Code
from scrapers.contract import Capture, Entry, Fetch, Index, Part, Reject, Scope
from scrapers.errors import GiveUp, SyncFailed
from scrapers.kernelindex.markup import BrokenMarkup, check_whole, text_of

RUN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z:._-]{0,99}")
"""How the index names a run in an address: its id, or its digest."""

_LOC = re.compile(r"<loc>([^<]*)</loc>")

MOST_PAGES = 200_000
MOST_SITEMAPS = 100
HTML = ("text/html", "application/xhtml+xml")


async def read_index(fetch: Fetch, base_url: str, scope: Scope) -> Index:
    """Name the pages to be read: `scope.pages`, else those of the sitemap. Raises `SyncFailed` when there are none."""
    if scope.kernels or scope.tag:
        raise SyncFailed(
            "KernelIndex is read by page, not by kernel or tag: --page FILE|URL|ID, or none for all", code=Code.USAGE
        )
    rejects: list[Reject] = []
    asked = scope.pages or await _from_sitemap(fetch, base_url, rejects)
    entries: dict[str, Entry] = {}
    for page in asked:
        try:
            entry = _entry(page, base_url)
        except GiveUp as error:
            rejects.append(Reject(error.locator, "", error.reason, error.code))
        else:
            entries.setdefault(entry.key, entry)
    return Index(tuple(entries.values())[: scope.limit], len(entries), tuple(rejects))


async def read_part(fetch: Fetch, base_url: str, entry: Entry) -> Part:  # noqa: ARG001  a source's face
    """Read one page. One that cannot be had, or is not asked (robots.txt), is named in `rejects`."""
    try:
        capture = await fetch(entry.locator)
        if capture.via == "revalidated" and not _is_whole(capture):
            # A stored body that is of no use is not believed on the strength of a 304.
            capture = await fetch(entry.locator, again=True, fresh=True)
    except GiveUp as error:
        return _part(entry, (), (Reject(error.locator, "", error.reason, error.code),))
    if capture.media_type not in HTML:
        reason = f"not HTML but {capture.media_type or 'of no stated type'}"
        return _part(entry, (), (Reject(entry.locator, "", reason, Code.ANSWER_UNREADABLE),))
    return _part(entry, (capture.body_digest,), ())


def _part(entry: Entry, pages: tuple[str, ...], rejects: tuple[Reject, ...]) -> Part:
    return Part(
        entry.key, entry.locator, entry.upstream_id, None, pages, bool(pages), 0, len(pages), rejects=rejects
    )  # fmt: skip


def _is_whole(capture: Capture) -> bool:
    try:
        check_whole(text_of(capture.body))
    except BrokenMarkup:
        return False
    return True


def _entry(page: str, base_url: str) -> Entry:
    """Name a page by what was given: a saved page's address, a run's id, or a URL. Raises `GiveUp` for others."""
    if page.startswith(saved.SCHEME):
        return Entry(page, page, "")
    name = page if RUN_ID.fullmatch(page) else _run_name(page, base_url)
    return Entry(name, f"{base_url}/runs/{name}", name)


def _run_name(url: str, base_url: str) -> str:
    host, path = _host(url), _path(url)
    if host not in (_host(base_url), "kernelindex.com", "www.kernelindex.com"):
        raise GiveUp(url, f"not a page of KernelIndex: its host is {host}", code=Code.ADDRESS_REFUSED)
    name = path.removeprefix("/runs/").rstrip("/")
    if not path.startswith("/runs/") or RUN_ID.fullmatch(name) is None:
        reason = "not a run's page, which is /runs/ID; nothing else of the index is read, /api/ least of all"
        raise GiveUp(url, reason, code=Code.ADDRESS_REFUSED)
    return name


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError as error:
        raise GiveUp(url, f"no address that can be asked: {error}", code=Code.ADDRESS_REFUSED) from error


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


async def _from_sitemap(fetch: Fetch, base_url: str, rejects: list[Reject]) -> list[str]:
    """Return the run pages that the sitemap lists; where it lists none, those that its operations' pages link to."""
    addresses = await _sitemap(fetch, f"{base_url}/sitemap.xml")
    runs = [address for address in addresses if _path(address).startswith("/runs/")]
    if not runs:
        paths = dict.fromkeys(map(_path, addresses))
        for path in (path for path in paths if re.fullmatch(r"/operations/[0-9A-Za-z._-]+/?", path)):
            runs += await _linked(fetch, f"{base_url}{path}", rejects)
    if not runs:
        words = f"{base_url}/sitemap.xml leads to no run page: to be looked at, or name pages with --page"
        raise SyncFailed(words, code=Code.INDEX_UNUSABLE)
    if len(runs) > MOST_PAGES:
        words = f"{base_url}/sitemap.xml leads to {len(runs):,} run pages; at most {MOST_PAGES:,} are read"
        raise SyncFailed(words, code=Code.INDEX_UNUSABLE)
    return runs


async def _sitemap(fetch: Fetch, url: str) -> list[str]:
    """Return a sitemap's addresses; of an index of sitemaps, those of each."""
    try:
        addresses = sitemap_addresses((await fetch(url)).body)
        for path in [path for path in map(_path, addresses) if path.endswith(".xml")][:MOST_SITEMAPS]:
            addresses += sitemap_addresses((await fetch(urljoin(url, path))).body)
    except GiveUp as error:
        words = f"the sitemap cannot be read: {error}; name pages with --page FILE|URL|ID"
        raise SyncFailed(words, code=error.code) from error
    return [one for one in addresses if one.startswith(("https://", "http://"))]


def sitemap_addresses(body: bytes) -> list[str]:
    """Return the addresses that a sitemap lists (`loc`, sitemaps.org), in its order."""
    # Nothing else of it is of use, and a reader of XML brings entities and what can be done with them.
    return [unescape(address).strip() for address in _LOC.findall(body.decode("utf-8-sig", errors="replace"))]


async def _linked(fetch: Fetch, url: str, rejects: list[Reject]) -> list[str]:
    try:
        from scrapers.kernelindex.parse import run_ids

        return [one for one in run_ids((await fetch(url)).body) if RUN_ID.fullmatch(one)]
    except GiveUp as error:
        rejects.append(Reject(error.locator, "", error.reason, error.code))
    except BrokenMarkup as error:
        rejects.append(Reject(url, "", f"its markup is not whole: {error}", Code.ANSWER_UNREADABLE))
    return []
