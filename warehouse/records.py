"""Who leads, and since when: standings and record events, derived anew where something changed; what people said."""

from __future__ import annotations

from typing import Any

from scrapers.archive import Archive
from warehouse.connection import Connection, dicts, first_row
from warehouse.migrations import add_family_schemas, migrate, sql_files

NEWS = """
    SELECT e.comparison_key, e.kernel, v.product, p.stack_version, e.cause,
        strftime(e."at", '%Y-%m-%dT%H:%M:%S.%gZ') AS "at", e.source, e.external_id, e.run_digest,
        coalesce(n.username, i.project) AS project,
        e.primary_value, e.primary_unit, b.run_digest AS previous_run_digest, w.external_id AS previous_external_id,
        coalesce(m.username, j.project) AS previous_project, b.primary_value AS previous_value
    FROM (FROM record_events SEMI JOIN touched USING (comparison_key)
        QUALIFY row_number() OVER (PARTITION BY comparison_key ORDER BY number DESC) = 1) e
    LEFT JOIN led_before b USING (comparison_key)
    LEFT JOIN runs r ON r.run_digest = e.run_digest
    LEFT JOIN implementations i ON i.implementation_digest = r.implementation_digest
    LEFT JOIN runs w ON w.run_digest = b.run_digest
    LEFT JOIN implementations j ON j.implementation_digest = w.implementation_digest
    LEFT JOIN later_names_as_of(9223372036854775807) n ON n.source = r.source AND n.external_id = r.external_id
    LEFT JOIN later_names_as_of(9223372036854775807) m ON m.source = w.source AND m.external_id = w.external_id
    LEFT JOIN protocols p ON p.digest = coalesce(r.protocol_digest, w.protocol_digest)
    LEFT JOIN environments v ON v.digest = coalesce(r.environment_digest, w.environment_digest)
    WHERE e.run_digest IS DISTINCT FROM b.run_digest
        -- Deriving all anew, after a change of the schema, is no news of what was so before.
        AND (NOT getvariable('touched_all') OR e.sync_id = getvariable('touched_sync'))
    ORDER BY e.kernel, v.product, p.stack_version, e.comparison_key
"""


def derive_standings(
    db: Connection, *, sync_id: int | None = None, runs: list[str] | None = None, everything: bool = False
) -> list[dict[str, Any]]:
    """Derive anew the standings and record events of the cohorts that a sync touched or hold one of `runs`; or all.

    Returns the cohorts whose leader is another than before, with both; `run_digest` is None where nobody leads now.
    Values are in `primary_unit`.
    """
    db.execute("SET VARIABLE touched_all = ?", [everything])
    db.execute("SET VARIABLE touched_sync = ?::BIGINT", [sync_id])
    db.execute("SET VARIABLE touched_runs = ?::VARCHAR[]", [runs or []])
    for _, text in sql_files("derive"):
        db.execute(text)
    return dicts(db.execute(NEWS))


def load_words(db: Connection, archive: Archive) -> list[str]:
    """Copy from the archive what people said since. Returns the subjects of the verdicts that are new here."""
    verdicts = [one for one in archive.verdicts() if one.verdict_id > _newest(db, "verdicts", "verdict_id")]
    for verdict in verdicts:
        db.execute(
            "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?)",
            [verdict.verdict_id, verdict.subject, verdict.verdict, verdict.reason, verdict.by_name,
             verdict.decided_at, verdict.after_sync],
        )  # fmt: skip
    for note in archive.notes():
        if note.note_id > _newest(db, "notes", "note_id"):
            db.execute(
                "INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?)",
                [note.note_id, note.run_digest, note.kind, note.note, note.by_name, note.written_at],
            )
    return [verdict.subject for verdict in verdicts]


def _newest(db: Connection, table: str, number: str) -> int:
    (newest,) = first_row(db, f"SELECT coalesce(max({number}), 0) FROM {table}") or (0,)
    return int(newest)


def take_in_words(db: Connection, archive: Archive) -> list[dict[str, Any]]:
    """Bring a working copy up to date with what people said. Returns the records that changed hands."""
    db.execute("BEGIN")
    migrated = bool(migrate(db))
    news = derive_standings(db, runs=load_words(db, archive), everything=migrated)
    add_family_schemas(db)
    db.execute("COMMIT")
    return news
