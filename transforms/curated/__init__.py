"""Curated facts, as data with a reason and a review date."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def curated(name: str) -> dict[str, Any]:
    """Return the facts of `NAME.toml`, without its review date."""
    facts = tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    return {key: value for key, value in facts.items() if key != "reviewed"}
