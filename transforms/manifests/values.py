"""What one field of a manifest may hold: the value types of `kernelindex.dev/v1alpha1`.

Everything is strict. Nothing is converted but the three conveniences the format itself names: an authored duration
becomes nanoseconds, a set-like list loses its repetitions and its order, an absent field stays absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Final, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from transforms.identity import MAX_SAFE_INTEGER
from transforms.units import UnitError, duration_ns

T = TypeVar("T")


class ManifestPart(BaseModel):
    """A closed object of a manifest: unknown fields are an error, `snake_case` here is `camelCase` in the JSON."""

    # Built when first used: most commands make no manifest, and none makes one of every kind.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, alias_generator=to_camel, defer_build=True)


class _NeverNull:
    """Takes null out of an optional field: the format leaves absent fields out, and so must what is read."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        nullable = handler(source)
        if nullable["type"] != "nullable":
            raise TypeError(f"{source} does not take None: there is nothing to take out")
        return cast(CoreSchema, nullable["schema"])


@dataclass(frozen=True, slots=True)
class _Either:
    """Gives a union one message, `rule`, instead of one for every choice that does not fit."""

    rule: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        union = handler(source)
        if union["type"] != "union":
            raise TypeError(f"{source} is no union: there is nothing to give one message to")
        return core_schema.union_schema(
            union["choices"], mode="left_to_right", custom_error_type="either", custom_error_message=self.rule
        )


class _FloatOnly:
    """Keeps whole numbers out of a float: pydantic's strict float takes and rounds those an integer rule refused."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.chain_schema([core_schema.is_instance_schema(float), handler(source)])

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(cast(core_schema.ChainSchema, schema)["steps"][1])


def _real_date(instant: str) -> str:
    """Refuse a day the calendar does not have; the pattern has seen to the rest."""
    try:
        date.fromisoformat(instant[:10])
    except ValueError as error:
        raise PydanticCustomError("instant", "{reason}", {"reason": str(error)}) from error
    return instant


def _nanoseconds(value: object) -> object:
    """Convert an authored duration; whatever else stands there is for the integer's own rules."""
    if not isinstance(value, str):
        return value
    try:
        return duration_ns(value)
    except UnitError as error:
        raise PydanticCustomError("duration", "{reason}", {"reason": str(error)}) from error


def _upwards(interval: list[int]) -> list[int]:
    if interval[0] > interval[1]:
        raise PydanticCustomError("interval", "an interval is [low, high]")
    return interval


def _as_set(items: list[str]) -> list[str]:
    return sorted(set(items))  # Python orders texts by code point, as the format does


# Patterns end in `$`, which is the very end of the text both to pydantic's engine and in JSON Schema (ECMA 262). To
# Python's own `re`, which also lets it stand before a final newline, these patterns are never given.
_WORD_PATTERN: Final = r"^[a-z][a-z0-9_]*$"
_INSTANT_PATTERN: Final = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?Z$"
)

Maybe = Annotated[T | None, _NeverNull()]  # a field that may be absent, which in Python reads as None

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Token = Annotated[str, Field(pattern=_WORD_PATTERN)]
AxisName = Annotated[str, Field(pattern=_WORD_PATTERN)]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=200)]
Url = Annotated[str, Field(pattern=r"^https://[^\s\x00-\x1f\x7f/?#]+[^\s\x00-\x1f\x7f]*$", max_length=2000)]
Instant = Annotated[
    str, Field(pattern=_INSTANT_PATTERN, json_schema_extra={"format": "date-time"}), AfterValidator(_real_date)
]

# The limit that is none makes pydantic look into the text, where it finds lone surrogates, which UTF-8 cannot hold.
Text = Annotated[str, Field(min_length=0)]
Text100 = Annotated[str, Field(max_length=100)]
Text200 = Annotated[str, Field(max_length=200)]
Text500 = Annotated[str, Field(max_length=500)]
Text2000 = Annotated[str, Field(max_length=2000)]

# RFC 8785 has no form for a whole number beyond these, so no manifest can carry one.
Integer = Annotated[int, Field(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
Count = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER)]
Positive = Annotated[int, Field(ge=1, le=MAX_SAFE_INTEGER)]

Number = Annotated[
    Integer | Annotated[float, Field(allow_inf_nan=False), _FloatOnly()],
    _Either("a finite number, whole ones within ±(2^53-1)"),
]
Magnitude = Annotated[
    Count | Annotated[float, Field(ge=0, allow_inf_nan=False), _FloatOnly()],
    _Either("a finite number, 0 or more, whole ones below 2^53"),
]
PositiveNumber = Annotated[
    Positive | Annotated[float, Field(gt=0, allow_inf_nan=False), _FloatOnly()],
    _Either("a finite number above 0, whole ones below 2^53"),
]
Ratio = Annotated[
    Annotated[int, Field(ge=0, le=1)] | Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), _FloatOnly()],
    _Either("a number from 0 to 1"),
]
Dimension = Annotated[Count | AxisName, _Either("a whole number, 0 or more, or an axis name")]
Authored = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]*)(\.[0-9]+)? ?(ns|[u\u00b5\u03bc]s|ms|s)$")]
Duration = Annotated[Count, BeforeValidator(_nanoseconds, json_schema_input_type=Count | Authored)]
Interval = Annotated[list[Duration], Field(min_length=2, max_length=2), AfterValidator(_upwards)]

SetOfTokens = Annotated[list[Token], AfterValidator(_as_set)]
SetOfTexts = Annotated[list[Text], AfterValidator(_as_set)]
