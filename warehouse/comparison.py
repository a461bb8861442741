"""Runs side by side. Only runs of one cohort are comparable; of others this says in what they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from warehouse.dossier_parts import Component, Dossier


@dataclass(frozen=True, slots=True)
class Compared:
    """One run of a comparison. `relative` is its value over the best of the runs given, None where it states none."""

    run_digest: str
    name: str
    value: float | None
    unit: str | None
    relative: float | None
    rank: int | None
    tied: bool | None
    reasons: list[str]
    project: str
    observed_at: datetime
    source_metrics: dict[str, float]
    revision: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A part of the comparison key in which runs differ, and what each run, by its name, has there in words."""

    component: str
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of it: `runs` in the order given; none where `differences` forbid it."""

    comparable: bool
    differences: list[Difference]
    comparison_key: str | None
    runs: list[Compared]


def compare(pages: Sequence[Dossier]) -> Comparison:
    """Compare runs, two or more, of one cohort; of several cohorts return the differences instead."""
    keys = {page.identity.comparison_key for page in pages}
    if len(keys) > 1:
        return Comparison(comparable=False, differences=_differences(pages), comparison_key=None, runs=[])
    best = min((page.primary.value for page in pages if page.primary.value is not None), default=None)
    runs = [_compared(page, best) for page in pages]
    return Comparison(comparable=True, differences=[], comparison_key=keys.pop(), runs=runs)


def _compared(page: Dossier, best: float | None) -> Compared:
    value = page.primary.value
    return Compared(
        run_digest=page.run_digest,
        name=page.name,
        value=value,
        unit=page.primary.unit,
        relative=value / best if value is not None and best else None,
        rank=page.standing.rank,
        tied=page.standing.tied,
        reasons=[row["reason"] for row in page.standing.reasons],
        project=page.identity.project,
        observed_at=page.observed_at,
        source_metrics=page.source_metrics,
        revision=page.identity.revision,
    )


def _differences(pages: Sequence[Dossier]) -> list[Difference]:
    found = []
    for parts in zip(*(page.cohort for page in pages), strict=True):
        if len({part.key for part in parts}) > 1:
            values = zip((page.name for page in pages), _words(parts), strict=True)
            found.append(Difference(parts[0].name, dict(values)))
    return found


def _words(parts: Sequence[Component]) -> list[str]:
    """Say each part in words, and with its digest where the words do not tell different ones apart."""
    told_apart = len({part.shown for part in parts}) == len({part.key for part in parts})
    return [part.shown if told_apart else f"{part.shown} [{part.key[:23]}…]" for part in parts]
