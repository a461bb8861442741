"""What a run page says, as text: nothing is converted here, and what the page does not say is None."""

from __future__ import annotations

from dataclasses import dataclass

from scrapers.contract import Drift, Reject

Rows = tuple[tuple[str, str], ...]
"""A list of the page: (key, value) in its order."""


@dataclass(frozen=True, slots=True)
class Page:
    """One run page, read. White space is single spaces, the micro sign of a figure is U+00B5, a cut's `…` is taken off.

    `address_id` is the run's id in the page's address, `canonical_id` in its canonical link, `shown_id` the cut one
    that people see. `metrics` is the line of the source's own metrics, `standing` of the first section is `rank`,
    `profile` and `observed` (a date), or `not_eligible` with its reasons. `manifest` is JSON text as it stands there.
    `body_digest` names the archived page.
    """

    locator: str
    body_digest: str
    manifest: str
    address_id: str | None = None
    canonical_id: str | None = None
    shown_id: str | None = None
    title: str | None = None
    operation: str | None = None
    workload: str | None = None
    value: str | None = None
    unit: str | None = None
    statistic: str | None = None
    samples: str | None = None
    rank: str | None = None
    profile: str | None = None
    observed: str | None = None
    not_eligible: str | None = None
    metrics: str | None = None
    run_digest: str | None = None
    identity: Rows = ()
    measurements: Rows | None = None
    protocol: Rows | None = None
    environment: Rows | None = None
    notes: tuple[str, ...] = ()
    published: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """One page, read (None when it could not be), and what did not fit."""

    page: Page | None
    rejects: tuple[Reject, ...] = ()
    drift: tuple[Drift, ...] = ()
