"""What a run measured, read off its manifest."""

from __future__ import annotations

from typing import Any, NamedTuple

_CENTRES = ("median", "mean")


class Measurement(NamedTuple):
    """A figure: what, which statistic of it, in which unit, how much, of how many samples (None where unsaid)."""

    metric: str
    statistic: str
    unit: str
    value: int | float
    samples: int | None


def measurements(spec: dict[str, Any]) -> list[Measurement]:
    """Return what a BenchmarkRun's spec states, the primary measurement first; empty when it states nothing.

    The primary one is the timing's central value that `primaryStatistic` names (mean or median, the other one where
    that is absent), else the first of `measurements` (the manifest format's rule). Timings are nanoseconds.
    """
    stated = [
        Measurement(one["metric"], one["statistic"], one["unit"], one["value"], one.get("sampleCount"))
        for one in spec.get("measurements", ())
    ]
    timing = spec.get("timing")
    if timing is None:
        return stated
    latency, named = timing["latencyNs"], timing["primaryStatistic"]
    first = named if named in latency and named in _CENTRES else next(one for one in _CENTRES if one in latency)
    others = [name for name, value in latency.items() if name != first and not isinstance(value, list)]
    samples = timing.get("samples")
    return [Measurement("latency", name, "ns", latency[name], samples) for name in (first, *others)] + stated


def primary(spec: dict[str, Any]) -> Measurement | None:
    """Return the measurement that ranks a run, None when it states none."""
    return next(iter(measurements(spec)), None)
