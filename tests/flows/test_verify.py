"""`kix verify`: a sound home proves itself; every damage done to the warehouse or its archive is found and named."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
import rfc8785
import zstandard
from board_server import BoardServer, Reply
from conftest import run_sync
from told import Told, in_archive, kix, prints, process, writing

from warehouse.connection import published_path
from warehouse.proof import table_differences

DERIVED = frozenset({"ordered_rows", "schema_migrations", "view_definitions"})
"""How the file is kept: no evidence."""

EVERY_ROW = "every row is what the archive gives"
WITHOUT_RIGHTS = (
    ("setpriv", "--inh-caps=-dac_override", "--bounding-set=-dac_override")
    if hasattr(os, "geteuid") and not os.geteuid()
    else ()
)
"""The superuser may write everywhere, but for this."""


def broken(home: Path) -> dict[str, str]:
    """What does not hold, by proof, in words."""
    code, out, _ = kix("verify", "--json", home=home)
    said = json.loads(out)
    found = {one["what"]: "\n".join(one["examples"]) for one in said["proofs"] if one["broken"]}
    assert (code, said["holds"]) == ((1, False) if found else (0, True))
    return found


def evidence(home: Path) -> dict[str, dict[str, str]]:
    """Column → type, of every table with rows that says something."""
    with duckdb.connect(published_path(home), read_only=True) as db:
        columns = db.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns()"
            " SEMI JOIN duckdb_tables() USING (table_name) WHERE schema_name = 'main' ORDER BY ALL"
        ).fetchall()
        tables: dict[str, dict[str, str]] = {}
        for table, column, kind in columns:
            if table not in DERIVED and db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall():
                tables.setdefault(table, {})[column] = kind
    return tables


def other(column: str, kind: str) -> str:
    """Another value of a type, in SQL."""
    column = f'"{column}"'
    return {
        "VARCHAR": f"concat({column}, '~')",
        "JSON": f"json_merge_patch(coalesce({column}, '{{}}'), '{{\"damaged\": 1}}')",
        "VARCHAR[]": f"list_append({column}, 'damaged')",
        "BOOLEAN": f"NOT coalesce({column}, false)",
        "TIMESTAMP WITH TIME ZONE": f"coalesce({column}, now()) + INTERVAL 1 SECOND",
    }.get(kind, f"coalesce({column}, 0) + 1")


# -- what is sound


def test_the_sample_holds(sample_home: Path) -> None:
    code, out, _ = kix("verify", home=sample_home)
    lines = out.splitlines()
    assert (code, "BROKEN" in out) == (0, False)
    assert lines[-1] == f"{len(lines) - 1} of {len(lines) - 1} hold"
    assert len(lines) > 10


def test_a_home_with_a_history_holds_and_nothing_is_changed(home: Path, told: Told) -> None:
    assert set(evidence(home)) >= {
        "rejects", "drift", "lifecycle", "metadata_versions", "submission_renames", "reviews", "verdicts", "notes",
    }  # fmt: skip
    with duckdb.connect(published_path(home), read_only=True) as db:
        states = dict(db.execute("SELECT sync_id, status FROM syncs").fetchall())
    assert states == {1: "complete", 2: "complete", 3: "failed", 4: "partial", 5: "interrupted"} | dict.fromkeys(
        (6, 7, 8), "complete"
    )
    before = prints(home)
    assert broken(home) == {}
    assert prints(home) == before
    assert sum(path.stat().st_size for path in home.glob("*-wal")) == 0


# -- damage in the warehouse

SHAPES = {
    "views: 1": "CREATE OR REPLACE VIEW leaderboard AS SELECT * REPLACE (rank + 1 AS rank) FROM standings",
    "sol_execbench_leaderboard.runs": "CREATE OR REPLACE VIEW sol_execbench_leaderboard.runs AS FROM runs LIMIT 10",
    "views: 10 only in what": "DROP SCHEMA sol_execbench_leaderboard CASCADE",
    "macros: 1": "CREATE OR REPLACE MACRO later_names_as_of(until_sync) AS TABLE"
    " SELECT 'a' AS source, 'b' AS external_id, 'c' AS username WHERE false",
    "columns: 1": "ALTER TABLE measurements ALTER value TYPE FLOAT",
    "main.runs.primary_value": "COMMENT ON COLUMN runs.primary_value IS 'milliseconds'",
    "notes: only in what": "DROP TABLE notes",
    "extra: only in the warehouse": "CREATE TABLE extra AS SELECT 1 AS a",
}


@pytest.mark.parametrize(("named", "damage"), SHAPES.items())
def test_what_the_file_says_beside_its_rows_is_compared_too(short: Path, named: str, damage: str) -> None:
    with writing(short) as db:
        db.execute(damage)
    found = broken(short)
    assert named in "\n".join(found.values()), found


def named_where_damaged(home: Path, statements: dict[str, str]) -> None:
    """Do damage to several tables, and look for the name of each."""
    with writing(home) as db:
        for statement in statements.values():
            ((changed,),) = db.execute(statement).fetchall()
            assert changed == 1, statement
    said = broken(home)[EVERY_ROW]
    for table in statements:
        assert any(line.startswith(f"{table}: ") for line in said.splitlines()), (table, said)


@pytest.mark.parametrize("damage", ["deleted", "doubled"])
def test_a_row_that_is_gone_or_there_twice_is_named_in_every_table(damage: str, home: Path) -> None:
    one_row = "DELETE FROM {0} WHERE rowid = (SELECT min(rowid) FROM {0})"
    twice = "INSERT INTO {0} FROM {0} LIMIT 1"
    statement = one_row if damage == "deleted" else twice
    named_where_damaged(home, {table: statement.format(table) for table in evidence(home)})


def test_the_latest_row_of_a_kind_alone_is_missed_too(home: Path) -> None:
    with writing(home) as db:
        db.execute("DELETE FROM verdicts WHERE verdict_id = (SELECT max(verdict_id) FROM verdicts)")
    said = broken(home)[EVERY_ROW]
    assert "verdicts: 1 row only in what the archive gives" in said
    assert "not seen again" in said  # the reason that Grace gave


@pytest.fixture(scope="module")
def made(told: Told, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second copy of the told home's warehouse, to compare with."""
    return Path(shutil.copy(published_path(told.home), tmp_path_factory.mktemp("made") / "made.duckdb"))


def test_another_value_is_named_in_every_column_of_every_table(home: Path, made: Path) -> None:
    """The comparison that verify does of all tables, done of each with one value changed: the column is named."""
    tables, changed = evidence(home), 0
    with writing(home) as db:
        db.execute(f"ATTACH '{made}' AS made (READ_ONLY)")
        for table, columns in tables.items():
            for column, kind in columns.items():
                db.execute("BEGIN")
                place = f"rowid = (SELECT max(rowid) FROM {table})"
                db.execute(f'UPDATE {table} SET "{column}" = {other(column, kind)} WHERE {place}')
                said = table_differences(db, table, list(columns), ("here", "there"))
                db.execute("ROLLBACK")
                assert said is not None, (table, column)
                assert f"(differs in {column})" in said, (table, column, said)
                changed += 1
    assert changed > 150


def test_values_changed_in_all_columns_are_named_in_every_table(home: Path) -> None:
    statements = {}
    for table, columns in evidence(home).items():
        sets = ", ".join(f'"{column}" = {other(column, kind)}' for column, kind in columns.items())
        statements[table] = f"UPDATE {table} SET {sets} WHERE rowid = (SELECT max(rowid) FROM {table})"
    named_where_damaged(home, statements)


def test_each_proof_names_what_it_proves(short: Path, told: Told) -> None:
    """Damages of different runs, each of which a proof of its own finds, without the archive."""
    with writing(short) as db:
        latency, manifest, key, metric, status = (
            run for (run,) in db.execute("SELECT run_digest FROM standings ORDER BY run_digest LIMIT 5").fetchall()
        )
        db.execute("UPDATE runs SET primary_value = primary_value + 1 WHERE run_digest = ?", [latency])
        text = "replace(manifest::VARCHAR, '\"passed\"', '\"timeout\"')"
        db.execute(f"UPDATE runs SET manifest = {text} WHERE run_digest = ?", [manifest])
        db.execute("UPDATE runs SET comparison_key = 'sha256:' || repeat('ab', 32) WHERE run_digest = ?", [key])
        native = "run_digest = ? AND metric = 'sol_score'"
        db.execute(f"UPDATE source_metrics SET value = value * 2 WHERE {native}", [metric])
        db.execute("UPDATE runs SET status = 'timeout' WHERE run_digest = ?", [status])
        ((record,),) = db.execute("SELECT max(comparison_key) FROM record_events").fetchall()
        db.execute("DELETE FROM record_events WHERE comparison_key = ? AND number = 1", [record])
        ((case,),) = db.execute("SELECT max(workload_digest) FROM workloads WHERE kind = 'WorkloadCase'").fetchall()
        db.execute("UPDATE workloads SET manifest = '{}' WHERE workload_digest = ?", [case])
        db.execute("UPDATE verdicts SET verdict = 'hold'")  # the run that was accepted leads its board
    found = broken(short)
    assert latency in found["figures add up"]
    assert latency in found["every latency is the source's own digits"]
    assert manifest in found["every digest is that of its manifest"]
    assert case in found["every digest is that of its manifest"]
    by_manifest = found["every run is as its manifest says, its comparison key too"]
    for run in (latency, key, metric, status):
        assert run in by_manifest, run
    assert "comparison_key is sha256:abab" in by_manifest
    assert "status is timeout" in by_manifest
    assert f"{record} event 1" in found["records follow"]
    assert f"leader that is not eligible: {told.doubted}" in found["records follow"]
    for table in ("runs", "source_metrics", "workloads", "record_events", "verdicts"):
        assert f"\n{table}: " in "\n" + found[EVERY_ROW], table


def forge(db: duckdb.DuckDBPyConnection, payload_too: bool) -> tuple[str, str, str]:
    """Halve a run's latency everywhere in the warehouse: manifest, digest, columns, references and derived rows."""
    old, text, latency, external_id = db.execute(
        "SELECT r.run_digest, r.manifest::VARCHAR, v.latency_ms, r.external_id FROM runs r"
        " JOIN submission_runs USING (run_digest) JOIN submission_versions v"
        " ON v.external_id = r.external_id AND v.version = submission_runs.version"
        " ANTI JOIN lifecycle USING (run_digest) SEMI JOIN record_events ON record_events.run_digest = r.run_digest"
        " ORDER BY r.run_digest LIMIT 1"
    ).fetchall()[0]
    document = json.loads(text)
    forged_ns = document["spec"]["timing"]["latencyNs"]["mean"] // 2
    document["spec"]["timing"]["latencyNs"]["mean"] = forged_ns
    forged_ms = f"{forged_ns / 1e6:.6f}"
    if "latency_ms" in document["spec"]["sourceNative"]["metrics"]:
        document["spec"]["sourceNative"]["metrics"]["latency_ms"] = float(forged_ms)
    canonical = rfc8785.dumps({name: document[name] for name in ("apiVersion", "kind", "spec")})
    new = "sha256:" + hashlib.sha256(canonical).hexdigest()
    db.execute(
        "UPDATE runs SET run_digest = ?, manifest = ?, primary_value = ? WHERE run_digest = ?",
        [new, json.dumps(document), forged_ns, old],
    )
    db.execute("UPDATE measurements SET run_digest = ?, value = ? WHERE run_digest = ?", [new, forged_ns, old])
    db.execute("UPDATE source_metrics SET run_digest = ? WHERE run_digest = ?", [new, old])
    db.execute(
        "UPDATE source_metrics SET value = ? WHERE run_digest = ? AND metric = 'latency_ms'", [float(forged_ms), new]
    )
    db.execute("UPDATE submission_runs SET run_digest = ? WHERE run_digest = ?", [new, old])
    if payload_too:
        db.execute(
            "UPDATE submission_versions SET latency_ms = $1, payload = replace(payload::VARCHAR, $2, $1)"
            " WHERE external_id = $3 AND latency_ms = $2",
            [forged_ms, latency, external_id],
        )
    for statement in (
        "DELETE FROM standings", "INSERT INTO standings FROM leaderboard_as_of(9223372036854775807)",
        "DELETE FROM record_events", "INSERT INTO record_events FROM record_events_of(NULL)",
    ):  # fmt: skip
        db.execute(statement)
    return old, new, external_id


def test_a_forgery_that_fits_together_is_told_by_the_sources_digits(home: Path) -> None:
    with writing(home) as db:
        _, new, _ = forge(db, payload_too=False)
    found = broken(home)
    assert set(found) == {"every latency is the source's own digits", EVERY_ROW}
    assert new in found["every latency is the source's own digits"]


def test_a_forgery_of_the_payload_too_is_told_by_the_archive(home: Path) -> None:
    with writing(home) as db:
        old, new, external_id = forge(db, payload_too=True)
    found = broken(home)
    assert set(found) == {EVERY_ROW}
    assert old in found[EVERY_ROW]
    assert new in found[EVERY_ROW]
    assert "submission_versions: " in found[EVERY_ROW]
    assert f"external_id {external_id}" in found[EVERY_ROW]


CUTS = {"nothing left": 0, "in the header": 5_000, "a third": 1 / 3, "the last block": 0.99}


@pytest.mark.parametrize("place", CUTS.values(), ids=list(CUTS))
def test_a_warehouse_cut_short_is_named(place: float, short: Path) -> None:
    path = published_path(short)
    path.chmod(0o644)
    size = path.stat().st_size
    os.truncate(path, int(place * size) if place < 1 else place)
    unreadable(short)


def unreadable(home: Path) -> None:
    """Verify names the file, and what to do, in text and in JSON."""
    before = prints(home)
    (said,) = (words for words in broken(home).values() if str(published_path(home)) in words)
    assert "kix rebuild" in said
    assert "\n" not in said
    code, out, _ = kix("verify", home=home)
    assert code == 1
    assert "BROKEN" in out
    assert str(published_path(home)) in out
    assert prints(home) == before


BLOCKS, BLOCK = 12_288, 262_144
"""Where a DuckDB file's blocks begin, and how large they are."""


def used_block(path: Path) -> int:
    """Where a block lies that holds rows of `runs`."""
    with duckdb.connect(path, read_only=True) as db:
        ((block,),) = db.execute(
            "SELECT max(block_id) FROM pragma_storage_info('runs') WHERE column_name = 'run_digest' AND block_id >= 0"
        ).fetchall()
    return BLOCKS + block * BLOCK


@pytest.mark.parametrize("damage", ["zeros", "a flipped bit"])
def test_damage_within_the_warehouse_file_is_named(damage: str, short: Path) -> None:
    path = published_path(short)
    place = used_block(path)
    path.chmod(0o644)
    whole = bytearray(path.read_bytes())
    if damage == "zeros":
        whole[place : place + BLOCK] = bytes(BLOCK)
    else:
        whole[place + 100] ^= 4
    path.write_bytes(whole)
    unreadable(short)


def test_no_warehouse_is_told(tmp_path: Path) -> None:
    code, out, words = kix("verify", home=tmp_path)
    assert (code, out) == (1, "")
    assert "no warehouse" in words
    assert "kix sync" in words


def test_a_warehouse_of_an_earlier_schema_is_told(short: Path) -> None:
    with writing(short) as db:
        db.execute("DELETE FROM schema_migrations WHERE number > 1")
    (said,) = broken(short).values()
    assert "schema 1" in said
    assert "kix rebuild" in said
    for command in (["review", "list"], ["records"], ["note", "sol-execbench:1", "x"]):
        code, _, words = kix(*command, home=short)
        assert code == 1
        assert "schema 1" in words


# -- damage in the archive


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]


def test_bodies_that_are_damaged_gone_or_others_are_named(short: Path) -> None:
    with closing(sqlite3.connect(short / "archive.sqlite")) as db:
        bodies = db.execute("SELECT body_digest, zstd FROM bodies ORDER BY body_digest").fetchall()
    (spoilt, packed), (gone, _), (replaced, _), *_ = bodies
    change = "UPDATE bodies SET zstd = ?, size_bytes = coalesce(?, size_bytes) WHERE body_digest = ?"
    in_archive(short, change, flipped(packed, len(packed) // 2), None, spoilt)
    in_archive(short, "DELETE FROM bodies WHERE body_digest = ?", gone)
    in_archive(short, change, zstandard.compress(b"{}"), 2, replaced)
    found = broken(short)
    assert set(found) == {"every answer is in the archive, byte for byte", EVERY_ROW}
    said = found["every answer is in the archive, byte for byte"]
    assert f"lacks the body {gone}" in said
    assert f"the body {replaced} in {short / 'archive.sqlite'} no longer hashes to its name" in said
    assert spoilt in said
    assert any(digest in found[EVERY_ROW] for digest in (spoilt, gone, replaced))


def test_a_fetch_that_is_gone_and_a_changed_scope_are_named(short: Path) -> None:
    in_archive(short, "DELETE FROM fetches WHERE fetch_id = 2")
    in_archive(short, "UPDATE syncs SET base_url = 'https://elsewhere.example'")
    found = broken(short)
    assert set(found) == {EVERY_ROW}
    assert "fetches: 1 row only in the warehouse: " in found[EVERY_ROW]
    assert "fetch_id 2" in found[EVERY_ROW]
    assert "syncs: 1 row only in the warehouse (differs in base_url)" in found[EVERY_ROW]


def test_a_flipped_byte_in_a_reading_is_named(short: Path) -> None:
    with closing(sqlite3.connect(short / "archive.sqlite")) as db:
        ((packed,),) = db.execute("SELECT zstd FROM readings").fetchall()
    in_archive(short, "UPDATE readings SET zstd = ?", flipped(packed, len(packed) // 2))
    assert "the reading of sync 1" in broken(short)[EVERY_ROW]


def test_what_sqlite_finds_wrong_is_named(short: Path) -> None:
    """A line of `fetches` that an index does not know: a query by address would miss it."""
    in_archive(short, "UPDATE fetches SET url = CAST(x'68ff' AS TEXT) WHERE fetch_id = 2")
    (said,) = broken(short).values()
    assert "archive" in said
    assert "UTF-8" in said


def test_an_archive_that_is_gone_is_named(short: Path) -> None:
    (short / "archive.sqlite").unlink()
    before = prints(short)
    (said,) = broken(short).values()
    assert str(short / "archive.sqlite") in said
    assert "restore it" in said
    assert prints(short) == before


def test_an_archive_that_is_none_is_named(short: Path) -> None:
    (short / "archive.sqlite").write_bytes(b"no database at all" * 1000)
    assert "not a database" in broken(short)["the archive can be read"]


def test_the_archive_of_another_home_is_named(short: Path, sample_home: Path) -> None:
    shutil.copy(sample_home / "archive.sqlite", short / "archive.sqlite")
    found = broken(short)
    assert "lacks the body" in found["every answer is in the archive, byte for byte"]
    for table in ("runs", "syncs", "submission_versions", "verdicts"):
        assert f"\n{table}: " in "\n" + found[EVERY_ROW], table
    assert "only in the warehouse" in found[EVERY_ROW]
    assert "only in what the archive gives" in found[EVERY_ROW]


# -- beside others


def test_a_read_only_home_is_verified_all_the_same(short: Path) -> None:
    if WITHOUT_RIGHTS and not shutil.which(WITHOUT_RIGHTS[0]):
        pytest.skip("the superuser cannot give up its rights here")
    for path in short.glob("archive.sqlite-*"):
        path.unlink()
    before = prints(short)
    for path in (*short.iterdir(), short):
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        with process("verify", home=short, limits=WITHOUT_RIGHTS) as verifying:
            out, words = verifying.communicate(timeout=60)
        with process("rebuild", home=short, limits=WITHOUT_RIGHTS) as rebuilding:
            _, refused = rebuilding.communicate(timeout=60)
        files = {path.name for path in short.iterdir()}
    finally:
        short.chmod(0o755)
    assert (verifying.returncode, "BROKEN" in out) == (0, False), (out, words)
    assert rebuilding.returncode == 1
    assert f"cannot use {short}" in refused
    assert "Traceback" not in refused
    assert files == set(before)
    assert prints(short) == before


def test_two_verify_at_once_and_while_a_sync_is_under_way(short: Path, board_folder: Path) -> None:
    asked, release = threading.Event(), threading.Event()

    def hold(_path: str, n: int) -> Reply | None:
        if n == 2:
            asked.set()
            release.wait(60)
        return None

    with BoardServer(board_folder) as board:
        board.answer = hold
        with process("sync", "sol-execbench", "--base-url", board.base_url, home=short) as syncing:
            assert asked.wait(60)
            with process("verify", home=short) as second:
                assert broken(short) == {}
                assert second.wait(60) == 0, second.communicate()
            release.set()
            assert syncing.wait(60) == 0, syncing.communicate()


def test_a_sync_that_publishes_in_between_is_no_damage(short: Path, board_folder: Path) -> None:
    with BoardServer(board_folder) as board:
        board.edit(3, lambda items: [one | {"error_log": "new"} for one in items])
        with process("verify", home=short) as verifying:
            assert verifying.stdout is not None
            assert verifying.stdout.readline()  # it reads the state before
            assert run_sync(short, board.base_url).status == "complete"
            out, _ = verifying.communicate(timeout=60)
    assert (verifying.returncode, "BROKEN" in out) == (0, False), out


def test_syncs_that_were_killed_are_no_damage(short: Path) -> None:
    """One after it published: in the archive it still runs. And one of another source, which has not synced since."""
    in_archive(short, "UPDATE syncs SET status = 'running', finished_at = NULL, report = NULL")
    columns = "sync_id, source, base_url, scope, started_at, status, kix_version"
    killed = (0, "elsewhere", "https://elsewhere.example", "{}", "2026-01-01T00:00:00+00:00", "interrupted", "1")
    in_archive(short, f"INSERT INTO syncs ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", *killed)
    assert broken(short) == {}
