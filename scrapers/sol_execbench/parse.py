"""From archived answers of the SOL-ExecBench API to typed items. One bad item never spoils another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from scrapers.contract import Body, Drift, Findings, Part, Reject
from scrapers.errors import GiveUp, RejectItem
from scrapers.sol_execbench.client import answer_data
from scrapers.sol_execbench.items import (
    ABSENT,
    ALWAYS_SENT,
    FIELDS,
    METRIC_PLACES,
    NUMBER,
    NUMBER_STARTS,
    UNREADABLE,
    USUAL_KERNEL_FIELDS,
    USUAL_WORKLOAD_FIELDS,
    Argument,
    Axis,
    Digits,
    Kernel,
    Submission,
    Tolerance,
    WireSubmission,
    WireSubmissionMore,
    Workload,
    state_digest,
)


class _Page(msgspec.Struct, frozen=True):
    submissions: list[Raw]


class _LooseSubmission(WireSubmissionMore, frozen=True, forbid_unknown_fields=False):
    """Takes any further field, which is then reported."""


_PAGE = msgspec.json.Decoder(_Page)
_KERNEL = msgspec.json.Decoder(Kernel)
_USUAL = msgspec.json.Decoder(WireSubmission)
_MORE = msgspec.json.Decoder(WireSubmissionMore)
_LOOSE = msgspec.json.Decoder(_LooseSubmission)
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_MAP = msgspec.json.Decoder(dict[str, dict[str, Raw]])
_OBJECTS = msgspec.json.Decoder(list[dict[str, Raw]])

_USUALLY = len(WireSubmission.__struct_fields__)
KERNEL_FIELDS = frozenset(Kernel.__struct_fields__)
ARGUMENT_FIELDS = frozenset(Argument.__struct_fields__)
WORKLOAD_FIELDS = frozenset(Workload.__struct_fields__)


@dataclass(frozen=True, slots=True)
class Items:
    """One kernel's board, read: its definition (None when it could not be), its submissions, and what did not fit."""

    kernel: Kernel | None
    submissions: tuple[Submission, ...]
    rejects: tuple[Reject, ...]
    drift: tuple[Drift, ...]


def parse(part: Part, body: Body) -> Items:
    """Read a part's bodies from the archive into items."""
    found = Findings()
    kernel = _parse_kernel(part, body, found) if part.definition else None
    submissions: dict[int, Submission] = {}
    for digest in part.pages:
        for place, raw in enumerate(_PAGE.decode(_data(part, body(digest))).submissions):
            try:
                one = _parse_submission(raw, digest, part, found)
            except RejectItem as error:
                found.rejects.append(Reject(f"{error.locator} at {digest}[{place}]", _text(raw), error.reason))
            else:
                # Pages are read in order and later passes come later: the last word on an id counts.
                submissions[one.id] = one
    return Items(kernel, tuple(submissions.values()), tuple(found.rejects), tuple(found.drift))


def _data(part: Part, body: bytes) -> Raw:
    # The type and shape were checked when it was fetched.
    return answer_data(part.locator, "application/json", body)


def _text(raw: Raw) -> str:
    return bytes(raw).decode("utf-8", errors="backslashreplace")


def _parse_kernel(part: Part, body: Body, found: Findings) -> Kernel | None:
    data = _data(part, body(part.definition or ""))
    try:
        bytes(data).decode()  # damaged text anywhere is an error, also where it is skipped over
        kernel = _KERNEL.decode(data)
        _check_kernel(kernel, part)
    except (*UNREADABLE, GiveUp) as error:
        found.rejects.append(Reject(part.locator, _text(data), f"not a kernel's definition: {error}"))
        return None
    found.drift += _kernel_drift(_OBJECT.decode(data), part.locator)
    return kernel


def _kernel_drift(fields: dict[str, Raw], locator: str) -> list[Drift]:
    entries = _OBJECTS.decode(fields["workloads"])
    tolerances = [_OBJECT.decode(one["tolerance"]) for one in entries if bytes(one.get("tolerance", b""))[:1] == b"{"]
    known: list[tuple[str, Iterable[Iterable[str]], frozenset[str], frozenset[str]]] = [
        ("kernel", [fields], KERNEL_FIELDS, USUAL_KERNEL_FIELDS),
        ("kernel.workloads[]", entries, WORKLOAD_FIELDS, USUAL_WORKLOAD_FIELDS),
        ("kernel.workloads[].tolerance", tolerances, frozenset(Tolerance.__struct_fields__), frozenset()),
        ("kernel.axes{}", _MAP.decode(fields["axes"]).values(), frozenset(Axis.__struct_fields__), frozenset()),
        ("kernel.inputs{}", _MAP.decode(fields["inputs"]).values(), ARGUMENT_FIELDS, frozenset()),
        ("kernel.outputs{}", _MAP.decode(fields["outputs"]).values(), ARGUMENT_FIELDS, frozenset()),
    ]
    drift: list[Drift] = []
    for path, items, expected, usual in known:
        for item in items:
            names = set(item)
            drift += _new_fields(path, names - expected, locator)
            drift += [Drift(f"{path}.{name}", "field gone", locator) for name in sorted(usual - names)]
    return drift


def _check_kernel(kernel: Kernel, part: Part) -> None:
    if (str(kernel.id), kernel.name) != (part.upstream_id, part.key):
        raise GiveUp(part.locator, f"the list says {part.upstream_id} {part.key}, the detail {kernel.id} {kernel.name}")
    if kernel.latency_unit not in (None, "ms"):
        raise GiveUp(part.locator, f"latency_unit is {kernel.latency_unit!r}; only ms is known")


def _new_fields(path: str, names: set[str], locator: str) -> list[Drift]:
    return [Drift(f"{path}.{name}", "new field", locator) for name in sorted(names)]


def _parse_submission(raw: Raw, body_digest: str, part: Part, found: Findings) -> Submission:
    wire = _decode(raw, found)
    locator = f"submission/{wire.id}"
    try:
        text = bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise RejectItem(locator, f"not UTF-8: {error}") from error
    if str(wire.kernel_id) != part.upstream_id:
        raise RejectItem(locator, f"kernel_id {wire.kernel_id} in the listing of kernel {part.upstream_id}")
    if not (wire.username.strip() and wire.kernel_name and wire.status and wire.gpu_type.strip()):
        raise RejectItem(locator, "username, kernel_name, status or gpu_type is empty")
    values = msgspec.structs.astuple(wire)
    if _is_damaged(text, values):
        raise RejectItem(locator, "a replacement character (U+FFFD): its text was damaged before it was sent")
    if UNSET in values[:_USUALLY] or ABSENT in values[:_USUALLY]:
        gone = [name for name in ALWAYS_SENT if getattr(wire, name) is UNSET or getattr(wire, name) == ABSENT]
        found.drift += [Drift(f"submissions[].{name}", "field gone", locator) for name in sorted(gone)]
    digits = {name: _digits(values[place], name, locator, found) for name, place in METRIC_PLACES.items()}
    return Submission(
        id=wire.id,
        username=wire.username,
        kernel_id=wire.kernel_id,
        kernel_name=wire.kernel_name,
        status=wire.status,
        gpu_type=wire.gpu_type,
        is_correct=_given(wire.is_correct),
        is_disqualified=_given(wire.is_disqualified),
        disqualification_reason=_given(wire.disqualification_reason),
        evaluation_stack_version=_given(wire.evaluation_stack_version),
        worker_id=_given(wire.worker_id),
        submitted_at=_given(wire.submitted_at),
        finished_at=_given(wire.finished_at),
        payload=text,
        state_digest=state_digest(values, digits),
        body_digest=body_digest,
        **digits,
    )


def _decode(raw: Raw, found: Findings) -> WireSubmission:
    for decoder in (_USUAL, _MORE):
        try:
            return decoder.decode(raw)
        except UNREADABLE:
            continue
    try:
        fields = _OBJECT.decode(raw)
    except UNREADABLE as error:
        raise RejectItem("submission", f"not a submission: {error}") from error
    locator = f"submission/{_text(fields.get('id', Raw(b'?')))}"
    found.drift += _new_fields("submissions[]", set(fields) - FIELDS, locator)
    try:
        return _LOOSE.decode(raw)
    except UNREADABLE as error:
        raise RejectItem(locator, f"not a submission: {error}") from error


def _is_damaged(text: str, values: tuple[Any, ...]) -> bool:
    if "\\u" not in text:  # nothing is escaped: what the values hold is in the text
        return "\ufffd" in text
    return "\ufffd" in text or any("\ufffd" in value for value in values if isinstance(value, str))


def _digits(raw: Raw, name: str, locator: str, found: Findings) -> Digits | None:
    text = str(raw, "utf-8")
    if text[:1] in NUMBER_STARTS:  # the decoder has seen to it that it goes on as a number
        return text
    if text in ("", "null"):
        return None
    if text.startswith('"'):
        found.drift.append(Drift(f"submissions[].{name}", "number sent as text", locator))
        text = text[1:-1]
    if NUMBER.fullmatch(text) is None:
        raise RejectItem(locator, f"{name} is {text[:60]!r}, which is not a number")
    return text


def _given(value: Any) -> Any:
    return None if value is UNSET else value
