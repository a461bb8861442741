"""Ad-hoc SQL: all formats say the same, there is no way out, time and memory are bounded, nothing is written."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from terminal import obeyed, on_terminal

from scrapers.codes import Code
from warehouse.adhoc import DENIED, EXITS, answer_query
from warehouse.admission import OPEN_FUNCTIONS, OPEN_VIEWS, QueryRefused, in_words, only_select
from warehouse.connection import WarehouseError, published_path
from warehouse.migrations import literal

SECRET = "the-secret-of-the-host"
KIX = Path(sys.executable).parent / "kix"


# Runs the child as `python -m warehouse.adhoc` does, but each in a fork of one process that has its libraries: a new
# interpreter for each of some two hundred queries would take a minute.
FORKS = """
import base64, csv, json, os, runpy, sys, tempfile
import duckdb, orjson, polars, rich.console, rich.table, warehouse.connection

for line in sys.stdin:
    with tempfile.TemporaryFile() as task, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as words:
        task.write(line.encode())
        task.flush()
        pid = os.fork()
        if pid == 0:
            for place, file in enumerate((task, out, words)):
                os.lseek(file.fileno(), 0, os.SEEK_SET)
                os.dup2(file.fileno(), place)
            sys.stdin = open(0, closefd=False)
            code = 70
            try:
                runpy.run_module("warehouse.adhoc", run_name="__main__")
            except SystemExit as end:
                code = end.code or 0
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        out.seek(0)
        words.seek(0)
        print(json.dumps([code, base64.b64encode(out.read()).decode(), words.read().decode()]), flush=True)
"""


@dataclass(frozen=True)
class Place:
    """A home to ask, and a folder beside it with files that no query may see."""

    home: Path
    beside: Path
    forks: subprocess.Popen[str]

    @property
    def warehouse(self) -> Path:
        return published_path(self.home)

    def files(self) -> dict[str, str]:
        every = [path for folder in (self.home, self.beside) for path in folder.rglob("*") if path.is_file()]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in every}

    def named(self, query: str) -> str:
        return query.replace("{beside}", str(self.beside)).replace("{home}", str(self.home))

    def child(self, query: str, form: str) -> tuple[int, bytes, str]:
        """Exit code, answer and words of the child that answers queries."""
        task = {"warehouse": str(self.warehouse), "query": query, "form": form, "timeout_s": 20, "memory_mb": 512}
        assert self.forks.stdin is not None
        assert self.forks.stdout is not None
        self.forks.stdin.write(json.dumps(task) + "\n")
        self.forks.stdin.flush()
        code, answer, words = json.loads(self.forks.stdout.readline())
        return code, base64.b64decode(answer), words


@pytest.fixture(scope="module")
def place(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("adhoc")
    home, beside = folder / "home", folder / "beside"
    home.mkdir()
    beside.mkdir()
    shutil.copyfile(published_path(sample_home), published_path(home))
    published_path(home).chmod(0o444)
    for name, text in (("s.csv", f"a\n{SECRET}\n"), ("s.json", f'[{{"a": "{SECRET}"}}]'), ("s.txt", SECRET)):
        (beside / name).write_text(text, encoding="utf-8")
    (home / "kix.toml").write_text(f'contact = "{SECRET}"\n', encoding="utf-8")
    pl.DataFrame({"a": [SECRET]}).write_parquet(beside / "s.parquet")
    with duckdb.connect(beside / "s.duckdb") as db:
        db.execute(f"CREATE TABLE s AS SELECT '{SECRET}' AS a")
    with subprocess.Popen(
        [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as forks:
        yield Place(home, beside, forks)
        assert forks.stdin is not None
        forks.stdin.close()


@pytest.fixture(scope="module")
def untouched(place: Place) -> Iterator[None]:
    before = place.files()
    yield
    assert place.files() == before


def ask(place: Place, query: str, form: str = "json", *, timeout_s: float = 20, memory_mb: int = 512) -> bytes:
    """Ask as the command does, in a process of its own."""
    with tempfile.TemporaryFile() as file:
        answer_query(place.warehouse, query, form, file, timeout_s=timeout_s, memory_mb=memory_mb)
        file.seek(0)
        return file.read()


def outcome(place: Place, query: str, **bounds: Any) -> tuple[bytes, str]:
    """The answer and no words, or no answer and the words of the refusal."""
    try:
        return ask(place, query, **bounds), ""
    except QueryRefused as refused:
        return b"", str(refused)


def answered(place: Place, query: str, form: str = "json") -> bytes:
    """Ask the child, quickly."""
    code, answer, words = place.child(query, form)
    assert (code, words) == (0, "")
    return answer


def rows(place: Place, query: str) -> list[dict[str, Any]]:
    return json.loads(answered(place, query))


def kix(*arguments: str, given: str = "") -> subprocess.CompletedProcess[bytes]:
    command = [KIX, "sql", *arguments]
    return subprocess.run(command, input=given.encode(), capture_output=True, check=False, timeout=60)


# -- formats


LEADERS = (
    "SELECT kernel, external_id, rank, tied, cohort_size, project, product, stack_version, primary_value,"
    " relative_to_best, observed_at FROM leaderboard ORDER BY kernel, product, stack_version, place"
)
STATES = (
    "SELECT external_id, is_correct, is_disqualified, latency_ms, sol_score, submitted_at, finished_at, payload"
    " FROM submissions ORDER BY external_id"
)
SHAPES = (
    "SELECT slug, tags, {'tags': tags, 'length': len(tags)} AS packed, manifest, NULL AS nothing"
    " FROM operations ORDER BY slug"
)
SUMS = (
    "SELECT kernel, count(*) AS boards, sum(runs) AS runs, avg(runs) AS average, max(last_observed_at) AS newest"
    " FROM cohorts GROUP BY kernel ORDER BY kernel"
)
LONG = "SELECT range AS n, range % 7 = 0 AS seventh, 'row ' || range AS words FROM range(5000)"


def as_cell(value: Any) -> str:
    """What CSV holds for a JSON value."""
    return "" if value is None else str(value)


def as_json(value: Any) -> Any:
    """What JSON holds for a value read from Parquet."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)  # a HUGEINT, for which Parquet has no type of its own
    return value


@pytest.mark.parametrize(
    "query", [LEADERS, STATES, SHAPES, SUMS, LONG], ids=["leaderboard", "submissions", "nested", "sums", "long"]
)
def test_all_formats_say_the_same(query: str, place: Place, untouched: None) -> None:
    texts = {form: answered(place, query, form) for form in ("csv", "json", "jsonl", "parquet")}
    with duckdb.connect(place.warehouse, read_only=True) as db:
        cursor = db.execute(query)
        names = [column[0] for column in cursor.description or ()]
        expected = [dict(zip(names, map(as_json, row), strict=True)) for row in cursor.fetchall()]
    assert len(expected) > 10
    assert json.loads(texts["json"]) == expected
    assert [json.loads(line) for line in texts["jsonl"].decode().splitlines()] == expected
    frame = pl.read_parquet(io.BytesIO(texts["parquet"]))
    assert [{name: as_json(value) for name, value in row.items()} for row in frame.to_dicts()] == expected
    cells = list(csv.DictReader(io.StringIO(texts["csv"].decode(), newline="")))
    assert list(cells[0]) == names
    for cell, row in zip(cells, expected, strict=True):
        for name, value in row.items():
            if isinstance(value, list | dict):
                assert json.loads(cell[name]) == value
            else:
                assert cell[name] == as_cell(value)


def test_a_table_shows_the_same(place: Place, untouched: None) -> None:
    query = "SELECT external_id AS id, rank, stack_version AS stack FROM leaderboard ORDER BY external_id LIMIT 30"
    expected = [[str(value) for value in row.values()] for row in rows(place, query)]
    lines = answered(place, query, "table").decode().splitlines()
    shown = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]
    assert shown == expected
    assert [cell.strip() for cell in lines[1].strip("┃").split("┃")] == ["id", "rank", "stack"]
    assert lines[-1] == "30 rows"


def test_a_long_table_says_that_it_is_cut(place: Place) -> None:
    lines = answered(place, "FROM range(1001)", "table").decode().splitlines()
    assert sum(line.startswith("│") for line in lines) == 1000
    assert "1,000" in lines[-1]
    assert "csv" in lines[-1]


@pytest.mark.parametrize(("form", "empty"), [("csv", "run_digest,primary_value\n"), ("json", "[\n]\n"), ("jsonl", "")])
def test_no_rows_are_an_answer(form: str, empty: str, place: Place) -> None:
    assert answered(place, "SELECT run_digest, primary_value FROM runs WHERE false", form).decode() == empty


def test_no_rows_in_parquet_keep_their_columns(place: Place) -> None:
    frame = pl.read_parquet(
        io.BytesIO(answered(place, "SELECT run_digest, primary_value FROM runs WHERE false", "parquet"))
    )
    assert frame.schema == {"run_digest": pl.String, "primary_value": pl.Float64}
    assert frame.height == 0


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "table"])
@pytest.mark.parametrize(
    ("value", "number"), [("sum(9223372036854775807)", 4 * (2**63 - 1)), ("max(1.25)", Decimal("1.25"))], ids=str
)
def test_numbers_are_exact_in_every_format(value: str, number: Any, form: str, place: Place) -> None:
    text = answered(place, f"SELECT {value} AS figure FROM range(4)", form).decode()
    assert str(number) in text
    if form == "json":
        assert Decimal(str(json.loads(text)[0]["figure"])) == number


def test_a_time_beside_a_large_number_is_written_as_ever(place: Place) -> None:
    query = (
        "SELECT sum(9223372036854775807) AS large, max(observed_at) AS newest, 'nan'::DOUBLE AS nan,"
        " [max(observed_at)] AS several, max(manifest->>'$.spec.observedAt') AS said FROM runs"
    )
    for form in ("json", "jsonl"):
        (line,) = [line for line in answered(place, query, form).decode().splitlines() if line.strip(" []")]
        row = json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
        assert row["large"] > 2**64
        assert row["large"] % (2**63 - 1) == 0
        assert row["newest"].endswith("Z")
        assert datetime.fromisoformat(row["newest"]) == datetime.fromisoformat(row["said"])
        assert row["several"] == [row["newest"]]


FORMATS = ("table", "csv", "json", "jsonl", "parquet")


@pytest.mark.parametrize("form", FORMATS)
def test_no_column_is_lost_when_two_have_one_name(form: str, place: Place) -> None:
    code, answer, words = place.child("SELECT 'first' AS twice, 'second' AS twice", form)
    assert code in (0, *EXITS.values())
    assert ("twice" in words) if words else (b"first" in answer and b"second" in answer)


@pytest.mark.parametrize("form", FORMATS)
def test_an_uncommon_type_is_answered_or_refused_in_words(form: str, place: Place) -> None:
    query = (
        "SELECT INTERVAL 3 DAYS AS i, TIME '10:00' AS t, DATE '2026-01-01' AS d, uuid() AS u, 'x'::BLOB AS b,"
        " MAP {'k': 1} AS m, 1::UHUGEINT AS h, 'nan'::DOUBLE AS n"
    )
    code, answer, words = place.child(query, form)
    assert code in (0, *EXITS.values())
    assert answer or words


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/St_Johns"])
def test_times_are_utc_whatever_the_hosts_zone(zone: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    query = (
        "SELECT observed_at, observed_at::DATE AS day, [observed_at] AS several, {'at': observed_at} AS packed,"
        " observed_at::VARCHAR AS written, date_trunc('day', observed_at) AS midnight FROM runs ORDER BY run_digest"
    )
    with ThreadPoolExecutor(2) as pool:
        answer, text = pool.map(lambda form: ask(place, query, form), ("json", "csv"))
    cells = list(csv.DictReader(io.StringIO(text.decode())))
    found = json.loads(answer)
    with duckdb.connect(place.warehouse, read_only=True) as db:
        manifests = db.execute("SELECT manifest->>'$.spec.observedAt' FROM runs ORDER BY run_digest").fetchall()
    assert any(at[11:] < "03:30" for (at,) in manifests)
    assert any(at[11:] > "18:15" for (at,) in manifests)
    for row, cell, (at,) in zip(found, cells, manifests, strict=True):
        assert row["observed_at"].endswith("Z")
        assert datetime.fromisoformat(row["observed_at"]) == datetime.fromisoformat(at)
        assert cell["observed_at"] == row["observed_at"]
        assert row["day"] == cell["day"] == at[:10]
        assert row["several"] == json.loads(cell["several"]) == [row["observed_at"]]
        assert row["packed"] == json.loads(cell["packed"]) == {"at": row["observed_at"]}
        assert row["written"].startswith(at[:10])
        assert row["written"].endswith("+00")
        assert row["midnight"] == cell["midnight"] == f"{at[:10]}T00:00:00Z"


# -- no way out


ESCAPES = {
    "read_csv": "FROM read_csv('{beside}/s.csv')",
    "read_csv_auto": "FROM read_csv_auto('{beside}/s.csv')",
    "read_csv of several": "FROM read_csv(['{beside}/s.csv', '{beside}/s.csv'])",
    "read_csv of a pattern": "FROM read_csv('{beside}/*.csv')",
    "read_csv of standard input": "FROM read_csv('/dev/stdin')",
    "read_text": "SELECT content FROM read_text('{beside}/s.txt')",
    "read_text of the settings": "SELECT content FROM read_text('{home}/kix.toml')",
    "read_text by a detour": "SELECT content FROM read_text('{home}/warehouse.duckdb.tmp/../kix.toml')",
    "read_text of the environment": "SELECT content FROM read_text('/proc/self/environ')",
    "read_blob": "SELECT content FROM read_blob('{beside}/s.txt')",
    "read_blob of the warehouse": "SELECT size FROM read_blob('{home}/warehouse.duckdb')",
    "read_blob of the warehouse, shouted": "SELECT size FROM READ_BLOB('{home}/warehouse.duckdb')",
    "read_blob of the warehouse, quoted": "SELECT size FROM \"read_blob\"('{home}/warehouse.duckdb')",
    "read_blob of the warehouse, qualified": "SELECT size FROM system.main.read_blob('{home}/warehouse.duckdb')",
    "read_blob of the warehouse in a subquery": "SELECT (SELECT size FROM read_blob('{home}/warehouse.duckdb')) AS a",
    "read_blob of the warehouse in query()": "FROM query('SELECT size FROM read_blob(''{home}/warehouse.duckdb'')')",
    "read_blob of the warehouse, serialised": "FROM json_execute_serialized_sql(json_serialize_sql("
    "'SELECT size FROM read_blob(''{home}/warehouse.duckdb'')'))",
    "read_csv of the warehouse": "FROM read_csv('{home}/warehouse.duckdb', columns={'a': 'VARCHAR'})",
    "the warehouse's log": "FROM read_text('{home}/warehouse.duckdb.wal')",
    "the warehouse as a file": "FROM '{home}/warehouse.duckdb'",
    "read_duckdb of the warehouse": "FROM read_duckdb('{home}/warehouse.duckdb', table_name='runs')",
    "read_duckdb": "FROM read_duckdb('{beside}/s.duckdb', table_name='s')",
    "read_parquet": "FROM read_parquet('{beside}/s.parquet')",
    "parquet_scan": "FROM parquet_scan('{beside}/s.parquet')",
    "parquet_metadata": "FROM parquet_metadata('{beside}/s.parquet')",
    "parquet_schema": "FROM parquet_schema('{beside}/s.parquet')",
    "read_json": "FROM read_json('{beside}/s.json')",
    "read_json_objects": "FROM read_json_objects('{beside}/s.json')",
    "read_ndjson": "FROM read_ndjson('{beside}/s.json')",
    "sniff_csv": "FROM sniff_csv('{beside}/s.csv')",
    "glob": "FROM glob('{beside}/*')",
    "glob of the home": "FROM glob('{home}/*')",
    "a CSV file as a table": "FROM '{beside}/s.csv'",
    "a Parquet file as a table": 'SELECT * FROM "{beside}/s.parquet"',
    "a DuckDB file as a table": "FROM '{beside}/s.duckdb'",
    "an address as a table": "FROM 'https://127.0.0.1:9/x.parquet'",
    "a bucket": "FROM read_parquet('s3://bucket/x.parquet')",
    "a variable of the program": "FROM task",
    "a module of the program": "FROM json",
    "in a scalar subquery": "SELECT (SELECT content FROM read_text('{beside}/s.txt')) AS content",
    "in a CTE": "WITH s AS MATERIALIZED (FROM read_text('{beside}/s.txt')) FROM s",
    "in query()": "FROM query('FROM read_text(''{beside}/s.txt'')')",
    "in query_table()": "FROM query_table('{beside}/s.csv')",
    "serialised": "FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''{beside}/s.txt'')'))",
    "COPY out": "COPY runs TO '{beside}/out.csv'",
    "COPY of a query": "COPY (SELECT 1) TO '{beside}/out.parquet' (FORMAT parquet)",
    "COPY in": "COPY runs FROM '{beside}/s.csv'",
    "COPY in query()": "FROM query('COPY runs TO ''{beside}/out.csv''')",
    "COPY database": "COPY FROM DATABASE warehouse TO memory",
    "EXPORT": "EXPORT DATABASE '{beside}/out'",
    "IMPORT": "IMPORT DATABASE '{beside}'",
    "ATTACH": "ATTACH '{beside}/s.duckdb' AS s",
    "ATTACH a new file": "ATTACH '{beside}/new.duckdb'",
    "ATTACH memory": "ATTACH ':memory:' AS m",
    "DETACH": "DETACH warehouse",
    "USE": "USE memory",
    "INSTALL": "INSTALL httpfs",
    "LOAD": "LOAD httpfs",
    "LOAD of a file": "LOAD '{beside}/s.duckdb_extension'",
    "LOAD of what is built in": "LOAD json",
    "PRAGMA": "PRAGMA database_list",
    "PRAGMA that sets": "PRAGMA enable_profiling='json'",
    "CALL": "CALL pragma_version()",
    "logging to a file": "FROM enable_logging(storage='file', storage_path='{beside}/out.log')",
    "CALL of logging": "CALL enable_logging('QueryLog')",
    "profiling to a file": "FROM enable_profiling(save_location='{beside}/out.json')",
    "SET": "SET enable_external_access = true",
    "SET of threads": "SET threads = 64",
    "SET of memory": "SET memory_limit = '1TB'",
    "SET GLOBAL": "SET GLOBAL lock_configuration = false",
    "SET VARIABLE": "SET VARIABLE x = 1",
    "RESET": "RESET lock_configuration",
    "getenv": "SELECT getenv('HOME')",
    "duckdb_secrets": "FROM duckdb_secrets()",
    "which_secret": "FROM which_secret('s3://a', 's3')",
    "CREATE SECRET": "CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "CREATE TABLE": "CREATE TABLE t AS SELECT 1",
    "CREATE TEMP TABLE": "CREATE TEMP TABLE t AS SELECT 1",
    "CREATE VIEW": "CREATE TEMP VIEW v AS SELECT 1",
    "CREATE MACRO": "CREATE TEMP MACRO m(a) AS a + 1",
    "CREATE SEQUENCE": "CREATE TEMP SEQUENCE q",
    "CREATE SCHEMA": "CREATE SCHEMA s",
    "DROP": "DROP TABLE runs",
    "ALTER": "ALTER TABLE runs ADD COLUMN x INTEGER",
    "INSERT": "INSERT INTO runs SELECT * FROM runs",
    "UPDATE": "UPDATE runs SET status = 'failed'",
    "DELETE": "DELETE FROM runs",
    "TRUNCATE": "TRUNCATE runs",
    "COMMENT": "COMMENT ON TABLE runs IS 'mine'",
    "DELETE in a CTE": "WITH d AS (DELETE FROM runs RETURNING *) SELECT * FROM d",
    "INSERT in a CTE": "WITH d AS (INSERT INTO runs FROM runs RETURNING *) SELECT * FROM d",
    "BEGIN": "BEGIN",
    "CHECKPOINT": "CHECKPOINT",
    "VACUUM": "VACUUM",
    "ANALYZE": "ANALYZE",
    "PREPARE": "PREPARE p AS SELECT 1",
    "EXECUTE": "EXECUTE p",
    "EXPLAIN ANALYZE of a change": "EXPLAIN ANALYZE DELETE FROM runs",
    "two statements": "SELECT 1; SELECT 2",
    "a change after a question": "SELECT 1; DROP TABLE runs",
    "a change before a question": "DROP TABLE runs; SELECT 1",
    "a change behind a comment": "SELECT 1 /* ; */ ; -- nothing\nCOPY runs TO '{beside}/out.csv'",
    "a change behind a line comment": "-- SELECT 1;\nATTACH '{beside}/new.duckdb'",
    "a comment that ends early": "SELECT 1 /* a */ ; /* b */ SET threads = 64 /* c",
    "a semicolon in dollar quotes": "SELECT $$ ; $$ ; DROP TABLE runs",
    "pg_settings": "FROM pg_settings",
    "pg_settings, qualified": "FROM system.pg_catalog.pg_settings",
    "pg_settings, shouted": "FROM PG_SETTINGS",
    "pg_settings, quoted": 'TABLE "pg_settings"',
    "pg_settings behind a comment": "FROM/**/pg_settings--",
    "pg_settings after odd spaces": "FROM\x0b\x0c\u00a0\u2003pg_settings",
    "pg_settings in a subquery": "SELECT (SELECT max(setting) FROM pg_settings)",
    "pg_settings in a limit": "SELECT 1 LIMIT (SELECT count(*) FROM pg_settings)",
    "pg_settings in a recursion": "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT (SELECT count(*)::INT FROM"
    " pg_settings)) FROM t",
    "pg_settings in a CTE": "WITH s AS (FROM pg_settings) FROM s",
    "pg_settings, unpivoted": "UNPIVOT pg_settings ON setting",
    "pg_settings, pivoted": "PIVOT pg_settings ON name USING first(setting)",
    "pg_settings, summarized": "SUMMARIZE pg_settings",
    "pg_settings, described": "SHOW pg_settings",
    "pg_settings, laterally": "FROM runs, LATERAL (FROM pg_settings) s",
    "pg_settings in a histogram": "FROM histogram(pg_settings, name)",
    "pg_settings in values of a histogram": "FROM histogram_values('pg_settings', name)",
    "pg_settings in a summary": "FROM summary((FROM pg_settings))",
    "pragma_show": "FROM pragma_show('pg_settings')",
    "SHOW of a setting": "SHOW allowed_paths",
    "SHOW of a setting, quoted": 'SHOW "secret_directory"',
    "SHOW of a setting in a subquery": "FROM (SHOW allowed_paths)",
    "duckdb_settings": "FROM duckdb_settings()",
    "duckdb_databases": "FROM duckdb_databases",
    "duckdb_logs": "FROM duckdb_logs",
    "duckdb_logs_parsed": "FROM duckdb_logs_parsed('QueryLog')",
    "duckdb_temporary_files": "FROM duckdb_temporary_files()",
    "duckdb_external_file_cache": "FROM duckdb_external_file_cache()",
    "duckdb_extensions": "FROM duckdb_extensions()",
    "duckdb_extension_repositories": "FROM duckdb_extension_repositories()",
    "duckdb_variables": "FROM duckdb_variables()",
    "pragma_database_list": "FROM pragma_database_list",
    "pragma_database_size": "FROM pragma_database_size()",
    "pragma_storage_info": "FROM pragma_storage_info('runs')",
    "checkpoint()": "FROM checkpoint()",
    "force_checkpoint()": "FROM force_checkpoint('warehouse')",
    "truncate_duckdb_logs()": "FROM truncate_duckdb_logs()",
    "add_grammar_extension()": "FROM add_grammar_extension('a')",
    "create_external_resource()": "FROM create_external_resource('a')",
    "a pointer": "FROM arrow_scan(1::BIGINT, 1::BIGINT, 1::BIGINT)",
    "a frame of the program": "FROM pandas_scan(1::BIGINT)",
    "a function of the program": "FROM python_map_function((SELECT 1))",
    "current_setting": "SELECT current_setting('secret_directory')",
    "current_setting as a method": "SELECT 'secret_directory'.current_setting()",
    "current_setting in a lambda": "SELECT list_transform(['allowed_paths'], lambda x: current_setting(x))",
    "current_setting in a plan": "SELECT json_serialize_plan('SELECT current_setting(''allowed_paths'')',"
    " optimize := true)",
    "getvariable": "SELECT getvariable('a')",
    "write_log": "SELECT write_log('a')",
    "a wait": "SELECT pg_sleep(1000)",
    "the program's memory": "SELECT finalize('\\x00'::BLOB)",
    "typographic quotes": "FROM \u2018{beside}/s.csv\u2019",
    "full-width letters": "FROM \uff52\uff45\uff41\uff44_text('{beside}/s.txt')",
    "a zero width in the name": "FROM read\u200b_text('{beside}/s.txt')",
    "a NUL in the name": "FROM read_text\x00('{beside}/s.txt')",
    "an escape in the name": "FROM U&\"read\\005ftext\"('{beside}/s.txt')",
    "a data address": "FROM 'data:text/csv,a'",
    "a file of the person": "FROM '~/.bashrc.csv'",
    "a pipe": "FROM read_csv('ls |')",
    "a pipe as a table": "FROM 'ls |'",
    "the shell of DuckDB": ".shell ls",
    "a read of DuckDB's shell": ".read {beside}/s.txt",
    "an exclamation mark": "! ls",
    "psql's copy": "\\copy runs to '{beside}/out.csv'",
    "EXPLAIN ANALYZE of a file": "EXPLAIN ANALYZE FROM read_text('{beside}/s.txt')",
    "DESCRIBE of a file": "DESCRIBE FROM read_text('{beside}/s.txt')",
    "SUMMARIZE of a file": "SUMMARIZE FROM '{beside}/s.csv'",
    "an extension that is not there": "FROM st_read('{beside}/s.csv')",
    "a database that is not there": "FROM sqlite_scan('{beside}/s.db', 't')",
    "a semicolon in a string": "SELECT ';' ; DROP TABLE runs",
    "a semicolon in a name": 'SELECT 1 AS ";" ; DROP TABLE runs',
    "a query without end": "SELECT " + "(" * 60_000 + "1" + ")" * 60_000,
    "brackets in brackets": "SELECT " + "[" * 900 + "1" + "]" * 900,
    "nothing": "",
    "only a comment": "-- SELECT 1",
}


QUESTIONS = [
    "SELECT 1",
    "SELECT 1;",
    "SELECT 1; -- that is all",
    "-- ; one\n/* ; two */ SELECT 1",
    "SELECT ';' AS semicolon",
    "FROM runs LIMIT 1",
    "VALUES (1)",
    "WITH r AS (FROM runs) SELECT count(*) FROM r",
    "DESCRIBE runs",
    "SHOW TABLES",
    "SHOW ALL TABLES",
    "SHOW runs",
    "SHOW LEADERBOARD",
    "FROM leaderboard_as_of(1)",
    "FROM json_each('[1]')",
    "SUMMARIZE reviews",
    "FROM sol_execbench_leaderboard.leaderboard LIMIT 1",
    "SELECT table_name, comment FROM duckdb_tables()",
]


def paths_of_host(place: Place) -> list[str]:
    """Places of this machine that no answer names: the home's, the person's, the program's."""
    return [str(place.home.parent), str(Path.home()) + "/", sys.prefix, str(Path(__file__).parents[2])]


@pytest.mark.parametrize("name", ESCAPES)
def test_there_is_no_way_out(name: str, place: Place, untouched: None) -> None:
    code, answer, words = place.child(place.named(ESCAPES[name]), "json")
    assert (code in EXITS.values(), answer) == (True, b"")
    assert words.strip()
    assert SECRET not in words
    assert "Traceback" not in words
    asked = place.named(ESCAPES[name])
    assert [path for path in paths_of_host(place) if path in words and path not in asked] == []


@pytest.mark.parametrize(
    "name", ["read_text", "a CSV file as a table", "COPY out", "DELETE in a CTE", "two statements"]
)
def test_a_refusal_reaches_the_one_who_asked(name: str, place: Place, untouched: None) -> None:
    with pytest.raises(QueryRefused, match=r"disabled|not answered|only SELECT|read-only|one statement"):
        ask(place, place.named(ESCAPES[name]))


@pytest.mark.parametrize("query", QUESTIONS)
def test_a_question_is_answered(query: str, place: Place) -> None:
    assert json.loads(answered(place, query))


@pytest.fixture
def closed(place: Place) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(place.warehouse, read_only=True, config=DENIED) as connection:
        yield connection


def test_a_table_function_is_refused_unless_it_is_known_to_show_nothing(closed: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE internal AND function_type LIKE 'table%'"
    others = {name for (name,) in closed.execute(query).fetchall()} - OPEN_FUNCTIONS
    assert {"read_csv", "glob", "query", "duckdb_settings", "checkpoint", "arrow_scan"} <= others
    for name in others:
        with pytest.raises(QueryRefused, match=f"^{name} is not answered"):
            only_select(closed, f"FROM {name}()")


def test_a_view_of_duckdb_itself_is_refused_unless_it_is_known_to_show_nothing(
    closed: duckdb.DuckDBPyConnection,
) -> None:
    views = closed.execute("SELECT schema_name, view_name FROM duckdb_views() WHERE internal").fetchall()
    others = [(schema, name) for schema, name in views if name not in OPEN_VIEWS]
    assert {"pg_settings", "duckdb_databases", "duckdb_logs"} <= {name for _, name in others}
    for schema, name in others:
        for said in (f"{schema}.{name}", f'system."{schema}"."{name.upper()}"', name):
            with pytest.raises(QueryRefused, match=f"(?i)^{name} is not answered"):
                only_select(closed, f"SELECT 1 FROM {said}")


@pytest.mark.parametrize("name", sorted(OPEN_FUNCTIONS & {f"duckdb_{one}" for one in
    ("columns", "constraints", "functions", "indexes", "keywords", "schemas", "sequences", "tables", "types", "views")}
    | {"pragma_version", "pg_timezone_names", "icu_calendar_names"}))  # fmt: skip
def test_what_an_open_function_shows_names_no_place(name: str, place: Place) -> None:
    shown = answered(place, f"FROM {name}()", "csv").decode()
    assert [path for path in paths_of_host(place) if path in shown] == []


@pytest.mark.parametrize("name", sorted(OPEN_VIEWS))
def test_what_an_open_view_shows_names_no_place(name: str, place: Place) -> None:
    schemas = ("information_schema", "pg_catalog", "main")
    outcomes = [place.child(f"FROM system.{schema}.{name}", "csv") for schema in schemas]
    shown = [answer.decode() for code, answer, _ in outcomes if code == 0]
    assert shown
    assert [path for path in paths_of_host(place) for text in shown if path in text] == []


def test_words_keep_paths_that_the_query_named_and_lose_all_others() -> None:
    query = "SELECT a/b FROM 'x/y.csv' WHERE p = '/kernels/5'"
    error = RuntimeError(
        'IO Error: cannot open "/var/lib/some where/w.duckdb" or file:///opt/x.so or C:\\Users\\me or ~/.duckdb/a'
        " near a/b and x/y.csv and '/kernels/5'\n\nStack Trace:\n\n0 /usr/lib/python/duckdb.so(+0x1)"
    )
    assert in_words(error, query, ["/var/lib/some where"]) == (
        "IO Error: cannot open \"…\" or … or … or … near a/b and x/y.csv and '/kernels/5'"
    )


def test_a_warehouse_that_cannot_be_opened_is_told_without_its_place(tmp_path: Path) -> None:
    (tmp_path / "a place").mkdir()
    published_path(tmp_path / "a place").write_bytes(b"no database")
    with pytest.raises(QueryRefused) as refused, tempfile.TemporaryFile() as out:
        answer_query(published_path(tmp_path / "a place"), "SELECT 1", "json", out, timeout_s=20, memory_mb=64)
    assert "not a valid DuckDB database file" in str(refused.value)
    assert "a place" not in str(refused.value)
    assert str(tmp_path) not in str(refused.value)


def test_the_system_refuses_any_file_even_if_duckdb_would_not(place: Place) -> None:
    code = (
        "import sys, warehouse.adhoc as adhoc\n"
        "adhoc.DENIED.clear()\n"
        "adhoc.only_select = lambda connection, query: connection.extract_statements(query)[0]\n"
        "raise SystemExit(adhoc._child())\n"
    )
    for query in (f"FROM read_text('{place.beside}/s.txt')", f"COPY (SELECT 1) TO '{place.beside}/out.csv'"):
        task = {"warehouse": str(place.warehouse), "query": query, "form": "csv", "timeout_s": 20, "memory_mb": 64}
        done = subprocess.run(
            [sys.executable, "-c", code], input=json.dumps(task), capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (EXITS[Code.QUERY_FAILED], "")
        assert "Too many open files" in done.stderr
    assert not (place.beside / "out.csv").exists()


def test_the_child_sees_nothing_of_the_environment_that_it_does_not_need(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, str]] = []
    start = subprocess.Popen

    def started(*arguments: Any, **named: Any) -> Any:
        given.append(named["env"])
        return start(*arguments, **named)

    for name in ("AWS_SECRET_ACCESS_KEY", "KIX_CONTACT", "HOME_OF_SECRETS", "PREFECT_API_KEY"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setattr("warehouse.adhoc.subprocess.Popen", started)
    assert ask(place, "SELECT 1 AS a", "csv") == b"a\n1\n"
    (environment,) = given
    assert SECRET not in environment.values()
    assert "HOME" not in environment
    assert "PATH" in environment


# -- bounds


@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE t AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM t) SELECT count(*) FROM t",
        "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range < 0",
        "SELECT * FROM range(1000000000000)",
    ],
    ids=["recursion", "a large product", "endless rows"],
)
def test_an_endless_query_ends_in_time_and_words(query: str, place: Place, untouched: None) -> None:
    began = time.monotonic()
    with pytest.raises(QueryRefused, match=r"longer than 1 s.*KIX_SQL_TIMEOUT_S"):
        ask(place, query, "csv", timeout_s=1)
    assert time.monotonic() - began < 1 + 10 + 5


@pytest.mark.parametrize(
    "query",
    [
        "SELECT repeat('a', 1000000000)",
        "SELECT length(repeat(repeat('ab', 100000), 20000))",
        "SELECT list(range) FROM range(1000000000)",
        "SELECT range(1000000000)",
    ],
)
def test_a_huge_value_is_refused_in_words(query: str, place: Place, untouched: None) -> None:
    answer, words = outcome(place, query, timeout_s=10, memory_mb=128)
    assert answer == b""
    assert "128 MiB" in words
    assert "KIX_SQL_MEMORY_MB" in words


@pytest.mark.parametrize(
    "query",
    [
        "SELECT lpad('a', 1000000000, 'b')",
        "SELECT (repeat('9', 10000000))::BIGNUM",
        "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))",
        "WITH RECURSIVE t AS (SELECT 'a' AS s UNION ALL SELECT s || s FROM t) SELECT length(s) FROM t",
        "SELECT list_transform(range(1000000000), lambda x: x)",
        "SELECT printf('%1000000000d', 1)",
        "SELECT json(repeat('[', 100000000))",
        "SELECT CAST(repeat('x', 50000000) AS INT)",
    ],
)
def test_whatever_costs_too_much_ends_in_time_and_words(query: str, place: Place, untouched: None) -> None:
    began = time.monotonic()
    answer, words = outcome(place, query, form="csv", timeout_s=1, memory_mb=128)
    assert time.monotonic() - began < 1 + 10 + 5
    assert answer == b""
    assert "longer than 1 s" in words or "128 MiB" in words or "Malformed JSON" in words
    assert len(words) < 3_000


@pytest.mark.parametrize(
    "query",
    [
        "SELECT regexp_matches(repeat('a', 300000), '(a*)*b')",
        "SELECT regexp_matches(repeat('a', 300000), '^(a|aa)+$')",
        "SELECT regexp_replace(repeat('a', 300000), '(a|a?)+c', '', 'g')",
    ],
)
def test_no_pattern_is_slow(query: str, place: Place) -> None:
    assert len(rows(place, query)) == 1


def test_a_query_of_more_than_a_hundred_thousand_characters_is_not_read(place: Place) -> None:
    code, answer, words = place.child("SELECT 1" + " " * 100_000, "csv")
    assert (code, answer) == (EXITS[Code.QUERY_REFUSED], b"")
    assert "100,008 characters" in words


def test_quoted_values_do_not_make_words_long(place: Place) -> None:
    code, answer, words = place.child("SELECT error(repeat('no ', 1000000))", "csv")
    assert (code, answer) == (EXITS[Code.QUERY_FAILED], b"")
    assert words.startswith("Invalid Input Error: no no")
    assert len(words) < 2_100


def test_as_many_columns_of_one_name_as_a_query_can_hold_are_numbered_at_once(place: Place) -> None:
    names = answered(place, "SELECT " + ",".join(["1 AS a"] * 10_000), "csv").decode().splitlines()[0].split(",")
    assert (names[:3], names[-1]) == (["a", "a_1", "a_2"], "a_9999")


@pytest.mark.parametrize("form", ["csv", "safe-csv", "json", "jsonl", "table", "parquet"])
def test_the_one_who_asks_holds_nothing_of_a_large_answer(form: str, place: Place) -> None:
    query = "SELECT range, repeat('x', 2000) AS a FROM range(15000)"
    tracemalloc.start()
    try:
        with Path(os.devnull).open("wb") as out:
            answer_query(place.warehouse, query, form, out, timeout_s=60, memory_mb=1024)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 5_000_000  # bytes, of an answer of 30 MB


def test_a_huge_value_costs_no_more_memory_than_allowed(place: Place) -> None:
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from warehouse.adhoc import answer_query\n"
        "from warehouse.admission import QueryRefused\n"
        "try:\n"
        "    with open('/dev/null', 'wb') as out:\n"
        "        answer_query(Path(sys.argv[1]), sys.argv[2], 'json', out, timeout_s=20, memory_mb=128)\n"
        "except QueryRefused as refused:\n"
        "    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, refused)\n"
    )
    query = "SELECT list(repeat('a', 1000000) || range) FROM range(100000)"
    command = [sys.executable, "-c", code, str(place.warehouse), query]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    used, _, words = done.stdout.partition(" ")
    assert int(used) < 128 + 1024
    assert "128 MiB" in words
    assert "KIX_SQL_MEMORY_MB" in words


def test_a_query_that_outgrows_its_memory_writes_nothing_beside_the_warehouse(place: Place) -> None:
    before = {path.name for path in place.home.rglob("*")}
    seen: set[str] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.update(path.name for path in place.home.rglob("*"))
            time.sleep(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    query = "SELECT * FROM range(20000000) ORDER BY hash(range) LIMIT 1 OFFSET 19999999"
    answer, words = outcome(place, query, timeout_s=1, memory_mb=64)
    done.set()
    watcher.join()
    assert answer or "MiB" in words or "longer than" in words
    assert seen - before == set()


# -- terminals


def test_nothing_that_a_terminal_obeys_is_in_a_table(place: Place) -> None:
    codes = (*range(32), 0x7F, 0x80, 0x85, 0x9B, 0x9D, 0x200F, 0x2028, 0x202E, 0x2066, 0xFEFF)
    query = f"SELECT i, 'a' || chr(i) || '[31mb' AS evil, [chr(i)] AS \"\x1b[2J\x07\" FROM unnest({list(codes)}) t(i)"
    text = answered(place, query, "table").decode()
    assert {char for char in text if not char.isprintable()} == {"\n"}
    assert text.count("[31mb") == len(codes)


HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\u202eevil\u200b\u2066\ufeff\rover"


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "table"])
def test_nothing_that_a_terminal_obeys_reaches_one(form: str, place: Place) -> None:
    text = on_terminal([str(KIX), "sql", f"SELECT '{HOSTILE}' AS \"{HOSTILE}\"", "--format", form,
                        "--home", str(place.home)])  # fmt: skip
    assert "red" in text
    assert "evil" in text
    assert obeyed(text) == set()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_or_pipe_gets_every_character_as_it_is(form: str, place: Place, tmp_path: Path) -> None:
    query, home = f"SELECT '{HOSTILE}' AS a", ("--home", str(place.home))
    file = tmp_path / "answer"
    assert kix(query, "--format", form, "--output", str(file), *home).returncode == 0
    piped = kix(query, "--format", form, *home).stdout
    assert file.read_bytes() == piped
    readers = {
        "csv": lambda body: list(csv.reader(io.StringIO(body.decode(), newline="")))[1][0],
        "parquet": lambda body: pl.read_parquet(io.BytesIO(body))["a"][0],
    }
    assert readers[form](piped) == HOSTILE


@pytest.mark.parametrize("form", ["csv", "safe-csv"])
def test_a_line_break_of_any_kind_stays_in_its_cell(form: str, place: Place) -> None:
    query = r"SELECT 'a' || chr(13) || 'b' AS r, 'a' || chr(10) || 'b' AS n, 'a' || chr(13) || chr(10) || 'b' AS rn"
    body = answered(place, query, form)
    assert list(csv.reader(io.StringIO(body.decode(), newline="")))[1:] == [["a\rb", "a\nb", "a\r\nb"]]
    assert pl.read_csv(io.BytesIO(body)).row(0) == ("a\rb", "a\nb", "a\r\nb")


# -- spreadsheets


FORMULAS = [
    "=1+1", "+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\n=1", " =1", '"=1"', "'=1", "\uff1d1", "\uff0b1", "\uff0d1",
    "\uff201", "\u22121", "\ufe621", "\u200b=1", "\ufeff=1", "\u00a0=1", "=cmd|' /C calc'!A0", "-", "=",
]  # fmt: skip


def safe_cells(place: Place, query: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(answered(place, query, "safe-csv").decode(), newline="")))


def test_no_text_in_a_safe_csv_begins_a_formula(place: Place) -> None:
    told = ", ".join(f"({place}, {literal(text)})" for place, text in enumerate(FORMULAS))
    _, *found = safe_cells(place, f"SELECT a, [a], a AS b FROM (VALUES {told}) t(n, a) ORDER BY n")
    assert [row[0] for row in found] == [f"'{text}" for text in FORMULAS]
    assert all(row[1].startswith("[") for row in found)


def test_other_texts_and_numbers_stay_as_they_are_in_a_safe_csv(place: Place) -> None:
    query = (
        "SELECT -5 AS i, -1.5::DOUBLE AS d, -2.50::DECIMAL(4, 2) AS m, 'a=b' AS t, '5-4' AS u, NULL AS n, '' AS e,"
        " 'a@b.c' AS w, '-inf'::DOUBLE AS f, INTERVAL '-1 day' AS v, -170141183460469231731687303715884105727 AS h"
    )
    text = answered(place, query, "safe-csv").decode().splitlines()[1]
    assert text.startswith('-5,-1.5,-2.50,"a=b","5-4","","","a@b.c","\'-inf","\'-1 day')
    assert text.endswith(",-170141183460469231731687303715884105727")


def test_the_name_of_a_column_begins_no_formula_either(place: Place) -> None:
    assert safe_cells(place, 'SELECT 1 AS "=1+1", 2 AS b') == [["'=1+1", "b"], ["1", "2"]]


def test_safe_csv_is_csv_only(place: Place) -> None:
    home = ("--home", str(place.home))
    done = kix("SELECT '=1' AS a", "--safe-csv", *home)
    assert done.returncode == 2
    assert b"--safe-csv goes with --format csv, not with table" in done.stderr
    assert kix("SELECT '=1' AS a", "--safe-csv", "--format", "csv", *home).stdout == b'"a"\n"\'=1"\n'
    assert answered(place, "SELECT '=1' AS a", "csv") == b"a\n=1\n"


def test_markup_in_a_value_is_only_text(place: Place) -> None:
    text = answered(place, "SELECT '[red]x[/red] :smile: [link=http://a]y[/link]' AS a", "table").decode()
    assert "[red]x[/red] :smile: [link=http://a]y[/link]" in text


def test_the_words_of_a_refusal_are_safe_too(place: Place) -> None:
    done = kix('SELECT "\x1b]0;owned\x07\x9b31m"', "--home", str(place.home))
    assert done.returncode == 1
    words = done.stderr.decode()
    assert "owned" in words
    assert {char for char in words if not char.isprintable()} == {"\n"}


# -- the command


def test_the_command_answers_as_the_function_does(place: Place, tmp_path: Path) -> None:
    home = ("--home", str(place.home))
    done = kix("-", "--format", "csv", *home, given=LEADERS)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == answered(place, LEADERS, "csv")
    file = tmp_path / "out.parquet"
    done = kix(LEADERS, "--format", "parquet", "--output", str(file), *home)
    assert (done.returncode, done.stdout) == (0, b"")
    assert file.read_bytes() == answered(place, LEADERS, "parquet")
    assert kix("SELECT 1 AS a", "--json", *home).stdout == b'[\n {"a":1}\n]\n'


def test_a_refused_command_leaves_nothing_behind(place: Place, tmp_path: Path, untouched: None) -> None:
    file = tmp_path / "out.csv"
    file.write_text("what was there before", encoding="utf-8")
    done = kix("DROP TABLE runs", "--format", "csv", "--output", str(file), "--home", str(place.home))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"kix: ")
    assert [path.name for path in tmp_path.iterdir() if path.name != "unused-home"] == ["out.csv"]
    assert file.read_text(encoding="utf-8") == "what was there before"


def test_without_a_warehouse_the_command_says_what_to_do(tmp_path: Path) -> None:
    done = kix("SELECT 1", "--home", str(tmp_path / "nowhere"))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"kix sync" in done.stderr
    with pytest.raises(WarehouseError, match="kix sync"):
        answer_query(tmp_path / "none.duckdb", "SELECT 1", "csv", None, timeout_s=1, memory_mb=64)


# -- afterwards


def test_after_all_this_the_published_file_is_the_samples(place: Place, sample_home: Path) -> None:
    assert place.warehouse.read_bytes() == published_path(sample_home).read_bytes()
    assert place.warehouse.stat().st_mode & 0o777 == 0o444
    assert {path.name for path in place.home.iterdir()} == {"warehouse.duckdb", "kix.toml"}
