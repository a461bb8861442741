"""The sources: one line each. A new source is a folder in `scrapers/`, a module in `transforms/`, and a line here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from scrapers import kernelindex, sol_execbench
from scrapers.contract import Body, Part, ReadIndex, ReadPart, SourcePolicy
from transforms.bundle import Bundle


@dataclass(frozen=True, slots=True)
class Source:
    """How a source is read and mapped: `parser` and `mapping` are modules with a function `parse` and `transform`,
    imported when there is something to map.

    `boards`: its parts are kernels' boards, which are listed, and skipped while they are unchanged. The parts of the
    others are single pages, which can be named (`--page`).

    `schedule` (cron, UTC) is when `kix serve` reads it once it is enabled; it is stale when its last whole sync is more
    than `stale_after_h` hours ago. Settings can say otherwise.
    """

    policy: SourcePolicy
    read_index: ReadIndex
    read_part: ReadPart
    parser: str
    mapping: str
    schedule: str
    stale_after_h: float
    boards: bool = True

    def parse(self, part: Part, body: Body) -> Any:
        """Read a part's bodies into items."""
        return import_module(self.parser).parse(part, body)

    def transform(self, part: Part, items: Any) -> Bundle:
        """Map a part's items to rows."""
        bundle: Bundle = import_module(self.mapping).transform(part, items)
        return bundle


SOURCES: dict[str, Source] = {
    source.policy.slug: source
    for source in (
        Source(
            sol_execbench.POLICY, sol_execbench.read_index, sol_execbench.read_part,
            "scrapers.sol_execbench.parse", "transforms.sol_execbench", schedule="17 3 * * *", stale_after_h=36,
        ),
        Source(
            kernelindex.POLICY, kernelindex.read_index, kernelindex.read_part,
            "scrapers.kernelindex.parse", "transforms.kernelindex", schedule="43 4 * * 0", stale_after_h=8 * 24,
            boards=False,
        ),
    )
}  # fmt: skip
