"""The sources: one line each. A new source is a folder in `scrapers/`, a module in `transforms/`, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import transforms.sol_execbench
from scrapers import sol_execbench
from scrapers.contract import Body, Part, ReadIndex, ReadPart, SourcePolicy
from transforms.bundle import Bundle


@dataclass(frozen=True, slots=True)
class Source:
    """How a source is read and mapped."""

    policy: SourcePolicy
    read_index: ReadIndex
    read_part: ReadPart
    parse: Callable[[Part, Body], Any]
    transform: Callable[[Part, Any], Bundle]


SOURCES: dict[str, Source] = {
    source.policy.slug: source
    for source in (
        Source(
            sol_execbench.POLICY, sol_execbench.read_index, sol_execbench.read_part, sol_execbench.parse,
            transforms.sol_execbench.transform,
        ),
    )
}  # fmt: skip
