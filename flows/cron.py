"""Cron expressions as kix takes them: five fields of figures, in UTC; or `off`."""

from __future__ import annotations

import re

OFF = "off"
FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of the month", 1, 31), ("month", 1, 12), ("day of the week", 0, 7))
_PART = re.compile(r"(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?")


def check_cron(text: str) -> str:
    """Return the expression with single spaces. Raises `ValueError` that names the field at fault.

    A part of a field is `*`, `5` or `1-5`, each with `/2` for every second one; parts are joined by commas.
    """
    if text.strip().lower() == OFF:
        return OFF
    fields = text.split()
    if len(fields) != len(FIELDS):
        raise ValueError(f"{text!r} has {len(fields)} fields; cron has five, such as `17 3 * * *`, or say `off`")
    for field, (name, least, most) in zip(fields, FIELDS, strict=True):
        for part in field.split(","):
            _check_part(part, name, least, most)
    return " ".join(fields)


def _check_part(part: str, name: str, least: int, most: int) -> None:
    found = _PART.fullmatch(part)
    if found is None:
        raise ValueError(f"{name} {part!r} is no cron: figures, `*`, `1-5` and `*/2` are known, joined by commas")
    first, last, step = (None if one is None else int(one) for one in found.groups())
    given = [one for one in (first, last) if one is not None]
    if any(not least <= one <= most for one in given):
        raise ValueError(f"{name} {part!r} is not within {least} to {most}")
    if first is not None and last is not None and last < first:
        raise ValueError(f"{name} {part!r} ends before it begins")
    if step is not None and (step == 0 or (first is not None and last is None)):
        raise ValueError(f"{name} {part!r}: a step goes with `*` or a range, and is at least 1")
