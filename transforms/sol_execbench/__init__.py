"""SOL-ExecBench to KernelIndex manifests: pure, and one bad item never spoils another.

The mapping follows the public index's rules, so that digests are the same there and here.
"""

from __future__ import annotations

from scrapers.contract import Part, Reject
from scrapers.sol_execbench import Items
from transforms.bundle import Bundle
from transforms.sol_execbench.kernel import MappedKernel, map_kernel
from transforms.sol_execbench.submission import SubmissionMapper

__all__ = ["transform"]


def transform(part: Part, items: Items) -> Bundle:
    """Map one kernel's board to rows: its manifests, its runs, and every submission with its state."""
    bundle = Bundle(rejects=list(items.rejects), drift=list(items.drift))
    kernel: MappedKernel | None = None
    if items.kernel is not None:
        kernel = map_kernel(items.kernel, part.locator, bundle, with_suite=bool(items.submissions))
    mapper = SubmissionMapper(part.key, kernel, bundle)
    mapper.add(items.submissions)
    if mapper.waiting:
        reason = f"{mapper.waiting} results are kept without a run until the kernel's definition can be used"
        bundle.rejects.append(Reject(part.locator, part.key, reason))
    return bundle
