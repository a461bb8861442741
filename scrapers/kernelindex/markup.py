"""Whether markup is whole: every tag that opens closes, in order, within bounds.

The index's pages are written by a program, so theirs are. A page that is not was cut short or changed on the way, and
parsers disagree on what stands where in such a one. It is found out here, in one pass, before a tree is built: what
comes through leaves a parser next to nothing to guess, and holds nothing that makes one slow.
"""

from __future__ import annotations

import re

MOST_BYTES = 2 * 1024 * 1024
MOST_TAGS = 20_000
MOST_DEPTH = 100

VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"))
RAW = frozenset(("script", "style", "title", "textarea"))
"""Elements whose content is text, whatever it looks like."""

FOREIGN = frozenset(("svg", "math"))
"""Elements inside which `<path/>` closes itself; anywhere else HTML ignores that slash."""

LAST = ["html", "body"]
"""What may stay open at the end (HTML, 13.1.2.4): nothing of the page can follow it."""

# Nothing is given back (`++`, `*+`), so no character is looked at twice.
_TAG = re.compile(
    r"""<(/?)([a-zA-Z][^\s/>\x00]*+)((?:\s++|/(?!>)|[^\s"'<>/=\x00]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'=<>`]++))?+)*+)(/?)>"""
)
_DOCTYPE = re.compile(r"<!doctype[^<>]*+>", re.IGNORECASE)


class BrokenMarkup(ValueError):
    """Markup that is not whole, or beyond the bounds. The message says what and in which line."""


def text_of(body: bytes) -> str:
    """Decode a page (UTF-8, with or without a mark). Raises `BrokenMarkup`."""
    if len(body) > MOST_BYTES:
        raise BrokenMarkup(f"{len(body):,} bytes: a run page has at most {MOST_BYTES:,}")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BrokenMarkup(f"not UTF-8: {error.reason} at byte {error.start}; save the page as UTF-8") from error
    if "\x00" in text:
        raise BrokenMarkup("a NUL character: damaged text")
    return text


def check_whole(text: str) -> None:
    """Raise `BrokenMarkup` unless every element that opens closes in its place."""
    open_tags: list[tuple[str, int]] = []
    at = tags = foreign = 0
    while (start := text.find("<", at)) >= 0:
        if text.startswith("<!", start) or text.startswith("<?", start):
            at = _after_declaration(text, start)
            continue
        tag = _TAG.match(text, start)
        if tag is None:
            raise BrokenMarkup(f"a `<` that is no whole tag in line {_line(text, start)}")
        tags += 1
        name, at = tag[2].lower(), tag.end()
        if tag[1]:
            _close(text, start, name, open_tags)
            foreign -= name in FOREIGN
        elif name not in VOID and not (tag[4] and foreign):
            open_tags.append((name, start))
            foreign += name in FOREIGN
            if name in RAW:
                at = _after_raw(text, name, at, plain=bool(foreign) or name in ("title", "textarea"))
        if tags > MOST_TAGS or len(open_tags) > MOST_DEPTH:
            raise BrokenMarkup(f"more than {MOST_TAGS:,} tags, or tags more than {MOST_DEPTH} deep")
    if left := [one for one in open_tags if one[0] not in LAST]:
        raise BrokenMarkup(f"<{left[-1][0]}> of line {_line(text, left[-1][1])} is not closed")


def _close(text: str, start: int, name: str, open_tags: list[tuple[str, int]]) -> None:
    if not open_tags or open_tags[-1][0] != name:
        last = f"<{open_tags[-1][0]}> of line {_line(text, open_tags[-1][1])} is open" if open_tags else "nothing is"
        raise BrokenMarkup(f"</{name}> in line {_line(text, start)} where {last}")
    open_tags.pop()


def _after_declaration(text: str, start: int) -> int:
    if text.startswith("<!--", start):
        # `<!-->`, `<!--->` and `--!>` end it for some parsers and not for others.
        end = text.find("-->", start + 4)
        if end < 0 or text.startswith((">", "->"), start + 4) or text.find("--!>", start, end) >= 0:
            raise BrokenMarkup(f"a comment that does not end in line {_line(text, start)}")
        return end + 3
    doctype = _DOCTYPE.match(text, start)
    if doctype is None or text[:start].strip():
        raise BrokenMarkup(f"{text[start : start + 12]!r} in line {_line(text, start)} is no HTML")
    return doctype.end()


def _after_raw(text: str, name: str, start: int, *, plain: bool) -> int:
    """Return where the end tag of an element begins whose content is text; `plain`: not for every parser."""
    end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(text, start)
    if end is None:
        raise BrokenMarkup(f"<{name}> of line {_line(text, start)} is not closed")
    if plain and "<" in text[start : end.start()]:
        raise BrokenMarkup(f"a tag inside <{name}> in line {_line(text, start)}")
    return end.start()


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
