"""What the views cost, beside a sorted scan of the rows they show.

    python benchmarks/views.py --home HOME             over a home that was synced
    python benchmarks/views.py --runs 10_000_000       over generated runs, in a temporary file

Prints a table: rows of the view; reading all of it (every column, into a table that is thrown away); a sorted scan of
the runs it is about (the columns of a leaderboard); the ratio; and one cohort's rows. Medians of --times, in ms. Then
the leaderboard of one kernel, all leaders, and with generated runs one family's export (all its tables written as
Parquet) beside a sorted scan of the same rows; and the most memory that it took.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from pathlib import Path

import duckdb

from warehouse.connection import ROW_GROUP
from warehouse.export import state_of, write_tables
from warehouse.migrations import migrate, sql_files
from warehouse.records import derive_standings
from warehouse.snapshot import PARTITION, TABLES, rows_of

FAMILIES = 20

SCAN = (
    "SELECT comparability_family, comparison_key, run_digest, external_id, source, kernel, primary_value, primary_unit,"
    " observed_at, profile FROM runs{where} ORDER BY comparability_family, comparison_key, primary_value, run_digest"
)
STATES = "FROM submission_versions{where} ORDER BY source, external_id, version"
GENERATED = """
    CREATE TEMP TABLE made AS
    SELECT 'sha256:' || sha256('run' || i) AS run, 'sha256:' || sha256('cohort' || i % {cohorts}) AS cohort,
        'sha256:' || sha256('implementation' || i) AS implementation, i, i % {cohorts} AS c,
        1000 + (hash(i) % 1000000) AS value,
        TIMESTAMPTZ '2026-01-01' + to_seconds((hash(i + 7) % 20000000)::INTEGER) AS t
    FROM range({runs}) r(i);
    INSERT INTO protocols
    SELECT 'protocol' || i, 'p', 'made_up_' || i, 'harness', 'v1.0', NULL, '{{}}', 1 FROM range({families}) r(i);
    INSERT INTO environments VALUES ('environment', 'e', 'nvidia', 'NVIDIA B200', 'sm_100', '{{}}', 1);
    INSERT INTO operation_specs
    SELECT 'operation' || i, 'made-up', 'kernel-' || i, 'kernel_' || i, 'attention', [], '{{}}', 1
    FROM range({cohorts}) r(i);
    INSERT INTO workloads
    SELECT 'workload' || i, 'operation' || i, 'WorkloadSuite', 'kernel_' || i || '/suite', '{{}}', 1
    FROM range({cohorts}) r(i);
    INSERT INTO implementations
    SELECT implementation, 'made-up', 'operation' || c, 'user ' || hash(i) % 5000, i::VARCHAR, 'unknown', NULL,
        '{{}}', 1
    FROM made;
    INSERT INTO runs
    SELECT 'made_up_' || c % {families}, cohort, run, 'made-up', i::VARCHAR, 'kernel_' || c, 'operation' || c,
        'workload' || c, implementation, 'protocol' || c % {families}, 'environment', 'passed', 'latency', 'mean', 'ns',
        value, t, 'reported',
        'source-native', '{{}}', 1, NULL, NULL
    FROM made ORDER BY c % {families}, cohort, value, run;
    INSERT INTO lifecycle
    SELECT run, 'withdrawn', 'made up', TIMESTAMPTZ '2026-09-01', 1, NULL FROM made WHERE i % 1000 = 7;
    INSERT INTO submission_versions
    SELECT 'made-up', i::VARCHAR, 1, 'kernel_' || c, 'user ' || hash(i) % 5000, 'COMPLETED', true, false, NULL,
        (value / 1e6)::VARCHAR, 0.5, 'B200', 'v1.0', t, t, '{{}}', run, cohort, 1
    FROM made ORDER BY c, i;
    INSERT INTO listings
    SELECT 1, 'made-up', 'kernel_' || i, true, 'sha256:' || sha256('listing' || i), NULL, 0, true, 1
    FROM range({cohorts}) r(i);
    INSERT INTO listing_entries SELECT 1, 'made-up', 'kernel_' || c, i::VARCHAR, 1 FROM made ORDER BY c, i;
    INSERT INTO syncs VALUES (1, 'made-up', 'https://made-up.invalid', '{{}}', 'complete', now(), now(), 'benchmark');
    DROP TABLE made;
"""


def generate(path: Path, runs: int, cohorts: int, memory: str) -> None:
    """Fill a warehouse with generated runs, spread over cohorts and families, one in a thousand withdrawn."""
    with duckdb.connect(config={"memory_limit": memory, "temp_directory": str(path.parent / "spilled")}) as db:
        db.execute(f"ATTACH '{path}' AS warehouse (ROW_GROUP_SIZE {ROW_GROUP})")
        db.execute("USE warehouse")
        db.execute("SET TimeZone = 'UTC'")
        migrate(db)
        began = time.perf_counter()
        db.execute(GENERATED.format(runs=runs, cohorts=cohorts, families=FAMILIES))
        print(f"generated {runs:,} runs in {time.perf_counter() - began:.1f} s")
        began = time.perf_counter()
        derive_standings(db, everything=True)
        print(f"standings and record events derived in {time.perf_counter() - began:.1f} s")


def median_ms(db: duckdb.DuckDBPyConnection, query: str, times: int) -> float:
    """Return the median time to read all of a query's rows, in milliseconds."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        db.execute(f"CREATE OR REPLACE TEMP TABLE answer AS {query}")
        taken.append(time.perf_counter() - began)
    return statistics.median(taken) * 1000


def measure(path: Path, times: int, memory: str) -> None:
    """Print the table."""
    with duckdb.connect(path, read_only=True, config={"memory_limit": memory}) as db:
        db.execute("SET TimeZone = 'UTC'")
        (key,) = db.execute("SELECT comparison_key FROM standings ORDER BY hash(comparison_key) LIMIT 1").fetchall()[0]
        where = f" WHERE comparison_key = '{key}'"
        scans = {"": median_ms(db, SCAN.format(where=""), times), where: median_ms(db, SCAN.format(where=where), times)}
        states = median_ms(db, STATES.format(where=""), times)
        print(f"{'view':<18}{'rows':>12}{'all':>10}{'scan':>10}{'ratio':>7}{'cohort':>9}{'scan':>9}")
        for view in (name for _, text in sql_files("views") for name in _views(text)):
            (rows,) = db.execute(f"SELECT count(*) FROM {view}").fetchall()[0]
            whole = median_ms(db, f"FROM {view}", times)
            scan = states if view == "submissions" else scans[""]
            line = f"{view:<18}{rows:>12,}{whole:>10.1f}{scan:>10.1f}{whole / scan:>7.2f}"
            if "comparison_key" in [column[0] for column in db.execute(f"FROM {view} LIMIT 0").description or ()]:
                line += f"{median_ms(db, f'FROM {view}{where}', times):>9.1f}{scans[where]:>9.1f}"
            print(line)
        (kernel,) = db.execute(f"SELECT kernel FROM runs{where} LIMIT 1").fetchall()[0]
        for name, query, scan in (
            ("leaderboard of one kernel", f"FROM leaderboard WHERE kernel = '{kernel}'", f" WHERE kernel = '{kernel}'"),
            ("all leaders", "FROM leaderboard WHERE rank = 1", ""),
        ):
            found, scanned = median_ms(db, query, times), median_ms(db, SCAN.format(where=scan), times)
            print(f"{name}: {found:.1f} ms, a sorted scan {scanned:.1f} ms, ratio {found / scanned:.2f}")


def measure_export(path: Path, memory: str) -> None:
    """Print what one family's export takes beside a sorted scan of its rows: each in a connection of its own."""
    spilled = str(path.parent / "spilled")
    config = {"memory_limit": memory, "temp_directory": spilled}
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(path, read_only=True, config=config) as db:
        db.execute("SET TimeZone = 'UTC'")
        (family,) = db.execute("SELECT min(comparability_family) FROM runs").fetchall()[0]
        began = time.perf_counter()
        state = state_of(db, family)
        digested = time.perf_counter()
        files = write_tables(db, state, Path(folder))
        written = time.perf_counter()
        for table in TABLES:
            where = f"{PARTITION} = '{family}'" if table.partitioned else rows_of(table, family)
            db.execute(f"CREATE OR REPLACE TEMP TABLE answer AS FROM {table.name} WHERE {where} ORDER BY {table.order}")
        scanned = time.perf_counter()
    rows, size = sum(file.rows for file in files), sum(file.bytes for file in files)
    print(
        f"export of one family, {rows:,} rows, {size / 1e6:.0f} MB: identity {digested - began:.1f} s, written in"
        f" {written - digested:.1f} s, a sorted scan {scanned - written:.1f} s, ratio"
        f" {(written - digested) / (scanned - written):.2f}"
    )


def _views(text: str) -> list[str]:
    return [line.split()[4] for line in text.splitlines() if line.startswith("CREATE OR REPLACE VIEW")]


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--runs", type=int, default=10_000_000)
    parser.add_argument("--cohorts", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--memory", default="4GB")
    given = parser.parse_args()
    if given.home:
        measure(given.home / "warehouse.duckdb", given.times, given.memory)
        return
    with tempfile.TemporaryDirectory(prefix="kix-views-") as folder:
        generate(Path(folder) / "generated.duckdb", given.runs, given.cohorts, given.memory)
        measure(Path(folder) / "generated.duckdb", given.times, given.memory)
        measure_export(Path(folder) / "generated.duckdb", given.memory)
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
