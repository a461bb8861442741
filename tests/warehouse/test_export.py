"""What is in a snapshot: the same rows and types for every reader, in files that say what they are."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from board_server import BoardServer
from conftest import run_sync
from made_warehouse import MadeRun, made_home
from snapshots import (
    PARTITIONED,
    counted,
    exported,
    files_below,
    improve,
    manifest_of,
    small_board,
    snapshot_rows,
    synced,
    warehouse_rows,
)

from warehouse.records import derive_standings
from warehouse.snapshot import TABLES

NAMES = [table.name for table in TABLES]
TEXT = pa.schema([("comparability_family", pa.string())])
HIVE = ds.partitioning(TEXT, flavor="hive")


@pytest.fixture(scope="module")
def snapshot(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(sample_home, tmp_path_factory.mktemp("snapshots")).path


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A home that was synced from a board without a submission, and its snapshot."""
    folder = tmp_path_factory.mktemp("empty")
    board_folder = small_board(folder / "board")
    with BoardServer(board_folder) as board:
        for file in (board_folder / "submissions").iterdir():
            board.edit(int(file.stem), lambda items: [])
        run_sync(folder / "home", board.base_url)
    return folder / "home", exported(folder / "home", folder / "out").path


@pytest.fixture(scope="module")
def wanted(sample_home: Path) -> dict[str, tuple[list[str], Any]]:
    """Columns and rows of every table, from the warehouse itself."""
    found = {}
    with duckdb.connect(sample_home / "warehouse.duckdb", read_only=True) as db:
        db.execute("SET TimeZone = 'UTC'")
        for table in NAMES:
            answer = db.execute(f"FROM {table}")
            found[table] = ([column[0] for column in answer.description], counted(answer.fetchall()))
    return found


# -- the read-back matrix


def _duckdb(path: Path, hive: bool) -> tuple[list[str], Any]:
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        found = db.execute(f"FROM read_parquet('{path}/**/*.parquet', hive_partitioning = {hive})")
        return [column[0] for column in found.description], found.fetchall()


def _polars(path: Path, hive: bool) -> tuple[list[str], Any]:
    found = pl.read_parquet(f"{path}/**/*.parquet", hive_partitioning=hive)
    return found.columns, found.rows()


def _pyarrow(path: Path, hive: bool) -> tuple[list[str], Any]:
    found = ds.dataset(path, partitioning="hive" if hive else None).to_table()
    return found.column_names, zip(*(column.to_pylist() for column in found.columns), strict=True)


def _pandas(path: Path, hive: bool) -> tuple[list[str], Any]:
    found = pd.read_parquet(path, partitioning=_hive(path.name, hive), dtype_backend="pyarrow")
    return list(found.columns), found.itertuples(index=False, name=None)


def _hive(table: str, hive: bool) -> Any:
    """pyarrow's own guess is a dictionary of the names, which it then refuses to see as the files' text."""
    return (HIVE if table in PARTITIONED else "hive") if hive else None


READERS = {"duckdb": _duckdb, "polars": _polars, "pyarrow": _pyarrow, "pandas": _pandas}


@pytest.mark.parametrize("hive", [True, False], ids=["hive", "no hive"])
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_gives_the_rows_of_the_warehouse(
    reader: str, hive: bool, snapshot: Path, wanted: dict[str, tuple[list[str], Any]]
) -> None:
    for table, (names, rows_wanted) in wanted.items():
        columns, rows = READERS[reader](snapshot / table, hive)
        assert sorted(columns) == sorted(names), table
        places = [columns.index(name) for name in names]
        assert counted([row[place] for place in places] for row in rows) == rows_wanted, table


POLARS = {
    "VARCHAR": pl.String, "JSON": pl.String, "BIGINT": pl.Int64, "INTEGER": pl.Int32, "SMALLINT": pl.Int16,
    "DOUBLE": pl.Float64, "BOOLEAN": pl.Boolean, "DATE": pl.Date, "VARCHAR[]": pl.List(pl.String),
    "TIMESTAMP WITH TIME ZONE": pl.Datetime("us", "UTC"),
}  # fmt: skip
ARROW = {
    "VARCHAR": pa.string(), "JSON": pa.string(), "BIGINT": pa.int64(), "INTEGER": pa.int32(), "SMALLINT": pa.int16(),
    "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(), "DATE": pa.date32(),
    "VARCHAR[]": pa.list_(pa.field("element", pa.string())), "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", tz="UTC"),
}  # fmt: skip


def _declared(home: Path, table: str) -> dict[str, str]:
    with duckdb.connect(home / "warehouse.duckdb", read_only=True) as db:
        return {name: kind for name, kind, *_ in db.execute(f"DESCRIBE {table}").fetchall()}


@pytest.mark.parametrize("hive", [True, False], ids=["hive", "no hive"])
def test_types_are_the_warehouses_with_rows_and_without(
    hive: bool, snapshot: Path, sample_home: Path, empty: tuple[Path, Path]
) -> None:
    for home, path in ((sample_home, snapshot), empty):
        for table in NAMES:
            declared = _declared(home, table)
            found = pl.scan_parquet(f"{path}/{table}/**/*.parquet", hive_partitioning=hive).collect_schema()
            assert dict(found) == {name: POLARS[kind] for name, kind in declared.items()}, table
            arrow = ds.dataset(path / table, partitioning=_hive(table, hive)).schema
            assert {one.name: one.type for one in arrow} == {name: ARROW[kind] for name, kind in declared.items()}
            assert all(one.nullable for one in pq.read_schema(next((path / table).rglob("*.parquet"))))
            frame = pd.read_parquet(path / table, partitioning=_hive(table, hive))
            for name in {"comparability_family", "stack_version"} & set(frame.columns) if len(frame) else ():
                assert frame[name].map(type).isin([str, float, type(None)]).all()  # float: pandas' NaN for null
                assert frame[name].dropna().map(type).eq(str).all()


def test_an_empty_board_gives_every_table_with_its_columns(empty: tuple[Path, Path]) -> None:
    home, path = empty
    assert sorted(one.name for one in path.iterdir() if one.is_dir()) == sorted(NAMES)
    assert not warehouse_rows(home, "runs")
    for table in NAMES:
        assert len(list((path / table).rglob("*.parquet"))) == 1
        assert snapshot_rows(path, table) == warehouse_rows(home, table), table
    assert len(snapshot_rows(path, "operations")) == 3


def test_rows_stand_in_the_order_of_family_and_key_in_compressed_groups(snapshot: Path, sample_home: Path) -> None:
    file = next((snapshot / "runs").rglob("*.parquet"))
    found = pl.read_parquet(file).select("comparability_family", "comparison_key", "run_digest").rows()
    assert found == sorted(found)
    (family,) = {row[0] for row in found}
    assert file.parent.name == f"comparability_family={family}"
    footer = pq.ParquetFile(file).metadata
    codecs = {footer.row_group(0).column(place).compression for place in range(footer.num_columns)}
    assert codecs == {"ZSTD"}


# -- names that are not meant well


HOSTILE = [
    "../../../escape", "..", ".", "", "a/b", "a\\b", "%2e%2e%2f", "v1.0", "2026", "2026-01-01", "-5", "true", "a=b",
    "it's \"quoted\"", "ü ?*[x]{}", "line\nbreak", "comparability_family=x", "~", "nul\x01", "NULL",
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("hostile") / "home"
    made_home(home, *(MadeRun(str(number)) for number in range(len(HOSTILE))))
    with duckdb.connect(home / "warehouse.duckdb") as db:
        for number, name in enumerate(HOSTILE):
            for table in ("measurements", "source_metrics"):
                where = "run_digest IN (SELECT run_digest FROM runs WHERE external_id = ?)"
                db.execute(f"UPDATE {table} SET comparability_family = ? WHERE {where}", [name, str(number)])
            db.execute("UPDATE runs SET comparability_family = ? WHERE external_id = ?", [name, str(number)])
        derive_standings(db, everything=True)
    return home


def test_a_familys_name_is_never_a_path(hostile: Path, tmp_path: Path) -> None:
    done = exported(hostile, tmp_path / "deep" / "out")
    assert [one.name for one in tmp_path.iterdir()] == ["deep"]
    assert [one.name for one in (tmp_path / "deep").iterdir()] == ["out"]
    for table in PARTITIONED:
        folders = [one.name for one in (done.path / table).iterdir()]
        assert sorted(unquote(one).partition("=")[2] for one in folders) == sorted(HOSTILE)
        assert all("/" not in one and "\\" not in one and one.startswith("comparability_family=") for one in folders)
    for hive in (True, False):
        for reader in ("duckdb", "polars"):
            columns, rows = READERS[reader](done.path / "runs", hive)
            place = columns.index("comparability_family")
            assert sorted(row[place] for row in rows) == sorted(HOSTILE)


@pytest.mark.parametrize("name", ["../../../escape", "2026", "", "ü ?*[x]{}"])
def test_one_family_alone_stays_text_and_has_a_pointer_of_its_own(name: str, hostile: Path, tmp_path: Path) -> None:
    done = exported(hostile, tmp_path / "out", family=name)
    (pointer,) = (one for one in (tmp_path / "out").iterdir() if one.name.startswith("latest"))
    assert unquote(pointer.name) == f"latest-{name}.json"
    assert json.loads(pointer.read_text())["snapshot"] == done.snapshot
    assert done.rows["runs"] == 1
    columns, rows = _duckdb(done.path / "runs", True)
    assert [row[columns.index("comparability_family")] for row in rows] == [name]


# -- the manifest, the card, Croissant


def test_the_manifest_lists_every_file_and_explains_every_column(
    snapshot: Path, sample_home: Path, wanted: dict[str, tuple[list[str], Any]]
) -> None:
    manifest = manifest_of(snapshot)
    on_disk = files_below(snapshot)
    listed = {one["path"]: one for one in (*manifest["files"], *manifest["documents"])}
    assert {*listed, "manifest.json"} == set(on_disk)
    for path, one in listed.items():
        assert (one["bytes"], one["sha256"]) == (len(on_disk[path]), hashlib.sha256(on_disk[path]).hexdigest())
    for one in manifest["files"]:
        assert one["rows"] == pq.ParquetFile(snapshot / one["path"]).metadata.num_rows
    for table in manifest["tables"]:
        declared = _declared(sample_home, table["name"])
        assert [one["name"] for one in table["columns"]] == list(declared)
        assert table["meaning"]
        assert table["rows"] == sum(wanted[table["name"]][1].values())
        for column in table["columns"]:
            assert column["type"] == declared[column["name"]].replace("JSON", "VARCHAR")
            assert column["meaning"], (table["name"], column["name"])
            suffix = column["name"].rpartition("_")[2]
            assert suffix not in ("ns", "ms") or column["unit"] == suffix
            if column["type"] == "DOUBLE":
                assert column["unit"], (table["name"], column["name"])
    assert manifest["schema_migration"] == max(row[0] for row in warehouse_rows(sample_home, "schema_migrations"))
    assert {one["sync_id"] for one in manifest["syncs"]} == {row[0] for row in warehouse_rows(sample_home, "syncs")}


def test_a_synthetic_snapshot_warns_wherever_it_is_read(snapshot: Path) -> None:
    manifest = manifest_of(snapshot)
    assert "SYNTHETIC" in manifest["warning"]
    assert all(one["licence"] and one["attribution"] for one in manifest["sources"])
    assert "SYNTHETIC" in (snapshot / "README.md").read_text(encoding="utf-8")
    assert "SYNTHETIC" in json.loads((snapshot / "croissant.json").read_text(encoding="utf-8"))["description"]


def test_a_real_source_is_credited_and_does_not_warn(tmp_path: Path) -> None:
    with synced(tmp_path) as (home, _):
        done = exported(home, tmp_path / "out")
    manifest = manifest_of(done.path)
    assert manifest["warning"] is None
    (source,) = manifest["sources"]
    card = (done.path / "README.md").read_text(encoding="utf-8")
    assert source["source"] == "sol-execbench"
    assert source["attribution"] in card
    assert source["licence"] in card


def test_the_card_says_how_to_read_it_and_that_works(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = (snapshot / "README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(snapshot)
    blocks = [part.partition("\n") for part in card.split("```")[1::2]]
    assert [kind for kind, _, _ in blocks] == ["sql", "python", "python"]
    leaders = duckdb.sql(blocks[0][2]).fetchall()
    assert len(leaders) == sum(rank == 1 for rank in pl.read_parquet("leaderboard/**/*.parquet")["rank"])
    for _, _, code in blocks[1:]:
        exec(code, {})


def test_croissant_is_valid_and_its_records_can_be_read(snapshot: Path) -> None:
    import mlcroissant as mlc

    described = mlc.Dataset(jsonld=snapshot / "croissant.json")
    assert not described.metadata.ctx.issues.errors
    assert {one.id for one in described.metadata.record_sets} == set(NAMES)
    for table, column in (("operations", "operation_digest"), ("runs", "run_digest")):
        found = {one[f"{table}/{column}"].decode() for one in described.records(table)}
        assert found == set(pl.read_parquet(f"{snapshot}/{table}/**/*.parquet")[column])


# -- identity


def test_the_content_digest_does_not_depend_on_order_and_tells_every_change(tmp_path: Path) -> None:
    from warehouse.content import table_line
    from warehouse.snapshot import BY_NAME, columns_of

    table = BY_NAME["lifecycle"]

    def line(rows: str) -> str:
        with duckdb.connect() as db:
            db.execute("SET TimeZone = 'Asia/Tokyo'")
            made_home(tmp_path / "home") if not (tmp_path / "home").exists() else None
            db.execute(f"ATTACH '{tmp_path / 'home' / 'warehouse.duckdb'}' AS made (READ_ONLY); USE made")
            columns = columns_of(db, "lifecycle")
            names = ", ".join(f'"{one.name}"' for one in columns)
            return table_line(db, table, columns, f"(VALUES {rows}) t({names})")

    one = "('a', 'superseded', 'why', TIMESTAMPTZ '2026-01-01 00:00:00+00', 1, 'b')"
    other = "('c', 'retracted', '', TIMESTAMPTZ '2026-01-01 00:00:00+00', 1, NULL)"
    same = line(f"{one}, {other}")
    assert same == line(f"{other}, {one}")
    changes = [
        f"{one}", f"{one}, {one}, {other}", f"{one}, {other.replace('NULL', repr(''))}",
        f"{one}, {other.replace('retracted', 'withdrawn')}", f"{one}, {other.replace('00:00:00', '00:00:01')}",
    ]  # fmt: skip
    assert len({same, *map(line, changes)}) == len(changes) + 1


def test_unchanged_evidence_has_one_digest_and_changed_evidence_another(tmp_path: Path) -> None:
    with synced(tmp_path) as (home, board):
        first = exported(home, tmp_path / "out")
        run_sync(home, board.base_url)  # nothing new but provenance
        again = exported(home, tmp_path / "out")
        improve(board, home, 0.0412)
        later = exported(home, tmp_path / "out")
    assert (first.new, again.new, later.new) == (True, False, True)
    assert first.content_digest == again.content_digest != later.content_digest
    assert first.snapshot == again.snapshot
    assert later.snapshot.endswith(later.content_digest.removeprefix("sha256:")[:12])
    assert snapshot_rows(later.path, "runs") == warehouse_rows(home, "runs")
    assert snapshot_rows(later.path, "lifecycle") == warehouse_rows(home, "lifecycle")
