"""Units against exact fractions, and display against the published run pages."""

from __future__ import annotations

import decimal
import math
import time
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transforms.units import (
    UnitError,
    duration_ns,
    format_instant_ms,
    format_latency,
    format_score,
    format_value,
    json_number,
    ms_to_ns,
    ms_to_ns_real,
    parse_instant,
    plain_number,
)

WHOLE = st.just("0") | st.integers(1, 10**15).map(str)
FRACTION = st.just("") | st.text("0123456789", min_size=1, max_size=30).map(lambda digits: f".{digits}")
EXPONENT = st.just("") | st.builds(
    "{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 30)
)
UNSIGNED = st.builds("{}{}{}".format, WHOLE, FRACTION, EXPONENT)
NUMBERS = st.builds("{}{}".format, st.sampled_from(["", "-"]), UNSIGNED)

NOT_PLAIN = [
    "",
    " ",
    "1 ",
    " 1",
    "1\n",
    "+1",
    "--1",
    "01",
    "-01",
    ".5",
    "5.",
    "1e",
    "1e+",
    "e5",
    "1.e5",
    "1e1.5",
    "1_000",
    "1,5",
    "1,000",
    "0x10",
    "1/2",
    "NaN",
    "nan",
    "Infinity",
    "-inf",
    "null",
    "true",
    "\u0661",  # the Arabic digit one
    "\uff11",  # the full-width digit one
    "1\u00a0",  # a non-breaking space behind
    "\u22121",  # a minus sign that is no hyphen
]


def half_up(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


@settings(deadline=None)
@given(NUMBERS)
def test_plain_numbers_keep_every_digit(text: str) -> None:
    assert Fraction(plain_number(text)) == Fraction(text)


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_other_shapes_are_no_plain_numbers(text: str) -> None:
    for read in (plain_number, json_number, ms_to_ns, ms_to_ns_real):
        with pytest.raises(UnitError, match="no plain number"):
            read(text)


@pytest.mark.parametrize("text", ["1e400", "-1e400", "2e308", "1" + "0" * 309])
def test_numbers_beyond_a_double_are_refused(text: str) -> None:
    with pytest.raises(UnitError, match="range of a double"):
        plain_number(text)


def test_the_largest_and_the_smallest_double_are_plain_numbers() -> None:
    assert plain_number("1.7976931348623157e308") == Decimal("1.7976931348623157e308")
    assert plain_number("5e-324") == Decimal("5e-324")
    assert plain_number("1e-400") == Decimal("1e-400")  # below every double, and finite


@pytest.mark.parametrize(
    "text",
    [
        "1e999999999",
        "1e-999999999",
        "0e999999999",
        "-0.0e-999999999999999999999",
        "1e" + "9" * 390,
        "1" * 401,
        "0." + "0" * 10_000_000 + "1",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_numbers_cost_nothing(text: str) -> None:
    start = time.perf_counter()
    for read in (plain_number, json_number, ms_to_ns, ms_to_ns_real):
        with pytest.raises(UnitError):
            read(text)
    assert time.perf_counter() - start < 2


@settings(deadline=None)
@given(UNSIGNED)
@example("1.163104")
@example("0.01858")
@example("0.0000005")
@example("2.0000005")
@example("2.0000015")
@example("2.00000049999999999999999999999999")
@example("1e1")
def test_milliseconds_become_nanoseconds_exactly_half_up(text: str) -> None:
    exact = half_up(Fraction(text) * 1_000_000)
    if exact > 0:
        assert ms_to_ns(text) == exact
    else:
        with pytest.raises(UnitError):
            ms_to_ns(text)


def test_milliseconds_of_the_published_runs() -> None:
    assert ms_to_ns("1.163104") == 1_163_104
    assert ms_to_ns("0.01858") == 18_580


def test_six_decimals_never_lose_a_nanosecond() -> None:
    # The shortcut through doubles does, for these among others.
    lossy = [n for n in range(1, 200_000) if int(float(f"{n // 10**6}.{n % 10**6:06d}") * 1e6) != n]
    assert len(lossy) > 100
    for nanoseconds in lossy:
        assert ms_to_ns(f"{nanoseconds // 10**6}.{nanoseconds % 10**6:06d}") == nanoseconds


@pytest.mark.parametrize("text", ["0", "0.0", "-0", "0e5", "-1", "-0.000001"])
def test_a_latency_is_above_zero(text: str) -> None:
    with pytest.raises(UnitError, match=f"latency of {text} ms"):
        ms_to_ns(text)


@pytest.mark.parametrize("text", ["0.0000004999", "1e-7", "1e-300", "1e-999"])
def test_a_latency_that_rounds_to_nothing_is_refused(text: str) -> None:
    with pytest.raises(UnitError, match="half a nanosecond"):
        ms_to_ns(text)


@settings(deadline=None)
@given(UNSIGNED)
def test_bounds_become_the_nearest_double(text: str) -> None:
    exact = Fraction(text) * 1_000_000
    assert ms_to_ns_real(text) == exact.numerator / exact.denominator  # true division of ints rounds correctly


@pytest.mark.parametrize("text", ["-1", "-1e-30", "1e305"])
def test_a_bound_is_not_negative_and_finite(text: str) -> None:
    with pytest.raises(UnitError, match="bound of"):
        ms_to_ns_real(text)


@settings(deadline=None)
@given(NUMBERS)
@example("1.0")
@example("-0.0")
@example("9007199254740991")
@example("9007199254740991.5")
@example("10000000000000000")
def test_json_numbers_are_whole_where_they_can_be(text: str) -> None:
    exact = Fraction(text)
    value = json_number(text)
    if exact.denominator == 1 and abs(exact) < 2**53:
        assert type(value) is int
        assert value == exact
    else:
        assert type(value) is float
        assert value == exact.numerator / exact.denominator


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10000000000000000", 1e16),
        ("295147905179352830000", 2.0**68),  # as RFC 8785, Appendix B, writes it
        ("295147905179352825856", 2.0**68),  # exactly
        ("-999999999999999900000", -999999999999999900000.0),
    ],
)
def test_whole_doubles_are_read_from_their_canonical_and_their_exact_digits(text: str, value: float) -> None:
    assert (type(json_number(text)), json_number(text)) == (float, value)


@pytest.mark.parametrize("text", ["9007199254740993", "-9007199254740993", "12345678901234567890"])
def test_whole_numbers_that_no_double_holds_are_refused(text: str) -> None:
    with pytest.raises(UnitError, match=text):
        json_number(text)


@pytest.mark.parametrize(
    ("value", "nanoseconds"),
    [
        (0, 0),
        (5, 5),
        (2**70, 2**70),
        ("0.008 ms", 8_000),
        ("12 us", 12_000),
        ("12 \u00b5s", 12_000),
        ("12 \u03bcs", 12_000),
        ("3 ns", 3),
        ("3ns", 3),
        ("3.0 ns", 3),
        ("1.5 s", 1_500_000_000),
        ("0 s", 0),
        ("0.000000001 s", 1),
    ],
)
def test_durations(value: int | str, nanoseconds: int) -> None:
    assert duration_ns(value) == nanoseconds


POWERS = {"ns": 0, "us": 3, "\u00b5s": 3, "\u03bcs": 3, "ms": 6, "s": 9}


@settings(deadline=None)
@given(st.builds("{}{}".format, WHOLE, FRACTION), st.sampled_from(["", " "]), st.sampled_from(sorted(POWERS)))
def test_authored_durations_are_whole_nanoseconds_or_refused(number: str, space: str, unit: str) -> None:
    exact = Fraction(number) * 10 ** POWERS[unit]
    if exact.denominator == 1:
        assert duration_ns(number + space + unit) == exact
    else:
        with pytest.raises(UnitError, match="not a whole number"):
            duration_ns(number + space + unit)


@pytest.mark.parametrize(
    "value",
    [
        -1,
        True,
        False,
        1.0,
        None,
        b"1 ns",
        *["", "1", "ms", "1  ms", " 1 ms", "1 ms ", "1 ms\n", "1\tms", "-1 ms", "1e3 ns", "01 ns", ".5 s", "1 MS"],
        *["1 min", "1 ms 2 ns", "1_0 ns", "\u0661 ns", "9" * 10_000 + " ns"],
    ],
    ids=lambda value: repr(value)[:20],
)
def test_other_durations_are_refused(value: object) -> None:
    with pytest.raises(UnitError, match="duration"):
        duration_ns(value)  # type: ignore[arg-type]


def test_a_coarse_decimal_context_of_the_caller_changes_nothing() -> None:
    with decimal.localcontext() as context:
        context.prec, context.rounding, context.Emax, context.Emin = 3, decimal.ROUND_DOWN, 9, -9
        context.traps[decimal.Inexact] = context.traps[decimal.Rounded] = True
        assert plain_number("1234567.891011") == Decimal("1234567.891011")
        assert ms_to_ns("1.1631045") == 1_163_105
        assert ms_to_ns_real("1.1631045") == 1_163_104.5
        assert json_number("123456789.0") == 123_456_789
        assert duration_ns("1.163104 ms") == 1_163_104
        assert format_latency(1_163_104) == "1.16 ms"
        assert format_score(0.988198, 4) == "0.9882"
        with pytest.raises(UnitError):
            ms_to_ns("0")


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (1_163_104, "1.16 ms"),  # the two published runs
        (18_580, "18.6 \u00b5s"),
        (0, "0 ns"),
        (1, "1 ns"),
        (0.4, "0 ns"),
        (0.5, "1 ns"),
        (2.5, "3 ns"),
        (850.0, "850 ns"),
        (Decimal("18580"), "18.6 \u00b5s"),
        (999, "999 ns"),
        (999.6, "1000 ns"),  # the unit is chosen before rounding
        (1_000, "1.00 \u00b5s"),
        (9_994, "9.99 \u00b5s"),
        (9_999, "10.00 \u00b5s"),
        (10_000, "10.0 \u00b5s"),
        (999_999, "1000.0 \u00b5s"),
        (1_000_000, "1.00 ms"),
        (999_999_999, "1000.0 ms"),
        (1_000_000_000, "1.00 s"),
        (3_600_000_000_000, "3600.0 s"),
        (1_125, "1.13 \u00b5s"),  # 1.125 is a double: an exact tie
        (1_005, "1.00 \u00b5s"),  # the double of 1.005 is a little less
        (10_250, "10.3 \u00b5s"),
        (10_050, "10.1 \u00b5s"),  # the double of 10.05 is a little more
    ],
)
def test_latencies_show_as_on_the_run_page(ns: float | Decimal, shown: str) -> None:
    assert format_latency(ns) == shown


def shown_exactly(value: float, decimals: int) -> str:
    """Round a double in integers: the digits of `value * 10**decimals`, half up, the point put back."""
    scaled = half_up(Fraction(abs(value)) * 10**decimals)
    digits = str(scaled).rjust(decimals + 1, "0")
    point = len(digits) - decimals
    return ("-" if value < 0 else "") + digits[:point] + ("." + digits[point:] if decimals else "")


@settings(deadline=None)
@given(st.integers(0, 10**13) | st.floats(0, 1e13))
def test_latencies_round_the_double_that_is_shown(ns: float) -> None:
    number, unit = format_latency(ns).split(" ")
    size = {"ns": 1.0, "\u00b5s": 1e3, "ms": 1e6, "s": 1e9}[unit]
    scaled = ns / size
    assert size <= ns < size * 1e3 or (unit == "ns" and ns < 1e3) or (unit == "s" and ns >= 1e9)
    assert number == shown_exactly(scaled, 0 if unit == "ns" else 2 if scaled < 10 else 1)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1_163_104.0, "ns", "1.16 ms"),
        (18_580, "ns", "18.6 µs"),
        (2.5, "s", "2.50 s"),
        (1.163104, "ms", "1.16 ms"),
        (0.5, "us", "500 ns"),
        (12.5, "gb_per_s", "12.5 gb_per_s"),
        (3.0, "tokens", "3 tokens"),
        (1234567.0, "tokens", "1234567 tokens"),
        (1e300, "tokens", "1e+300 tokens"),
        (-4.0, "ns", "-4 ns"),
        (math.inf, "ns", "inf ns"),
    ],
)
def test_a_time_is_shown_as_a_latency_and_other_figures_as_stated(value: float, unit: str, shown: str) -> None:
    assert format_value(value, unit) == shown


@pytest.mark.parametrize("ns", [-1, -0.1, float("nan"), float("inf"), Decimal("NaN"), 10**400])
def test_what_is_no_latency_is_not_shown(ns: float | Decimal) -> None:
    with pytest.raises(UnitError, match="latency of"):
        format_latency(ns)


@pytest.mark.parametrize(
    ("value", "decimals", "shown"),
    [
        (0.988198, 4, "0.9882"),
        (0.091395, 4, "0.0914"),
        (20.455, 2, "20.45"),
        (0.1242, 2, "0.12"),
        (0.125, 2, "0.13"),
        (0.375, 2, "0.38"),
        (2.5, 0, "3"),
        (-0.125, 2, "-0.13"),
        (0.0, 2, "0.00"),
        (-0.0, 2, "0.00"),
        (16, 2, "16.00"),
        (1e22, 1, "10000000000000000000000.0"),
        (1.7976931348623157e308, 100, shown_exactly(1.7976931348623157e308, 100)),
        (5e-324, 100, "0." + "0" * 100),
    ],
)
def test_scores_show_with_fixed_decimals(value: float, decimals: int, shown: str) -> None:
    assert format_score(value, decimals) == shown


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 20))
@example(-0.001, 2)
def test_scores_round_the_double(value: float, decimals: int) -> None:
    assert format_score(value, decimals) == shown_exactly(value, decimals)


@pytest.mark.parametrize(
    ("value", "decimals"), [(float("nan"), 2), (float("inf"), 2), (float("-inf"), 2), (1.0, -1), (1.0, 101)]
)
def test_what_cannot_be_shown_as_a_score_is_refused(value: float, decimals: int) -> None:
    with pytest.raises(UnitError):
        format_score(value, decimals)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-05-21T22:05:09.698Z", "2026-05-21T22:05:09.698Z"),
        ("2026-05-21T22:05:09", "2026-05-21T22:05:09.000Z"),
        ("2026-05-21 22:05:09", "2026-05-21T22:05:09.000Z"),
        ("2026-05-21T22:05:09.6", "2026-05-21T22:05:09.600Z"),
        ("2026-05-21T22:05:09.69", "2026-05-21T22:05:09.690Z"),
        ("2026-05-21T22:05:09.698123", "2026-05-21T22:05:09.698Z"),
        ("2026-05-21T22:05:09.698999999", "2026-05-21T22:05:09.698Z"),
        ("2026-12-31T23:59:59.9999", "2026-12-31T23:59:59.999Z"),
        ("2026-05-21T22:05:09.698+00:00", "2026-05-21T22:05:09.698Z"),
        ("2026-05-21T22:05:09-00:00", "2026-05-21T22:05:09.000Z"),
        ("2026-05-21T22:05:09.698+05:30", "2026-05-21T16:35:09.698Z"),
        ("2026-05-21T22:05:09-08:00", "2026-05-22T06:05:09.000Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_upstream_times_become_instants(text: str, instant: str) -> None:
    assert format_instant_ms(parse_instant(text)) == instant


@settings(max_examples=300, deadline=None)
@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)),  # noqa: DTZ001 - the zone is the next argument
    st.none() | st.integers(-23 * 60 - 59, 23 * 60 + 59),
    st.integers(0, 9),
    st.integers(0, 999),
    st.sampled_from("T "),
)
def test_times_are_cut_to_microseconds_and_moved_to_utc(
    moment: datetime, zone_minutes: int | None, width: int, nanoseconds: int, between: str
) -> None:
    digits = f"{moment.microsecond:06d}{nanoseconds:03d}"[:width]
    sign = "-" if (zone_minutes or 0) < 0 else "+"
    hours, minutes = divmod(abs(zone_minutes or 0), 60)
    zone = "" if zone_minutes is None else f"{sign}{hours:02d}:{minutes:02d}"
    text = f"{moment.date().isoformat()}{between}{moment:%H:%M:%S}{'.' if digits else ''}{digits}{zone}"

    read = parse_instant(text)

    there = moment.replace(microsecond=int(digits[:6].ljust(6, "0"))) - timedelta(minutes=zone_minutes or 0)
    assert read == there.replace(tzinfo=UTC)
    assert read.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-05-21",
        "2026-05-21T22:05",
        "22:05:09",
        "20260521T220509Z",
        "2026-05-21T22:05:09.",
        "2026-05-21T22:05:09.1234567890",
        "2026-05-21T22:05:09,698",
        "2026-05-21t22:05:09z",
        "2026-05-21T22:05:09z",
        "2026-05-21  22:05:09",
        "2026-05-21T22:05:09 Z",
        "2026-05-21T22:05:09Z\n",
        " 2026-05-21T22:05:09Z",
        "2026-05-21T22:05:09+0530",
        "2026-05-21T22:05:09+05",
        "2026-05-21T22:05:09+24:00",
        "2026-05-21T22:05:09+05:60",
        "2026-05-21T22:05:09 UTC",
        "2026-5-21T22:05:09",
        "2026-02-29T00:00:00",
        "2026-04-31T00:00:00",
        "2026-13-01T00:00:00",
        "2026-00-01T00:00:00",
        "0000-01-01T00:00:00",
        "2026-05-21T24:00:00",
        "2026-05-21T22:60:09",
        "2026-05-21T22:05:60",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "\u0662\u0660\u0662\u0666-05-21T22:05:09",
        "1747864000",
        "-2026-05-21T22:05:09",
    ],
)
def test_other_times_are_refused_by_name(text: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse_instant(text)
    assert repr(text) in str(caught.value)


def test_instants_are_written_in_utc_and_cut() -> None:
    moment = datetime(2026, 5, 22, 3, 5, 9, 698_999, tzinfo=timezone(timedelta(hours=5)))
    assert format_instant_ms(moment) == "2026-05-21T22:05:09.698Z"


def test_a_time_without_a_zone_is_not_written() -> None:
    with pytest.raises(UnitError, match="no zone"):
        format_instant_ms(datetime(2026, 5, 21))  # noqa: DTZ001 - what is refused
