"""The only place where a unit changes, in decimal arithmetic on the digits the source sent.

Nothing here goes through binary floating point on the way in: `int(0.001163104 * 1e9)` and its like are one unit low
for about one value in a hundred. Display is the other way round: it rounds the double that is shown, as a browser does.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, DivisionByZero, InvalidOperation
from typing import Final

from transforms.identity import MAX_SAFE_INTEGER

# What a number may cost. A double needs 17 digits, its exact decimal expansion at most 767, and exponents end at 308;
# a longer text or a larger exponent only serves to make arithmetic slow.
_MAX_CHARACTERS: Final = 400
_MAX_EXPONENT: Final = 999

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE]([+-]?[0-9]+))?")
_SHORT: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?")
_DURATION: Final = re.compile(r"((?:0|[1-9][0-9]*)(?:\.[0-9]+)?) ?(ns|[u\u00b5\u03bc]s|ms|s)")
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?"
    r"(Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?"
)

# Powers of ten from each unit to nanoseconds. Keyboards write µ as U+00B5, the micro sign, or U+03BC, the Greek letter.
_NS_POWER: Final = {"ns": 0, "us": 3, "\u00b5s": 3, "\u03bcs": 3, "ms": 6, "s": 9}
_SHOWN_FROM: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "\u00b5s"))

# Wide enough that no number this module lets in is ever rounded but where a function says so, and independent of
# whatever context the calling thread has set.
_EXACT: Final = Context(prec=3000, rounding=ROUND_HALF_UP, traps=[InvalidOperation, DivisionByZero])
_ONE: Final = Decimal(1)


class UnitError(ValueError):
    """A number, duration or time that is not written as it must be, or not what it can be."""


def plain_number(text: str) -> Decimal:
    """Return the exact value of a text that has the shape of a JSON number (RFC 8259, section 6).

    No digit is rounded away. Raises UnitError for any other shape (spaces, `+1`, `01`, `.5`, `NaN`, digits of other
    scripts), for a number beyond every double (`1e400`), for more than 400 characters and for exponents beyond ±999.
    """
    if _SHORT.fullmatch(text):  # nearly every number; none of the bounds below is near
        return Decimal(text)
    if len(text) > _MAX_CHARACTERS:
        raise UnitError(f"number of {len(text)} characters, {text[:20]!r}…: at most {_MAX_CHARACTERS} are read")
    shape = _NUMBER.fullmatch(text)
    if shape is None:
        raise UnitError(f"{text!r} is no plain number: write it as JSON does, such as 0.018580 or 1.2e-05")
    if shape[1] and abs(int(shape[1])) > _MAX_EXPONENT:
        raise UnitError(f"{text!r}: an exponent beyond {_MAX_EXPONENT} is not read")
    if math.isinf(float(text)):
        raise UnitError(f"{text!r} is beyond the range of a double")
    return Decimal(text)


def json_number(text: str) -> int | float:
    """Return the value a JSON number has in canonical JSON: an int where it is whole and safe, else the nearest double.

    Safe is within ±(2^53-1). Whole digits beyond that must be a double's own, exact or as canonical JSON writes it
    (`10000000000000000` is 1e16). Raises UnitError for the others, and as `plain_number` does.
    """
    if len(text) < 16 and text.isdigit() and text.isascii() and (text[0] != "0" or len(text) == 1):
        return int(text)
    if short := _SHORT.fullmatch(text):
        # Nearly every number: no digit of it is beyond what a double tells apart, so the rule below is this much.
        double = float(text)
        return int(double) if short[1] is None or double.is_integer() else double
    number, double = plain_number(text), float(text)
    # No `abs`: it rounds to whatever precision the calling thread has set.
    if -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER and number == number.quantize(_ONE, context=_EXACT):
        return int(number)
    if text.removeprefix("-").isdigit() and number not in (int(double), Decimal(repr(double))):
        raise UnitError(f"{text}: no double holds this whole number, so JSON readers would change it")
    return double


def ms_to_ns(text: str) -> int:
    """Convert a positive latency from milliseconds, as the source wrote it, to whole nanoseconds, half up.

    Raises UnitError for what is no plain number, for zero and less, and for a latency so short that no whole
    nanosecond is left of it.
    """
    milliseconds = plain_number(text)
    if milliseconds <= 0:
        raise UnitError(f"latency of {text} ms: a latency is above 0")
    nanoseconds = int(milliseconds.scaleb(6, _EXACT).quantize(_ONE, context=_EXACT))
    if nanoseconds == 0:
        raise UnitError(f"latency of {text} ms: less than half a nanosecond, nothing is left of it in whole ones")
    return nanoseconds


def ms_to_ns_real(text: str) -> float:
    """Convert a bound, 0 or more, from milliseconds to the double nearest to it in nanoseconds.

    For figures that are computed rather than measured: sources publish them in fractions of a nanosecond. Raises
    UnitError for what is no plain number, for a negative one and for one beyond the range of a double.
    """
    milliseconds = plain_number(text)
    nanoseconds = float(milliseconds.scaleb(6, _EXACT))
    if milliseconds < 0 or math.isinf(nanoseconds):
        raise UnitError(f"bound of {text} ms: a bound is 0 or more and finite")
    return nanoseconds


def duration_ns(value: int | str) -> int:
    """Return a duration of the manifest format in nanoseconds.

    `value` is a count of nanoseconds, 0 or more, or an authored text: a decimal and one of ns, us, µs, ms, s, such
    as `0.008 ms`. Raises UnitError for anything else and for a text that is no whole number of nanoseconds.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise UnitError(f"duration of {value} ns: a duration is 0 or more")
        return value
    written = _DURATION.fullmatch(value) if isinstance(value, str) and len(value) <= _MAX_CHARACTERS else None
    if written is None:
        raise UnitError(f"{_cut(value)} is no duration: write whole nanoseconds, or a text such as 0.008 ms")
    nanoseconds = Decimal(written[1]).scaleb(_NS_POWER[written[2]], _EXACT)
    whole = nanoseconds.quantize(_ONE, context=_EXACT)
    if whole != nanoseconds:
        raise UnitError(f"duration of {value}: not a whole number of nanoseconds")
    return int(whole)


def format_latency(ns: int | float | Decimal) -> str:
    """Show a latency of `ns` nanoseconds the way the public index does: `850 ns`, `18.6 µs`, `1.16 ms`, `2.50 s`.

    The unit is chosen before rounding, so 999,999 ns are `1000.0 µs`. Two decimals below 10, else one; nanoseconds
    are whole. Raises UnitError for a negative value, and for NaN and the infinities.
    """
    try:
        value = float(ns)
    except OverflowError:
        value = math.inf
    if not 0 <= value < math.inf:
        raise UnitError(f"latency of {_cut(ns)} ns: cannot be shown, a latency is 0 or more and finite")
    for size, unit in _SHOWN_FROM:
        if value >= size:
            scaled = value / size
            return f"{_fixed(scaled, 2 if scaled < 10 else 1)} {unit}"
    return f"{_fixed(value, 0)} ns"


def format_value(value: float, unit: str) -> str:
    """Show a measured figure with its unit: a time of 0 or more as `format_latency` does, anything else as stated."""
    if unit in _NS_POWER and 0 <= value < math.inf:
        return format_latency(Decimal(repr(float(value))).scaleb(_NS_POWER[unit], _EXACT))
    return f"{_plain(value)} {unit}"


def format_score(value: float, decimals: int) -> str:
    """Show a score with a fixed number of decimals, 0 to 100, the double rounded to nearest.

    An exact tie goes up (away from zero below it), as in ECMAScript's `toFixed`: 0.125 is `0.13`, and 20.455, whose
    double is a little less than that, is `20.45`. Raises UnitError for NaN and the infinities.
    """
    if not 0 <= decimals <= 100:
        raise UnitError(f"{decimals} decimals: 0 to 100 can be shown")
    if not math.isfinite(value):
        raise UnitError(f"score of {value}: cannot be shown, a score is finite")
    return _fixed(value, decimals)


def parse_instant(text: str) -> datetime:
    """Read an upstream time: ISO 8601 date and time, `T` or a space between, 0 to 9 fraction digits, optional zone.

    The zone is `Z` or ±hh:mm; without one the time is UTC. Returns an aware datetime in UTC, cut, not rounded, to
    microseconds. Raises UnitError naming the text for anything else, a date that does not exist included.
    """
    shape = _INSTANT.fullmatch(text) if len(text) <= 40 else None
    if shape is None:
        raise UnitError(f"{_cut(text)} is no time: write it as 2026-05-21T22:05:09.698Z")
    try:
        return _in_utc(datetime.fromisoformat(text if shape[1] else text + "Z"))
    except (ValueError, OverflowError) as error:
        raise UnitError(f"{text!r} is no time: {error}") from error


def format_instant_ms(moment: datetime) -> str:
    """Write an aware datetime as an instant of the manifest format: UTC, cut to milliseconds, `Z` at the end."""
    if moment.tzinfo is None:
        raise UnitError(f"{moment.isoformat()} has no zone: give it one before it is written")
    return _in_utc(moment).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def _fixed(value: float, decimals: int) -> str:
    """Round the exact value of a double half up in its magnitude; adding 0.0 takes the sign off a negative zero."""
    return f"{Decimal(value + 0.0).quantize(_ONE.scaleb(-decimals), context=_EXACT):f}"


def _plain(value: float) -> str:
    whole = float(value).is_integer() and abs(value) <= MAX_SAFE_INTEGER
    return str(int(value)) if whole else repr(float(value))


def _cut(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:79] + "…"
