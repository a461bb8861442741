"""What the SOL-ExecBench API sends, as lenient models: unknown fields are kept and reported, numbers stay text.

The shapes follow the API's recorded answers. A number is kept as the source's own digits (`Digits`), so that no float
stands between the source and a unit conversion.
"""

from __future__ import annotations

import hashlib
import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

Digits = str
"""A JSON number as the source wrote it."""

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
NUMBER_STARTS = frozenset("-0123456789")


ABSENT = Raw()
"""A number that did not come; `Raw` holds a null as `null`."""


class Axis(Struct, frozen=True):
    """An axis of a kernel: `const` with a value, `expr` with an expression, or `var`."""

    type: str
    value: int | None = None
    expression: str | None = None


class Argument(Struct, frozen=True):
    """An input or output. A null or empty shape is a scalar; an entry is a size, its text, or an axis name."""

    dtype: str
    shape: list[int | str] | None = None


class Tolerance(Struct, frozen=True):
    """Published error bounds of one workload entry."""

    max_atol: Raw = ABSENT
    max_rtol: Raw = ABSENT


class Workload(Struct, frozen=True):
    """One entry of a kernel's workload list; `axes` keeps the source's order and spelling."""

    axes: dict[str, int]
    uuid: str | int | None = None
    inputs: Any = None
    tolerance: Raw = ABSENT
    baseline_latency_ms: Raw = ABSENT
    sol_ms: Raw = ABSENT


class Kernel(Struct, frozen=True):
    """A kernel's definition: the answer of `/kernels/{id}`."""

    id: int
    name: str
    axes: dict[str, Axis]
    inputs: dict[str, Argument]
    outputs: dict[str, Argument]
    workloads: list[Workload]
    title: Any = None
    description: str | None = None
    gpu_types: Any = None
    tags: list[Any] | None = None
    baseline: Any = None
    reference: str | None = None
    baseline_latency_ms: Raw = ABSENT
    latency_unit: str | None = None
    sol_is_dummy: bool | None = None
    hf_id: Any = None
    op_type: str | None = None
    submission_count: Any = None


class WireSubmission(Struct, frozen=True, forbid_unknown_fields=True):
    """A submission as it is sent. A field that did not come is `UNSET`, one that is null is None.

    Fields that nothing depends on are `Any`: another type in one of them must cost no submission.
    """

    id: int
    username: str
    kernel_id: int
    kernel_name: str
    status: str
    gpu_type: str
    type: Any = UNSET
    user_id: Any = UNSET
    kernel_title: Any = UNSET
    collection_id: Any = UNSET
    collection_submission_id: Any = UNSET
    collection_title: Any = UNSET
    submission_mode: Any = UNSET
    is_correct: bool | None | UnsetType = UNSET
    sol_score: Raw = ABSENT
    latency_ms: Raw = ABSENT
    benchmark_results: Any = UNSET
    fast_1_count: Raw = ABSENT
    fast_1_total: Raw = ABSENT
    avg_speedup: Raw = ABSENT
    worker_id: str | None | UnsetType = UNSET
    evaluation_stack_version: str | None | UnsetType = UNSET
    is_disqualified: bool | None | UnsetType = UNSET
    disqualification_reason: str | None | UnsetType = UNSET
    disqualification_source: Any = UNSET
    disqualified_at: Any = UNSET
    submitted_at: str | None | UnsetType = UNSET
    finished_at: str | None | UnsetType = UNSET
    error_log: Any = UNSET
    original_filename: Any = UNSET


class WireSubmissionMore(WireSubmission, frozen=True):
    """The same with the fields that only some answers carry, and with room for new ones."""

    result_available_at: Any = UNSET
    review_status: Any = UNSET
    review_comment: Any = UNSET
    review_reason: Any = UNSET
    reviewed_at: Any = UNSET
    reviewed_by: Any = UNSET
    profiling_status: Any = UNSET
    profiling_results: Any = UNSET


LONGEST_NUMBER = 400
_CANONICAL = re.compile(r"-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]{0,300}[1-9])?")
_EXACT = Context(prec=LONGEST_NUMBER, Emax=MAX_EMAX, Emin=MIN_EMIN)
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises: no JSON, another shape, damaged text, nesting without end."""

METRICS = ("latency_ms", "sol_score", "avg_speedup", "fast_1_count", "fast_1_total")


class Submission(Struct, frozen=True, gc=False):
    """A submission, read: metrics as digits (None when null or absent), the source's own text beside them.

    `state_digest` is over every known field but the username, numbers by value: it changes when the submission does.
    `body_digest` names the archived answer that the item was read from.
    """

    id: int
    username: str
    kernel_id: int
    kernel_name: str
    status: str
    gpu_type: str
    is_correct: bool | None
    is_disqualified: bool | None
    disqualification_reason: str | None
    latency_ms: Digits | None
    sol_score: Digits | None
    avg_speedup: Digits | None
    fast_1_count: Digits | None
    fast_1_total: Digits | None
    evaluation_stack_version: str | None
    worker_id: str | None
    submitted_at: str | None
    finished_at: str | None
    payload: str
    state_digest: str
    body_digest: str


USUAL_KERNEL_FIELDS = frozenset({
    "id", "name", "title", "description", "gpu_types", "tags", "axes", "inputs", "outputs",
    "baseline_latency_ms", "latency_unit", "sol_is_dummy", "workloads",
})  # fmt: skip
USUAL_WORKLOAD_FIELDS = frozenset({"axes", "baseline_latency_ms", "sol_ms"})
"""What the recorded answers always carry: when one is missing, the source has changed."""

FIELDS = frozenset(WireSubmissionMore.__struct_fields__)
ALWAYS_SENT = frozenset(WireSubmission.__struct_fields__)
METRIC_PLACES = {name: WireSubmission.__struct_fields__.index(name) for name in METRICS}
_USERNAME = WireSubmission.__struct_fields__.index("username")
_FIELDS = len(FIELDS)


def state_digest(values: tuple[Any, ...], metrics: dict[str, Digits | None]) -> str:
    """SHA-256 over the known fields but the username, in a fixed order, numbers by value; absent counts as null.

    `values` are a wire submission's fields in their order, `metrics` the digits of its metrics.
    """
    state = [None if value is UNSET else value for value in values]
    state += [None] * (_FIELDS - len(state))
    for name, place in METRIC_PLACES.items():
        text = metrics[name]
        state[place] = None if text is None else _by_value(text)
    del state[_USERNAME]
    return "sha256:" + hashlib.sha256(msgspec.json.encode(state)).hexdigest()


def _by_value(text: Digits) -> str:
    # 1.10 and 1.1 are one value, and so are 1e2 and 100; a huge exponent is never written out.
    if _CANONICAL.fullmatch(text) or len(text) > LONGEST_NUMBER:
        return text
    try:
        value = Decimal(text).normalize(_EXACT)
    except ArithmeticError:
        return text
    return format(value, "f") if abs(value.adjusted()) < LONGEST_NUMBER else str(value)
