"""docs/settings.md says what the code says: every setting, every fixed bound."""

from __future__ import annotations

import importlib
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic.fields import FieldInfo

from flows.settings import Settings
from flows.sync import limits

PAGE = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
UNITS = {
    "_s": "s", "_h": "h", "_days": "days", "_bytes": "bytes", "_mb": "MiB", "_per_s": "1/s", "max_expansion": "times",
}  # fmt: skip
BY_CODE = {"home": "the user's data directory"}
"""Defaults that depend on the machine, in words."""


def unit(name: str) -> str:
    return next((UNITS[end] for end in sorted(UNITS, key=len, reverse=True) if name.endswith(end)), "")


def default(name: str, field: FieldInfo) -> str:
    value = BY_CODE.get(name, field.default)
    if name in BY_CODE:
        return str(value)
    if value is None or value in ("", (), {}):
        return "none"
    return f"`{value:,}`" if isinstance(value, int) else f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def line(name: str, field: FieldInfo) -> str:
    return f"| `KIX_{name.upper()}` | {default(name, field)} | {unit(name)} | {field.description} |"


@pytest.mark.parametrize("name", Settings.model_fields)
def test_a_setting_is_documented_as_it_is(name: str) -> None:
    field = Settings.model_fields[name]
    assert field.description
    assert line(name, field) in PAGE.splitlines()


def test_no_other_setting_is_documented() -> None:
    named = re.findall(r"^\| `KIX_([A-Z_]+)` \|", PAGE, flags=re.MULTILINE)
    assert [name.lower() for name in named] == list(Settings.model_fields)


FIXED = re.findall(r"^\| `([a-z_.]+)\.([A-Z_]+)` \| ([0-9,.]+) ", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize(("module", "name", "value"), FIXED)
def test_a_fixed_bound_is_documented_as_it_is(module: str, name: str, value: str) -> None:
    bound: Any = getattr(importlib.import_module(module), name)
    figure = bound.total_seconds() if isinstance(bound, timedelta) else bound
    assert figure == float(value.replace(",", ""))


def test_the_bounds_of_the_sources_are_among_them() -> None:
    wanted = {"MOST_PASSES", "MOST_PAGES", "MOST_SITEMAPS", "REFUSAL_BYTES", "RESUME_WITHIN"}
    assert wanted <= {name for _, name, _ in FIXED}


def test_every_bound_of_the_client_comes_from_a_setting(tmp_path: Path) -> None:
    """Each field of `Limits` moves with a setting of its own."""
    numbers = (
        "max_body_bytes", "max_expansion", "max_redirects", "connect_timeout_s", "read_timeout_s", "answer_timeout_s",
        "attempts", "retry_timeout_s", "max_wait_s", "max_crawl_delay_s", "max_robots_bytes",
    )  # fmt: skip
    given = {name: 101 + place for place, name in enumerate(numbers)}
    set_so = limits(Settings(home=tmp_path, **given))
    assert sorted(getattr(set_so, name) for name in set_so.__dataclass_fields__) == sorted(given.values())
    usual = limits(Settings(home=tmp_path))
    assert usual == type(usual)()
