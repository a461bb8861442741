"""The report of a sync: the one record that the command prints, the archive keeps, and the artifact shows."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from scrapers.contract import Drift, Reject
from scrapers.telling import tell
from transforms.names import printable
from transforms.units import format_value

EXIT_CODES = {"complete": 0, "partial": 3, "failed": 1}
SHOWN = 20
TOLD_OF_A_RECORD = (
    "kernel", "product", "stack_version", "external_id", "project", "primary_value", "primary_unit", "cause",
    "previous_project", "previous_value",
)  # fmt: skip
WORDS = {
    "submissions": "states of submissions",
    "lifecycle": "changes to earlier runs",
    "metadata_versions": "new names or titles",
    "submission_renames": "renamed submitters",
    "reviews": "held for review",
    "published_runs": "states of run pages",
}


@dataclass(slots=True)
class Report:
    """What one sync of one source did. `bytes` are as received; `inserted` and `unchanged` count rows by table.

    `audit` counts our runs against the public index's by state, once pages of the index were read. `kept` are backups
    of files brought to another schema; `reloaded` counts earlier syncs that were loaded from the archive again, because
    the warehouse lacked some of them.
    """

    sync_id: int
    source: str
    status: str
    started_at: datetime
    finished_at: datetime | None = None
    base_url: str = ""
    resumed: bool = False
    dry_run: bool = False
    synthetic: bool = False
    requests: int = 0
    not_modified: int = 0
    bytes: int = 0
    discovered: dict[str, int] = field(default_factory=dict)
    inserted: dict[str, int] = field(default_factory=dict)
    unchanged: dict[str, int] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)
    drift: list[Drift] = field(default_factory=list)
    reviews: list[dict[str, str]] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    audit: dict[str, int] = field(default_factory=dict)
    warehouse: str = ""
    kept: list[str] = field(default_factory=list)
    reloaded: int = 0
    error: str | None = None
    error_code: str | None = None

    @property
    def exit_code(self) -> int:
        """Exit code of a sync that ended so: 0 complete, 3 in part, 1 failed."""
        return EXIT_CODES[self.status]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON-shaped data, times as ISO 8601 UTC text."""
        data = asdict(self)
        data["started_at"] = self.started_at.isoformat()
        data["finished_at"] = self.finished_at.isoformat() if self.finished_at else None
        return data

    def sentence(self) -> str:
        """Say in one sentence what came of it."""
        if self.status == "failed":
            return f"{self.source}: failed, nothing was changed. {self.error}" + (
                f" [{self.error_code}]" if self.error_code else ""
            )
        found = self.discovered
        new = {table: count for table, count in self.inserted.items() if count}
        what = ", ".join(f"{new[table]:,} {WORDS.get(table, table)}" for table in NEWS if table in new) or "nothing new"
        state = {"complete": "complete", "partial": "done in part"}[self.status] + (
            " (dry run)" if self.dry_run else ""
        )
        read = f"{found.get('kernels', 0):,} kernels and {found.get('submissions', 0):,} submissions"
        if "pages" in found:
            read = f"{found['pages']:,} run page{'' if found['pages'] == 1 else 's'}"
        return (
            f"{self.source}: {state}. Read {read}"
            f" with {self.requests:,} requests ({self.not_modified:,} unchanged). New: {what}."
        )

    def tell(self) -> None:
        """Tell what came of it as events: what could not be used, what is new, and how it ended."""
        for locator in self.incomplete:
            tell("part.incomplete", logging.WARNING, locator=locator)
        for reject in self.rejects:
            tell("rejected", logging.WARNING, locator=reject.locator, code=reject.code, reason=reject.reason)
        for drift in self.drift:
            tell(
                "drift", logging.WARNING, path=drift.path, change=drift.change, locator=drift.locator, count=drift.count
            )
        for record in self.records_taken:
            tell("record.changed", **{name: record[name] for name in TOLD_OF_A_RECORD})
        tell(
            "sync.ended", logging.ERROR if self.status == "failed" else logging.INFO, status=self.status,
            code=self.error_code, reason=self.error, requests=self.requests, not_modified=self.not_modified,
            bytes=self.bytes, rows=sum(self.inserted.values()), rejects=len(self.rejects), drift=len(self.drift),
            records=len(self.records_taken), seconds=self.seconds,
        )  # fmt: skip

    @property
    def seconds(self) -> float | None:
        """How long the sync took; None while it has not ended."""
        if self.finished_at is None:
            return None
        return round((self.finished_at - self.started_at).total_seconds(), 3)

    @property
    def records_taken(self) -> list[dict[str, Any]]:
        """The records that changed hands; a board that had no leader before is no news of that kind."""
        return [one for one in self.records if one["previous_run_digest"] is not None]

    def record_lines(self) -> list[str]:
        """Say which records changed hands, a line each."""
        return [record_words(one) for one in self.records_taken]

    def markdown(self) -> str:
        """Render the report for people, as markdown. Upstream text stands only in code spans."""
        lines = [f"# Sync {self.sync_id} of {self.source}: {self.status}", "", code(self.sentence()), ""]
        if any(self.inserted.values()):
            lines += ["| table | new | there before |", "| --- | ---: | ---: |"]
            lines += [
                f"| {table} | {count} | {self.unchanged.get(table, 0)} |"
                for table, count in self.inserted.items()
                if count
            ]
            lines.append("")
        lines += _section("New records", [code(line) for line in self.record_lines()])
        lines += _section("Could not be used", [f"{code(one.locator)}: {code(one.reason)}" for one in self.rejects])
        lines += _section("Incomplete listings", [code(locator) for locator in self.incomplete])
        lines += _section(
            "For review", [f"{one['reason']}: {code(one['subject'])} {code(one['detail'])}" for one in self.reviews]
        )
        lines += _section("Against the public index", [f"{count} {state}" for state, count in self.audit.items()])
        lines += _section("Drift", [f"{code(one.path)}: {one.change} ({one.count} times)" for one in self.drift])
        return "\n".join(lines)


NEWS = (
    "operations",
    "runs",
    "submissions",
    "lifecycle",
    "metadata_versions",
    "submission_renames",
    "reviews",
    "published_runs",
)


def record_words(record: dict[str, Any]) -> str:
    """Say in words who leads a cohort now and who did before; values in the unit of the cohort."""
    board = f"{record['kernel']} ({record['product']}, stack {record['stack_version']})"
    before = f"{value_words(record['previous_value'], record['primary_unit'])} by {record['previous_project']}"
    if record["previous_run_digest"] is None:
        before = "nobody"
    if record["run_digest"] is None:
        return f"{board}: nobody leads any more, was {before} ({record['cause']})"
    now = f"{value_words(record['primary_value'], record['primary_unit'])} by {record['project']}"
    who = f"{record['source']}:{record['external_id']}"
    return f"{board}: {now} ({who}, {record['cause'].replace('_', ' ')}), was {before}"


def value_words(value: float | None, unit: str) -> str:
    """Say a value of a board in words."""
    if value is None:
        return "none"
    return format_value(value, unit)


def _section(title: str, items: list[str]) -> list[str]:
    if not items:
        return []
    more = [f"- … and {len(items) - SHOWN} more"] if len(items) > SHOWN else []
    return [f"## {title} ({len(items)})", "", *(f"- {item}" for item in items[:SHOWN]), *more, ""]


def code(text: str) -> str:
    """Put a text into a markdown code span, where nothing in it is markup or a link."""
    return "`" + (printable(text).replace("`", "'") or " ") + "`"
