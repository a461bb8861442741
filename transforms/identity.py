"""What makes an object the same object: canonical JSON (RFC 8785), digests, comparison keys.

The rules are those of the public manifest format `kernelindex.dev/v1alpha1`: an object is the SHA-256 of the
canonical bytes of `{apiVersion, kind, spec}`. Titles, labels and other metadata are never part of it.
"""

from __future__ import annotations

import hashlib
import marshal
import re
from collections.abc import Collection, Mapping
from typing import Final

import orjson
import rfc8785

API_VERSION: Final = "kernelindex.dev/v1alpha1"

# Whole numbers a double holds without a neighbour: RFC 8785 rests on I-JSON (RFC 7493), which stops here.
MAX_SAFE_INTEGER: Final = 2**53 - 1

_ORJSON_OPTIONS: Final = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)

# A number that orjson may write otherwise than ECMAScript does: 16 or more digits before the point (beyond the safe
# integers), a whole double ("2.0"), an exponent, or one small enough to want an exponent. `null` is in the list
# because orjson writes it for NaN and the infinities. `*+` and `++` give nothing back, so no text is read twice.
_UNSURE: Final = rb"[-0-9n](?:ull|\d{15}|\d*+(?:\.0[,\]}]|\.0000|(?:\.\d++)?[eE]))"

# One pattern a position rather than one with a choice in front: a literal start is found by memchr, a set of
# characters is tried byte by byte, which costs more than the serialisation itself.
_unsure_member: Final = re.compile(rb'":' + _UNSURE).search
_unsure_first: Final = re.compile(rb"\[" + _UNSURE).search
_unsure_next: Final = re.compile(rb"," + _UNSURE).search

_QUOTE: Final = ord('"')

# All bytes but those that start a character outside the basic plane. Without such a character, UTF-8 order, which is
# orjson's, is UTF-16 order, which is the RFC's.
_BASIC_PLANE: Final = bytes(range(0xF0))

_is_digest: Final = re.compile(r"sha256:[0-9a-f]{64}").fullmatch
_is_metric: Final = re.compile(r"none|[a-z][a-z0-9_]*(?::[a-z][a-z0-9_]*){2}").fullmatch


class IdentityError(ValueError):
    """A value that has no canonical form, or a digest that is none."""


def canonical_json(value: object) -> bytes:
    """Return the RFC 8785 (JCS) bytes of a JSON value: dicts, lists, tuples, texts, numbers, booleans, None.

    The bytes are those of `rfc8785`. Where orjson's are the same they come from there, checks included in a tenth of
    the time. Raises IdentityError for what JSON cannot say exactly: NaN and the infinities, whole numbers
    beyond ±(2^53-1), lone surrogates, keys that are no text, any other type, a value that contains itself.
    """
    try:
        text = orjson.dumps(value, option=_ORJSON_OPTIONS)
        # orjson writes enumerations, UUIDs and its own fragments unasked. marshal takes the built-in types only, and
        # no subclass of them, so it serves as a type check that runs in C.
        marshal.dumps(value)  # type: ignore[arg-type]  # what it does not take is the question
    except (TypeError, ValueError):
        return _reference_json(value)
    return _reference_json(value) if _is_unsure(text) else text


def canonical_json_of_plain(value: object) -> bytes:
    """The same for a value that is known to hold built-in types only, as a validated manifest does."""
    try:
        text = orjson.dumps(value, option=_ORJSON_OPTIONS)
    except (TypeError, ValueError):
        return _reference_json(value)
    return _reference_json(value) if _is_unsure(text) else text


def canonical_texts_of_plain(values: Collection[object]) -> list[bytes]:
    """The same for each of several values, which are looked through together."""
    try:
        texts = [orjson.dumps(value, None, _ORJSON_OPTIONS) for value in values]
    except (TypeError, ValueError):
        return [canonical_json_of_plain(value) for value in values]
    # A bare text has one form.
    others = b",".join([text for text in texts if text[0] != _QUOTE])
    return [canonical_json_of_plain(value) for value in values] if _is_unsure(b"[%b]" % others) else texts


def _is_unsure(text: bytes) -> bool:
    """Tell whether orjson's bytes may differ from the canonical ones; a look-alike inside a text only costs time."""
    if text[0] not in b'{["':
        return True  # a bare number has no separator in front for the patterns to find
    if not text.isascii() and text.translate(None, _BASIC_PLANE):
        return True
    if _unsure_member(text):
        return True
    return b"[" in text and bool(_unsure_first(text) or _unsure_next(text))


def _reference_json(value: object) -> bytes:
    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]  # it refuses other types itself
    except RecursionError:
        raise IdentityError("no canonical JSON: the value is nested too deeply, or contains itself") from None
    except ValueError as error:  # rfc8785's own, and UnicodeEncodeError for a lone surrogate in a key
        raise IdentityError(f"no canonical JSON: {str(error)[:200]}") from error


def sha256_digest(data: bytes) -> str:
    """Return `sha256:` and the 64 lowercase hex digits of the SHA-256 of `data`."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    """Tell whether `text` is `sha256:` and 64 lowercase hex digits, and nothing else."""
    return _is_digest(text) is not None


def spec_digest(kind: str, spec: Mapping[str, object]) -> str:
    """Return the digest of a manifest: of its kind and its spec in normalised form, without any metadata."""
    return sha256_digest(canonical_json({"apiVersion": API_VERSION, "kind": kind, "spec": dict(spec)}))


def correctness_digest(correctness: Mapping[str, object]) -> str:
    """Return the digest of a workload's `spec.correctness`, the `correctness` of a comparison key."""
    return sha256_digest(canonical_json({"correctness": dict(correctness)}))


def comparison_key(
    *, operation: str, workload: str, protocol: str, environment: str, correctness: str, metric: str
) -> str:
    """Return the key of the cohort inside which a run is comparable.

    The first five are digests: four of manifests, and `correctness_digest` of the workload. `metric` is
    `metric:statistic:unit` of the primary measurement, such as `latency:mean:ns`, or `none`. Raises IdentityError
    for anything else, since a key of a wrong part looks like any other.
    """
    digests = {
        "operation": operation,
        "workload": workload,
        "protocol": protocol,
        "environment": environment,
        "correctness": correctness,
    }
    for part, digest in digests.items():
        if not is_digest(digest):
            raise IdentityError(f"comparison key: {part} is {digest!r}, not sha256: and 64 lowercase hex digits")
    if not _is_metric(metric):
        raise IdentityError(f"comparison key: metric is {metric!r}, not `metric:statistic:unit` or `none`")
    return sha256_digest(canonical_json({"v": 1, **digests, "metric": metric}))
