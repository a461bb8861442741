"""What `--page` was given: saved files, addresses, ids, and lists of them."""

from __future__ import annotations

import re
from pathlib import Path

from flows.console import fail
from scrapers import saved
from scrapers.addresses import without_secrets
from scrapers.codes import Code

MOST_FILE_BYTES = 16 * 1024 * 1024
_ID = re.compile(r"[0-9a-f]{8}[0-9a-f-]*|sha256:[0-9a-f]{64}")


def pages_given(given: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Return the pages as a scope names them, each once, and the files behind the saved ones. Wrong usage ends here."""
    names: dict[str, None] = {}
    files: list[Path] = []
    for one in _with_lists(given):
        path = Path(one)
        if one.startswith(("https://", "http://")):
            names[_address(one)] = None
        elif _is_file(path):
            names[saved.address(path.name, _read(path))] = None
            files.append(path)
        elif _ID.fullmatch(one):
            names[one] = None
        else:
            fail(
                f"--page {one.rpartition('@')[2]!r} is no file, no https address of a run page and no run's id",
                Code.USAGE,
            )
    return tuple(names), tuple(files)


def _address(url: str) -> str:
    """Return a page's address as it may be kept: its query, which names nothing, stays out. Credentials end here."""
    shown = without_secrets(url)
    if "@" in url:
        fail(f"--page {shown}: credentials have no place in an address, and kix sends none", Code.USAGE)
    return shown


def _with_lists(given: tuple[str, ...]) -> list[str]:
    """Put the lines of a list (`.txt`) in its place; empty ones and those that begin with # are left out."""
    pages: list[str] = []
    for one in given:
        if one.endswith(".txt") and _is_file(Path(one)):
            lines = _read(Path(one)).decode("utf-8-sig", errors="replace").splitlines()
            pages += [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
        else:
            pages.append(one)
    return pages


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a text that cannot be a path is none
        return False


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MOST_FILE_BYTES:
            fail(f"--page {path}: {path.stat().st_size:,} bytes are no run page", Code.USAGE)
        return path.read_bytes()
    except OSError as error:
        fail(f"--page {path} cannot be read: {error.strerror}", Code.USAGE)
