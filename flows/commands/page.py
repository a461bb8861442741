"""`kix show`: one run's page, in the order of the public index's run pages.

Nothing is cut and nothing is wrapped: in a narrow terminal a long line goes on in the next one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path

import click

from flows.commands.cite import Upstream, citation, upstream_of
from flows.console import as_json_text, asking, print_json
from flows.settings import Settings
from transforms.facts import Fact, source_metrics_line
from transforms.names import printable
from transforms.units import format_score, format_value
from warehouse.dossier import dossier
from warehouse.dossier_parts import Dossier, Leader
from warehouse.query import find_run

Section = tuple[str, list[str]]

NO_POLICY = "Marked passed by the source; the correctness policy was not published."
ATTESTATIONS = "Community attestations. They never change the evidence level; only a KernelIndex-controlled rerun does."


def show_page(settings: Settings, name: str, home: Path | None, *, manifest: bool, as_json: bool) -> None:
    """Print the page of a run. `home` is the flag's, to be repeated in the commands that the page names."""
    with asking(settings) as db:
        page = dossier(db, find_run(db, name))
    today = datetime.now(UTC).date()
    upstream = upstream_of(page)
    if as_json:
        print_json(asdict(page) | {"upstream": asdict(upstream), "citation": citation(page, upstream, today)})
        return
    for line in _head(page, upstream):
        click.echo(printable(line))
    for heading, lines in _sections(page, upstream, today, Commands(page, home)):
        click.echo(f"\n{click.style(heading, bold=True)}\n")
        for line in lines:
            click.echo(printable(line))
        if heading == "Canonical manifest":
            click.echo(as_json_text(page.documents) if manifest else f"  {Commands(page, home)('manifest')}")
    click.echo()
    for line in _foot(page, upstream, Commands(page, home)):
        click.echo(printable(line))


class Commands:
    """Writes the commands that go on from a page, as they can be pasted."""

    def __init__(self, page: Dossier, home: Path | None) -> None:
        self._run = page.name
        self._home = [] if home is None else ["--home", str(home)]

    def __call__(self, command: str, *rest: str) -> str:
        """Write `kix COMMAND RUN REST`."""
        return self.about(command, self._run, *rest)

    def about(self, command: str, *words: str) -> str:
        """Write `kix COMMAND WORDS`."""
        return shlex.join(["kix", command, *words, *self._home])


def day(moment: datetime) -> str:
    """Write the day of an aware time, UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d}"


def _head(page: Dossier, upstream: Upstream) -> Iterator[str]:
    short = page.run_digest.removeprefix("sha256:")[:8]
    yield f"Run {short} · {page.identity.implementation} · {page.operation}"
    yield f"{page.status.replace('_', ' ')} · {page.evidence} evidence"
    if upstream.synthetic:
        yield "SYNTHETIC SAMPLE: no figure on this page is real."
    yield from _became(page)


def _became(page: Dossier) -> Iterator[str]:
    """Say what happened to the run since it was loaded, in order."""
    for one in page.replaces:
        yield f"In the place of {one['run_digest'][:23]} since {day(one['at'])}: {one['reason']}"
    for one in page.lifecycle:
        by = f" by {one['by_run_digest'][:23]}" if one["by_run_digest"] else ""
        yield f"{one['event'].capitalize()} {day(one['at'])}{by}: {one['reason']}"
    standing = {row["reason"] for row in page.standing.reasons}
    for one in page.doubts:
        held = "Held for doubt until a person decides (kix review)"
        state = held if one["reason"] in standing else "Was held for doubt"
        yield f"{state}, {one['reason']}: {one['detail']}"
    for one in page.verdicts:
        decided = "accepted" if one["verdict"] == "accept" else "held"
        yield f"Reviewed {day(one['decided_at'])} by {one['by_name']}, {decided}: {one['reason']}"


def _sections(page: Dossier, upstream: Upstream, today: date, commands: Commands) -> Iterator[Section]:
    yield "Primary measurement", _primary(page, commands)
    yield "Identity", _table(_identity(page, upstream))
    yield "Correctness", _table(page.correctness) or [f"  {_without_policy(page)}"]
    yield "Workload", _table(page.workload)
    yield "Measurements", _measurements(page)
    yield "Protocol", _table(page.protocol)
    yield "Environment", _table(page.environment)
    yield "Artifacts", _table(page.artifacts) or ["  No artifacts published with this run."]
    yield "Replications and notes", _notes(page, commands)
    yield "Canonical manifest", []
    yield "Cite this record (permalink, digest, access date)", [f"  {citation(page, upstream, today)}"]


def _primary(page: Dossier, commands: Commands) -> list[str]:
    size = page.standing.cohort_size
    lines = [_value(page), _place(page), *_against(page.leader, page, commands)]
    lines.append(source_metrics_line(page.source_metrics))
    lines.append(f"{size} {'run ranks' if size == 1 else 'runs rank'} in this comparison group.")
    return [f"  {line}" for line in lines if line]


def _value(page: Dossier) -> str:
    primary = page.primary
    if primary.value is None or primary.unit is None:
        return "The run states no figure that could rank."
    parts = [f"{format_value(primary.value, primary.unit)} {primary.statistic}"]
    if primary.low is not None and primary.high is not None:
        low, high = (format_value(end, primary.unit) for end in (primary.low, primary.high))
        parts.append(f"95 % confidence interval {low} to {high}")
    if primary.samples is not None:
        parts.append(f"{primary.samples} samples")
    return " · ".join(parts)


def _place(page: Dossier) -> str:
    standing = page.standing
    after = f"{standing.profile} comparison · observed {day(page.observed_at)}"
    if standing.rank is None:
        return f"Not eligible to rank: {', '.join(row['reason'] for row in standing.reasons)} · {after}"
    tied = " (tied)" if standing.tied else ""
    return f"Rank {standing.rank}{tied} in its comparison group · {after}"


def _against(leader: Leader | None, page: Dossier, commands: Commands) -> Iterator[str]:
    if leader is None or leader.run_digest == page.run_digest:
        return
    value = f"{format_value(leader.value, leader.unit)} of {leader.project}"
    words = value if leader.ratio is None else f"{format_score(leader.ratio, 2)}× the {value}"
    command = commands.about("compare", leader.name, page.name)
    yield f"Compare with #1 → {words}: {command}"


def _identity(page: Dossier, upstream: Upstream) -> list[Fact]:
    identity = page.identity
    pairs = [
        ("implementation", identity.implementation),
        ("project", identity.project),
        ("revision", identity.revision),
        ("workload", identity.workload),
        ("comparison key", f"{identity.comparison_key[:23]}…"),
        ("source", upstream.title),
        ("external id", f"submission/{identity.external_id}"),
        ("run digest", f"{page.run_digest[:30]}…"),
    ]
    return [Fact(label, value) for label, value in pairs if value is not None]


def _without_policy(page: Dossier) -> str:
    if page.status == "passed":
        return NO_POLICY
    return f"Marked {page.status} by the source; it published nothing more about correctness."


def _measurements(page: Dossier) -> list[str]:
    facts = []
    for one in page.measurements:
        samples = "" if one["samples"] is None else f" · n={one['samples']}"
        facts.append(Fact(f"{one['metric']} · {one['statistic']}", format_value(one["value"], one["unit"]) + samples))
    return _table(facts) or ["  The run states no measurements."]


def _notes(page: Dossier, commands: Commands) -> list[str]:
    lines = [f"{one['kind']} by {one['by_name']}, {day(one['written_at'])}: {one['note']}" for one in page.notes]
    lines = lines or ["No attestations yet."]
    lines += [ATTESTATIONS, f'Add a reproduction or note: {commands("note")} "TEXT"']
    return [f"  {line}" for line in lines]


def _foot(page: Dossier, upstream: Upstream, commands: Commands) -> Iterator[str]:
    yield f"Published {day(page.published_at)} · {upstream.title}"
    if upstream.read_elsewhere and not upstream.synthetic:
        yield f"Read from {page.read_from}, which is not the source's own address"
    yield f"All results for {page.operation} → {commands.about('board', page.kernel)}"
    yield f"JSON → {commands('show', '--json')}"


def _table(facts: Iterable[Fact]) -> list[str]:
    """Set labels and values in two columns."""
    from rich.cells import cell_len

    shown = [Fact(printable(fact.label), fact.value) for fact in facts]
    width = max((cell_len(fact.label) for fact in shown), default=0)
    return [f"  {fact.label}{' ' * (width - cell_len(fact.label))}  {fact.value}" for fact in shown]
