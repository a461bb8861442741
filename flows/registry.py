"""The sources: one line each. A new source is a folder in `scrapers/`, a module in `transforms/`, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import transforms.kernelindex
import transforms.sol_execbench
from scrapers import kernelindex, sol_execbench
from scrapers.contract import Body, Part, ReadIndex, ReadPart, SourcePolicy
from transforms.bundle import Bundle


@dataclass(frozen=True, slots=True)
class Source:
    """How a source is read and mapped.

    `boards`: its parts are kernels' boards, which are listed, and skipped while they are unchanged. The parts of the
    others are single pages, which can be named (`--page`).
    """

    policy: SourcePolicy
    read_index: ReadIndex
    read_part: ReadPart
    parse: Callable[[Part, Body], Any]
    transform: Callable[[Part, Any], Bundle]
    boards: bool = True


SOURCES: dict[str, Source] = {
    source.policy.slug: source
    for source in (
        Source(
            sol_execbench.POLICY, sol_execbench.read_index, sol_execbench.read_part, sol_execbench.parse,
            transforms.sol_execbench.transform,
        ),
        Source(
            kernelindex.POLICY, kernelindex.read_index, kernelindex.read_part, kernelindex.parse,
            transforms.kernelindex.transform, boards=False,
        ),
    )
}  # fmt: skip
