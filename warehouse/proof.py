"""The warehouse proves itself: every digest and key recomputed from the stored manifests, every published figure held
against the source's digits, and every row against what the archive gives.

Each proof yields (subject, detail) for what does not hold, as the SQL checks do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from scrapers.archive import Archive
from scrapers.errors import ArchiveDamaged
from transforms.identity import IdentityError, comparison_key, correctness_digest
from transforms.manifests import ManifestError, parse
from transforms.measured import measurements
from transforms.units import UnitError, format_instant_ms, ms_to_ns
from warehouse.connection import Connection
from warehouse.quoting import literal, quoted

Broken = Iterator[tuple[str, str]]

MANIFESTS = (
    ("operation_specs", "operation_digest", "'OperationSpec'"),
    ("workloads", "workload_digest", "kind"),
    ("projects", "digest", "'SoftwareProject'"),
    ("implementations", "implementation_digest", "'ImplementationRevision'"),
    ("protocols", "digest", "'BenchmarkProtocol'"),
    ("environments", "digest", "'ExecutionEnvironment'"),
    ("runs", "run_digest", "'BenchmarkRun'"),
)
REFERENCES = {
    "implementationDigest": "implementation_digest",
    "workloadDigest": "workload_digest",
    "protocolDigest": "protocol_digest",
    "environmentDigest": "environment_digest",
}
NOT_COMPARED = frozenset({"ordered_rows", "schema_migrations", "view_definitions"})
"""How the file is kept, not what it says."""

CHUNK_ROWS = 5_000
SHOWN = 3


def digests(db: Connection) -> Broken:
    """Recompute the digest of every manifest of every kind; one that is no valid manifest is broken too."""
    for table, digest, kind in MANIFESTS:
        for stated, wanted, text in _rows(db, f"SELECT {digest}, {kind}, manifest::VARCHAR FROM {table}"):
            try:
                made = parse(text)
            except ManifestError as error:
                yield table, f"{stated}: {error}"
                continue
            if (made.digest, made.kind) != (stated, wanted):
                yield table, f"{stated}: its manifest is the {made.kind} {made.digest}"


def run_columns(db: Connection) -> Broken:
    """Hold every column of `runs`, `measurements` and `source_metrics` against the run's manifest, keys included."""
    correct = _correctness(db)
    query = """
        SELECT r.* EXCLUDE (manifest), r.manifest::VARCHAR AS manifest,
            m.figures, s.native
        FROM runs r
        LEFT JOIN (
            SELECT run_digest, list((metric, statistic, unit, value)) AS figures FROM measurements GROUP BY run_digest
        ) m USING (run_digest)
        LEFT JOIN (
            SELECT run_digest, list((metric, value)) AS native FROM source_metrics GROUP BY run_digest
        ) s USING (run_digest)
    """
    names = [column[0] for column in db.execute(f"{query} LIMIT 0").description or ()]
    for values in _rows(db, query):
        row = dict(zip(names, values, strict=True))
        try:
            problem = _run_problem(row, parse(row["manifest"]).spec, correct)
        except (ManifestError, IdentityError):
            continue  # told by `digests`
        if problem:
            yield "runs", f"{row['run_digest']} ({row['source']}:{row['external_id']}): {problem}"


def _correctness(db: Connection) -> dict[str, tuple[str, str]]:
    """Map each workload to its operation and the digest of its correctness."""
    result = {}
    for digest, text in _rows(db, "SELECT workload_digest, manifest::VARCHAR FROM workloads"):
        try:
            spec = parse(text).spec
        except ManifestError:
            continue
        result[digest] = (spec["operationSpecDigest"], correctness_digest(spec["correctness"]))
    return result


def _run_problem(row: dict[str, Any], spec: dict[str, Any], correct: dict[str, tuple[str, str]]) -> str | None:
    for field, column in REFERENCES.items():
        if row[column] != spec[field]:
            return f"{column} is {row[column]}, its manifest says {spec[field]}"
    native = spec.get("sourceNative", {})
    stated = [(*one[:3], float(one.value)) for one in measurements(spec)]
    first = stated[0] if stated else (None, None, None, None)
    operation, correctness = correct.get(row["workload_digest"], ("", ""))
    interval = spec.get("timing", {}).get("latencyNs", {}).get("confidence95", [None, None])
    wanted = {
        "status": spec["status"],
        "observed_at": spec["observedAt"],
        "external_id": native.get("externalId", row["external_id"]),
        "profile": "source-native" if native else "strict",
        "operation_digest": operation,
        "primary": first,
        "interval": tuple(interval),
        "measurements": sorted(stated),
        "source_metrics": sorted((name, float(value)) for name, value in native.get("metrics", {}).items()),
        "comparison_key": comparison_key(
            operation=operation, workload=row["workload_digest"], protocol=row["protocol_digest"],
            environment=row["environment_digest"], correctness=correctness,
            metric=":".join(first[:3]) if stated else "none",  # type: ignore[arg-type]
        ),
    }  # fmt: skip
    found = row | {
        "observed_at": format_instant_ms(row["observed_at"]),
        "primary": tuple(row[f"primary_{part}"] for part in ("metric", "statistic", "unit", "value")),
        "interval": (row["primary_low"], row["primary_high"]),
        "measurements": sorted(row["figures"] or []),
        "source_metrics": sorted(row["native"] or []),
    }
    return next(
        (
            f"{name} is {found[name]}, its manifest says {value}"
            for name, value in wanted.items()
            if found[name] != value
        ),
        None,
    )


def source_digits(db: Connection) -> Broken:
    """Hold every run's figures against the digits that the source sent: the payload of the state that stated it."""
    query = """
        SELECT r.run_digest, r.primary_value, v.latency_ms, v.payload::VARCHAR, v.external_id
        FROM runs r
        JOIN submission_runs l USING (run_digest)
        JOIN submission_versions v
            ON v.source = l.source AND v.external_id = l.external_id AND v.version = l.version
        WHERE r.primary_unit = 'ns' AND v.latency_ms IS NOT NULL
    """
    digits = msgspec.json.Decoder(dict[str, msgspec.Raw])
    for run, value, text, payload, external_id in _rows(db, query):
        try:
            sent = bytes(digits.decode(payload)["latency_ms"]).decode().strip('"')
            right = sent == text and ms_to_ns(sent) == value
        except (KeyError, UnitError, msgspec.DecodeError) as error:
            yield "runs", f"{run}: the payload of {external_id} cannot be read: {error}"
            continue
        if not right:
            yield "runs", f"{run}: {value} ns, the source sent {sent} ms and {text} ms is kept"


def archived(db: Connection, archive: Archive) -> Broken:
    """Let SQLite look over the archive, hash every body in it, and look for the body of every fetch and state."""
    for line in archive.damage():
        yield "archive", f"{archive.path}: {line}; restore it"
    there = set()
    for digest in archive.bodies():
        try:
            archive.body(digest)
        except ArchiveDamaged as error:
            yield "archive", str(error)
        there.add(digest)
    query = """
        SELECT DISTINCT body_digest FROM (
            SELECT body_digest FROM fetches UNION ALL SELECT body_digest FROM submission_versions
            UNION ALL SELECT definition_digest FROM listings
            UNION ALL SELECT body_digest FROM published_run_versions
        ) WHERE body_digest IS NOT NULL ORDER BY 1
    """
    for (digest,) in _rows(db, query):
        if digest not in there:
            yield "archive", f"{archive.path} lacks the body {digest}; restore it"


def differences(
    db: Connection, made: Path, words: tuple[str, str] = ("only in the warehouse", "only in what the archive gives")
) -> Broken:
    """Compare every table of the published state `db` with that of the closed file `made`, made from the archive.

    `words` tell of the rows that only the one has, and only the other. Columns that one of them lacks are not compared.
    """
    db.execute(f"ATTACH {literal(str(made))} AS made (READ_ONLY)")
    here, there = _columns(db, "current_database()"), _columns(db, "'made'")
    for table in sorted((here.keys() | there.keys()) - NOT_COMPARED):
        columns = [column for column in here.get(table, []) if column in there.get(table, [])]
        if not columns:
            yield table, words[0 if table in here else 1]
            continue
        if said := table_differences(db, table, columns, words):
            yield table, said
    yield from _shape_differences(db, words)
    db.execute("DETACH made")


SHAPES = {
    "view": "SELECT schema_name, view_name, '', sql FROM duckdb_views() WHERE NOT internal AND database_name = {0}",
    "macro": "SELECT schema_name, function_name, parameters::VARCHAR, macro_definition FROM duckdb_functions()"
    " WHERE function_type LIKE '%macro' AND NOT internal AND database_name = {0}",
    "column": "SELECT schema_name, table_name, column_name, concat_ws(' ', data_type, is_nullable, comment)"
    " FROM duckdb_columns() WHERE NOT internal AND database_name = {0}",
}
"""What a file says beside its rows: (schema, name, part, how it is defined), for a database."""


def _shape_differences(db: Connection, words: tuple[str, str]) -> Broken:
    """Compare what views, macros and columns are, comments too: who asks them gets what they say."""
    for kind, query in SHAPES.items():
        here = set(db.execute(query.format("current_database()")).fetchall())
        there = set(db.execute(query.format("'made'")).fetchall())
        for rows, said in ((here - there, words[0]), (there - here, words[1])):
            if rows:
                names = sorted({".".join(filter(None, (row[0], row[1], row[2] * (kind == "column")))) for row in rows})
                more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
                yield f"{kind}s", f"{len(names)} {said} as they are there: {', '.join(names[:SHOWN])}{more}"


def _columns(db: Connection, database: str) -> dict[str, list[str]]:
    rows = db.execute(
        "SELECT c.table_name, list(c.column_name ORDER BY c.column_index) FROM duckdb_columns() c"
        " SEMI JOIN duckdb_tables() t USING (database_name, schema_name, table_name)"
        f" WHERE c.schema_name = 'main' AND c.database_name = {database} GROUP BY ALL"
    ).fetchall()
    return dict(rows)


def table_differences(db: Connection, table: str, columns: list[str], words: tuple[str, str]) -> str | None:
    """Say which rows of a table only `db` has, and which only the attached `made`, and in which columns they differ."""
    sides = (f"main.{quoted(table)}", f"made.main.{quoted(table)}")
    found = [_only(db, mine, other, columns) for mine, other in (sides, sides[::-1])]
    differing = [name for name in columns if _values(found[0][1], name) != _values(found[1][1], name)]
    few = all(count == len(rows) for count, rows in found)
    where = f" (differs in {', '.join(differing)})" if few and len(differing) < len(columns) else ""
    said = [
        f"{count} row{'s' if count > 1 else ''} {said}{where}: {'; '.join(map(_short, rows[:SHOWN]))}"
        for (count, rows), said in zip(found, words, strict=True)
        if count
    ]
    return " | ".join(said) or None


def _only(db: Connection, mine: str, other: str, columns: list[str]) -> tuple[int, list[dict[str, Any]]]:
    """Count the rows that only the one has, and return the first of them."""
    chosen = ", ".join(map(quoted, columns))
    db.execute(f"SELECT one FROM (SELECT {chosen} FROM {mine} EXCEPT ALL SELECT {chosen} FROM {other}) one")
    first = [one for (one,) in db.fetchmany(CHUNK_ROWS)]
    count = len(first)
    while chunk := db.fetchmany(CHUNK_ROWS):
        count += len(chunk)
    return count, first


def _values(rows: list[dict[str, Any]], name: str) -> Counter[str]:
    return Counter(repr(row[name]) for row in rows)


def _short(row: dict[str, Any]) -> str:
    text = ", ".join(f"{name} {value}" for name, value in row.items() if name not in ("manifest", "payload"))
    return text if len(text) <= 300 else text[:299] + "…"


def _rows(db: Connection, query: str) -> Iterator[tuple[Any, ...]]:
    cursor = db.cursor()
    cursor.execute(query)
    while chunk := cursor.fetchmany(CHUNK_ROWS):
        yield from chunk
