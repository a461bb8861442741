"""The parts of a run page, as data. All of it can be written as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from transforms.facts import Fact

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Primary:
    """The measurement that ranks: value and the interval stated for it are in `unit`; all None when there is none."""

    metric: str | None
    statistic: str | None
    unit: str | None
    value: float | None
    low: float | None
    high: float | None
    samples: int | None


@dataclass(frozen=True, slots=True)
class Standing:
    """The place on the board at hand: a rank among `cohort_size` ranked runs, or the reasons for none."""

    rank: int | None
    tied: bool | None
    cohort_size: int
    profile: str
    reasons: list[Row]


@dataclass(frozen=True, slots=True)
class Leader:
    """The first of the board at hand; `ratio` is the run's primary value over its, None when the run states none."""

    run_digest: str
    name: str
    project: str
    value: float
    unit: str
    ratio: float | None


@dataclass(frozen=True, slots=True)
class Identity:
    """What the run is a run of. `implementation` and `project` show the submitter's name, the latest known."""

    implementation: str
    project: str
    revision: str | None
    workload: str
    comparison_key: str
    comparability_family: str
    source: str
    external_id: str


@dataclass(frozen=True, slots=True)
class Component:
    """One of the things that make runs comparable: in words, and as it enters the comparison key."""

    name: str
    shown: str
    key: str


@dataclass(frozen=True, slots=True)
class Dossier:
    """One run's page. Times are UTC; `name` is the shortest that finds this run again.

    `published_at` is when the sync that first loaded the run ended, `read_from` the address it read. `lifecycle`,
    `doubts` and `verdicts` say in order of time what became of the run; `replaces` are the runs it took the place of.
    """

    run_digest: str
    name: str
    status: str
    evidence: str
    kernel: str
    operation: str
    primary: Primary
    standing: Standing
    leader: Leader | None
    observed_at: datetime
    published_at: datetime
    read_from: str
    source_metrics: dict[str, float]
    identity: Identity
    cohort: list[Component]
    correctness: list[Fact]
    workload: list[Fact]
    measurements: list[Row]
    protocol: list[Fact]
    environment: list[Fact]
    artifacts: list[Fact]
    notes: list[Row]
    lifecycle: list[Row]
    replaces: list[Row]
    doubts: list[Row]
    verdicts: list[Row]
    documents: Row
