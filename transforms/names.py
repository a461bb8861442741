"""Names as the manifests want them, from the texts that sources send."""

from __future__ import annotations

import json
import re
import unicodedata

from transforms.curated import curated

_OTHERS = re.compile(r"[^a-z0-9]+")
_NOT_TOKEN = re.compile(r"[^a-z0-9_]")
_NUMBER = re.compile(r"[0-9]+_+(?=[^_])")
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0d\U000e0100-\U000e01ef]")
"""Characters that Unicode counts as printable and that show nothing: joiners, fillers, selectors of variants. The two
selectors that come with emoji stay."""
_BETWEEN_WORDS = re.compile(r"[_\s]+")


def kebab(text: str) -> str:
    """Lower case, every run of other than a-z and 0-9 one hyphen, none at the ends, then cut to 100 characters."""
    return _OTHERS.sub("-", text.lower()).strip("-")[:100]


def token(text: str) -> str:
    """Lower case, every character outside a-z, 0-9 and _ an underscore."""
    return _NOT_TOKEN.sub("_", text.lower())


def printable(text: str) -> str:
    """Replace what a terminal would obey and what nobody would see (controls, bidirectional overrides, zero widths):
    names and texts come from upstream. Line breaks, tabs and all kinds of spaces become plain spaces."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_shown(char) else " " if _is_white(char) else "\ufffd" for char in text)


def _is_shown(char: str) -> bool:
    return char.isprintable() and not _UNSEEN.match(char)


def _is_white(char: str) -> bool:
    return char in "\n\r\t" or unicodedata.category(char) == "Zs"


def cut(text: str, most: int) -> str:
    """Shorten to `most` characters, the last of them `…`, if it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def printable_json(text: str) -> str:
    """Escape what a terminal would obey in a JSON text, as `\\u009b`: it stays the same JSON. Line breaks between
    values stay too."""
    if text.isascii() and "\x7f" not in text:  # JSON escapes the other control characters among them itself
        return text
    return escaped(text)


def escaped(text: str) -> str:
    """Write what a terminal would obey, and what nobody would see, as JSON escapes, such as `\\u001b`. Line breaks
    stay."""
    return "".join(char if _is_shown(char) or char == "\n" else json.dumps(char)[1:-1] for char in text)


def operation_title(kernel_name: str) -> str:
    """Return how a kernel is called in a title: `062_kv_cache_update` is `KV cache update`.

    Without its number, underscores as spaces, the first letter a capital, known terms in their usual spelling
    (`curated/terms.toml`); as the public index shows it. Never empty.
    """
    spelling: dict[str, str] = curated("terms")["spelling"]
    words = [word for word in _BETWEEN_WORDS.split(_without_number(kernel_name)) if word]
    title = " ".join(spelling.get(word.lower(), word) for word in words)
    return title[:1].upper() + title[1:] if title else "Unnamed"


def _without_number(kernel_name: str) -> str:
    number = _NUMBER.match(kernel_name)
    return kernel_name[number.end() :] if number else kernel_name
