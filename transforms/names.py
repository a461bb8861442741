"""Names as the manifests want them, from the texts that sources send."""

from __future__ import annotations

import re

_OTHERS = re.compile(r"[^a-z0-9]+")
_NOT_TOKEN = re.compile(r"[^a-z0-9_]")


def kebab(text: str) -> str:
    """Lower case, every run of other than a-z and 0-9 one hyphen, none at the ends, then cut to 100 characters."""
    return _OTHERS.sub("-", text.lower()).strip("-")[:100]


def token(text: str) -> str:
    """Lower case, every character outside a-z, 0-9 and _ an underscore."""
    return _NOT_TOKEN.sub("_", text.lower())


def printable(text: str) -> str:
    """Replace what a terminal would obey: names and texts come from upstream. Line breaks and tabs become spaces."""
    return "".join(char if char.isprintable() else " " if char in "\n\r\t" else "\ufffd" for char in text)


def cut(text: str, most: int) -> str:
    """Shorten to `most` characters, the last of them `…`, if it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"
