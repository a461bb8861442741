"""From archived run pages to what they say; from other pages to the runs that they link to.

The one HTML parser is Python's own, through BeautifulSoup: `markup.check_whole` has seen to it that
there is nothing to guess. Things are found by their words and their place, never by their style classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString

from scrapers.contract import Body, Drift, Findings, Part, Reject
from scrapers.errors import RejectItem
from scrapers.kernelindex.items import Items, Page, Rows
from scrapers.kernelindex.markup import BrokenMarkup, check_whole, text_of

SECTIONS = (
    "correctness", "workload", "measurements", "protocol", "environment", "artifacts", "replications", "manifest",
)  # fmt: skip
IDENTITY = frozenset(("implementation", "project", "revision", "workload", "comparison key", "source", "external id"))
BLOCKS = ["p", "div"]
NOTES = ["p", "aside", "li"]
PRIMARY = "Primary measurement"
NO_ROWS = "Only the primary measurement was published."
"""What stands in place of a list of measurements."""

_DATE = r"(\d{4}-\d\d-\d\d|—)"
_CONTEXT = re.compile(r"(.+?) · (.+) · run ([0-9A-Za-z:-]+)…?")
_STANDING = re.compile(
    rf"(?:Rank (\d{{1,9}}) in its comparison group · )?(source-native|strict exact) comparison · observed {_DATE}"
)
_NOT_ELIGIBLE = re.compile(r"Not eligible to rank: (.+)")
_STATISTIC = re.compile(r"(?:±[0-9.]+ · )?([a-z][a-z0-9_]*)(?: of (\d{1,12}))?")
_METRIC = r"(?:SOL [0-9.]+|[0-9.]+× reference|\d+/\d+ cases faster|[a-z][a-z0-9 ]* -?[0-9][0-9.e+-]*)"
_METRICS = re.compile(rf"{_METRIC}(?: · {_METRIC})*")
_DIGEST = re.compile(r"(sha256:[0-9a-f]{1,64})…?")
_PUBLISHED = re.compile(rf"Published {_DATE} · (.+)")
_NOTE = re.compile(r"\b(?:retracted|disputed|superseded|not re-observed|stale)\b", re.IGNORECASE)
_FIGURE = re.compile(r"-?[0-9][0-9.e+-]*")
_RUN_PATH = re.compile(r"(?:https?://[^/?#]+)?/runs/([0-9A-Za-z:-]+)/?")


def parse(part: Part, body: Body) -> Items:
    """Read a part's page from the archive. A lost section is drift; a page without a manifest is a reject."""
    if not part.pages:
        return Items(None)
    digest, found = part.pages[0], Findings()
    try:
        page = _parse_page(body(digest), part, found)
    except (RejectItem, BrokenMarkup) as error:
        reason = error.reason if isinstance(error, RejectItem) else f"its markup is not whole: {error}"
        return Items(None, (Reject(part.locator, part.key, reason),), tuple(found.drift))
    return Items(replace(page, body_digest=digest), tuple(found.rejects), tuple(found.drift))


def tree_of(body: bytes) -> BeautifulSoup:
    """Return the tree of a page whose markup is whole. Raises `BrokenMarkup`."""
    text = text_of(body)
    check_whole(text)
    return BeautifulSoup(text, "html.parser")


def run_ids(body: bytes) -> list[str]:
    """Return the ids of the runs that a page links to, in its order. Raises `BrokenMarkup`."""
    links = (_RUN_PATH.fullmatch(str(link["href"])) for link in tree_of(body).find_all("a", href=True))
    return list(dict.fromkeys(link[1] for link in links if link))


def text_in(tag: Tag) -> str:
    """Return an element's text, all white space (non-breaking too) as single spaces. Comments are no text."""
    return " ".join(tag.get_text().split())


def _parse_page(body: bytes, part: Part, found: Findings) -> Page:
    try:
        soup = tree_of(body)
    except BrokenMarkup:
        found.drift.append(Drift("page", "markup is not whole", part.locator))
        raise
    if "\ufffd" in soup.get_text():
        raise RejectItem(part.locator, "a replacement character (U+FFFD): its text was damaged")
    sections = _sections(soup, part, found)
    page = Page(part.locator, "", _manifest(sections, part), address_id=part.upstream_id or None)
    primary = _primary(soup)
    page = _read_head(soup, primary, page, found)
    page = _gone("primary measurement", page, found) if primary is None else _read_primary(primary, page, found)
    page = replace(
        page,
        measurements=_list(sections, "measurements", page, found),
        protocol=_list(sections, "protocol", page, found),
        environment=_list(sections, "environment", page, found),
    )
    return _read_closing(sections["manifest"], page, found)


def _list(sections: dict[str, Tag], name: str, page: Page, found: Findings) -> Rows | None:
    if name not in sections:
        return None
    rows = _rows(sections[name], f"page#{name}", page, found)
    if not rows and NO_ROWS not in text_in(sections[name]):
        found.drift.append(Drift(f"page#{name}", "rows gone", page.locator))
    return rows


def _sections(soup: BeautifulSoup, part: Part, found: Findings) -> dict[str, Tag]:
    sections: dict[str, Tag] = {}
    for tag in soup.find_all("section", id=True):
        name = str(tag["id"])
        if name in sections:
            raise RejectItem(part.locator, f"two sections are called {name!r}: no telling which one counts")
        sections[name] = tag
    gone = [Drift(f"page#{name}", "section gone", part.locator) for name in SECTIONS if name not in sections]
    new = [Drift(f"page#{name}", "new section", part.locator) for name in sections if name not in SECTIONS]
    found.drift += gone + new
    return sections


def _manifest(sections: dict[str, Tag], part: Part) -> str:
    texts = sections["manifest"].find_all("pre") if "manifest" in sections else []
    if len(texts) != 1:
        raise RejectItem(part.locator, f"{len(texts)} manifests on the page: without exactly one it is not believed")
    return texts[0].get_text()


def _primary(soup: BeautifulSoup) -> Tag | None:
    words = soup.find_all([*BLOCKS, "span", "h2", "h3"])
    labels = [tag for tag in words if not _children(tag) and text_in(tag) == PRIMARY]
    return labels[0].find_parent("section") if len(labels) == 1 else None


def _read_head(soup: BeautifulSoup, primary: Tag | None, page: Page, found: Findings) -> Page:
    heads = soup.find_all("h1")
    if len(heads) != 1:
        return _gone("title", page, found)
    link = soup.find("link", rel="canonical", href=True)
    canonical = _RUN_PATH.fullmatch(str(link["href"])) if isinstance(link, Tag) else None
    page = replace(page, title=text_in(heads[0]), canonical_id=canonical[1] if canonical else None)
    between = list(_between(heads[0], primary))
    contexts = [match for _, text in between if (match := _CONTEXT.fullmatch(text))]
    others = [(name, text) for name, text in between if not _CONTEXT.fullmatch(text)]
    page = replace(page, notes=tuple(text for _, text in others if _NOTE.search(text)))
    if any(name in NOTES and not _NOTE.search(text) for name, text in others):
        found.drift.append(Drift("page.notes", "new line", page.locator))
    if not contexts:
        return _gone("context", page, found)
    return replace(page, operation=contexts[0][1], workload=contexts[0][2], shown_id=contexts[0][3])


def _between(head: Tag, primary: Tag | None) -> Iterator[tuple[str, str]]:
    """Yield the lines (element, text) between the title and the first section: the context, then notes on the run."""
    lines = [*BLOCKS, *NOTES, "section"]
    for tag in head.find_all_next(lines):
        if tag is primary or (primary is None and tag.name == "section"):
            return
        if tag.find(lines) is None and (text := text_in(tag)):
            yield tag.name, text


def _read_primary(section: Tag, page: Page, found: Findings) -> Page:
    page = _read_figure(section, page, found)
    page = replace(page, identity=_rows(section, "page.identity", page, found))
    names = {key for key, _ in page.identity}
    found.drift += [Drift(f"page.identity.{name}", "field gone", page.locator) for name in sorted(IDENTITY - names)]
    found.drift += [Drift(f"page.identity.{name}", "new field", page.locator) for name in sorted(names - IDENTITY)]
    # The comparison key, a row of the list above, looks the same.
    keys = {value.removesuffix("…") for _, value in page.identity}
    digests = {match[1] for tag in section.find_all() if (match := _DIGEST.fullmatch(text_in(tag)))} - keys
    page = replace(page, run_digest=digests.pop()) if len(digests) == 1 else _gone("run digest", page, found)
    return _read_lines(section, page, found)


def _read_figure(section: Tag, page: Page, found: Findings) -> Page:
    """Read the figure: a span of the value with its unit in a span of its own, and the statistic after it."""
    figures = [tag for tag in section.find_all() if _is_figure(tag)]
    if len(figures) != 1:
        return _gone("value", page, found)
    unit, *others = _children(figures[0])
    page = replace(page, value=_own_text(figures[0]), unit=_micro(text_in(unit)))
    following = others[0] if others else figures[0].find_next_sibling()
    match = _STATISTIC.fullmatch(text_in(following)) if isinstance(following, Tag) else None
    if match is None:
        return _gone("statistic", page, found)
    return replace(page, statistic=match[1], samples=match[2])


def _is_figure(tag: Tag) -> bool:
    children = _children(tag)
    return bool(children) and children[0].name == "span" and _FIGURE.fullmatch(_own_text(tag)) is not None


def _read_lines(section: Tag, page: Page, found: Findings) -> Page:
    standing = False
    for line in _lines(section):
        if match := _STANDING.fullmatch(line):
            page = replace(page, rank=match[1], profile=match[2].replace(" exact", ""), observed=match[3])
            standing = True
        elif match := _NOT_ELIGIBLE.fullmatch(line):
            page = replace(page, not_eligible=match[1])
            standing = True
        elif _METRICS.fullmatch(line):
            page = replace(page, metrics=line)
        elif not line.startswith(("Compare with #1", "sha256:")) and line not in (PRIMARY, "Identity"):
            found.drift.append(Drift("page.primary", "new line", page.locator))
    return page if standing else _gone("standing", page, found)


def _lines(section: Tag) -> Iterator[str]:
    for tag in section.find_all(BLOCKS):
        figure = any(_is_figure(one) for one in (tag, *_children(tag)))
        if tag.find(BLOCKS) is None and _row(tag) is None and not figure and text_in(tag):
            yield text_in(tag)


def _row(tag: Tag) -> tuple[str, str] | None:
    """Return a list's row: one `div` that holds two plain `span`s and nothing else."""
    children = _children(tag)
    if tag.name != "div" or [child.name for child in children] != ["span", "span"] or _own_text(tag):
        return None
    return None if _children(children[0]) else (text_in(children[0]), _micro_of_figure(text_in(children[1])))


def _rows(section: Tag, path: str, page: Page, found: Findings) -> Rows:
    rows: list[tuple[str, str]] = []
    for tag in section.find_all("div"):
        if row := _row(tag):
            rows.append(row)
        elif _is_other_row(tag):
            found.drift.append(Drift(path, "row of another shape", page.locator))
    names = [key for key, _ in rows]
    found.drift += [Drift(f"{path}.{name}", "field twice", page.locator) for name in {*names} if names.count(name) > 1]
    return tuple(rows)


def _is_other_row(tag: Tag) -> bool:
    """Whether a `div` of spans alone is neither a row nor the figure nor the run's digest."""
    children = _children(tag)
    spans = bool(children) and all(child.name == "span" for child in children)
    return spans and children[0].find("span") is None and _DIGEST.fullmatch(text_in(tag)) is None


def _read_closing(manifest: Tag, page: Page, found: Findings) -> Page:
    """Read the closing line, the innermost element that begins with `Published`; the link after it is none of it."""
    lines = (_until_link(tag) for tag in manifest.find_all_next() if tag.name != "pre")
    matches = [match for line in lines if (match := _PUBLISHED.fullmatch(line))]
    if not matches:
        return _gone("published", page, found)
    match = min(matches, key=lambda one: len(one[0]))
    return replace(page, published=match[1], source=match[2].partition(" · ")[0])


def _until_link(tag: Tag) -> str:
    words: list[str] = []
    for one in tag.descendants:
        if isinstance(one, Tag) and one.name == "a" and text_in(one).startswith("All results"):
            break
        words += [one] if type(one) is NavigableString else []
    return " ".join("".join(words).split())


def _children(tag: Tag) -> list[Tag]:
    return [one for one in tag.children if isinstance(one, Tag)]


def _own_text(tag: Tag) -> str:
    """Return the text that stands in an element itself, not in those inside it."""
    return " ".join("".join(one for one in tag.children if type(one) is NavigableString).split())


def _micro(text: str) -> str:
    return text.replace("\u03bc", "\u00b5")


def _micro_of_figure(text: str) -> str:
    return _micro(text) if re.fullmatch(r"[0-9.]+ \u03bcs(?: .*)?", text) else text


def _gone(what: str, page: Page, found: Findings) -> Page:
    found.drift.append(Drift(f"page.{what}", "field gone", page.locator))
    return page
