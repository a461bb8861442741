"""`kix cite`: one run in a line that can be put under a text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

import click

from flows.console import asking, print_json
from flows.registry import SOURCES
from flows.sample import is_synthetic
from flows.settings import Settings
from transforms.facts import gpu_label, harness_label
from transforms.names import printable
from transforms.units import format_value
from warehouse.dossier import dossier
from warehouse.dossier_parts import Dossier
from warehouse.query import find_run


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where a run comes from. `permalink` is the page of the source that has the run among others: sources need not
    have a page for each. It is None for the synthetic sample, and for a source that kix does not read (any more)."""

    title: str
    permalink: str | None
    read_elsewhere: bool
    synthetic: bool


def show_citation(settings: Settings, name: str, *, as_json: bool) -> None:
    """Print the citation of a run."""
    with asking(settings) as db:
        page = dossier(db, find_run(db, name))
    today, upstream = datetime.now(UTC).date(), upstream_of(page)
    text = citation(page, upstream, today)
    if as_json:
        print_json(_as_data(page, upstream, today) | {"citation": text})
    else:
        click.echo(printable(text))


def upstream_of(page: Dossier) -> Upstream:
    """Return where a run comes from."""
    known = SOURCES.get(page.identity.source)
    synthetic = is_synthetic(page.read_from)
    if known is None:
        return Upstream(page.identity.source, None, read_elsewhere=False, synthetic=synthetic)
    policy = known.policy
    if synthetic:
        title = f"the synthetic sample (in the shape of {policy.title})"
        return Upstream(title, None, read_elsewhere=True, synthetic=True)
    return Upstream(
        policy.title, policy.page_url or None, read_elsewhere=page.read_from != policy.base_url, synthetic=False
    )


def citation(page: Dossier, upstream: Upstream, accessed: date) -> str:
    """Return one citation: implementation, operation, value, source, digest, permalink upstream, access date."""
    spec = page.documents
    setting = f"{harness_label(spec['protocol']['spec'])}, {gpu_label(spec['environment']['spec'])}"
    parts = [
        "SYNTHETIC SAMPLE, not a result" if upstream.synthetic else "",
        f"{page.identity.implementation}: {page.operation}, {page.identity.workload} ({setting})",
        _value(page),
        _standing(page),
        f"{upstream.title}, submission/{page.identity.external_id}{_where(page, upstream)}",
        f"Run {page.run_digest}",
        f"Accessed {accessed.isoformat()}",
    ]
    return "".join(f"{part}. " for part in parts if part).rstrip()


def _value(page: Dossier) -> str:
    primary = page.primary
    observed = f"observed {page.observed_at:%Y-%m-%d}"
    if primary.value is None or primary.unit is None:
        return f"{page.status}, {observed}"
    return f"{format_value(primary.value, primary.unit)} ({primary.statistic} {primary.metric}), {observed}"


def _standing(page: Dossier) -> str:
    reasons = ", ".join(row["reason"] for row in page.standing.reasons)
    return f"Not eligible to rank: {reasons}" if reasons else ""


def _where(page: Dossier, upstream: Upstream) -> str:
    if upstream.synthetic:
        return ""
    link = f", on {upstream.permalink} (which has no page for a single submission)" if upstream.permalink else ""
    return f"{link}, as read from {page.read_from}" if upstream.read_elsewhere else link


def _as_data(page: Dossier, upstream: Upstream, accessed: date) -> dict[str, object]:
    primary = page.primary
    return {
        "run_digest": page.run_digest,
        "implementation": page.identity.implementation,
        "operation": page.operation,
        "kernel": page.kernel,
        "workload": page.identity.workload,
        "value": primary.value,
        "unit": primary.unit,
        "statistic": primary.statistic,
        "observed_at": page.observed_at,
        "reasons_not_to_rank": [row["reason"] for row in page.standing.reasons],
        "source": upstream.title,
        "external_id": page.identity.external_id,
        "permalink": upstream.permalink,
        "read_from": page.read_from,
        "synthetic": upstream.synthetic,
        "accessed": accessed.isoformat(),
    }
