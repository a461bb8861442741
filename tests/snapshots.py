"""Homes and folders for the tests of snapshots, and how a snapshot is read without any code of kix."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
from board_server import BoardServer
from conftest import SAMPLE, run_sync

from flows.export import Exported, export
from flows.settings import Settings

KERNELS = (3, 12, 16)
PARTITIONED = ("runs", "measurements", "source_metrics", "leaderboard", "record_events")


def small_board(folder: Path) -> Path:
    """Three kernels of the sample, as a board of their own."""
    for part in ("kernels", "submissions"):
        (folder / part).mkdir(parents=True)
        for number in KERNELS:
            shutil.copyfile(SAMPLE / part / f"{number}.json", folder / part / f"{number}.json")
    index = json.loads((SAMPLE / "kernels.json").read_text(encoding="utf-8"))
    index["data"]["kernels"] = [one for one in index["data"]["kernels"] if one["id"] in KERNELS]
    (folder / "kernels.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


@contextmanager
def synced(folder: Path) -> Iterator[tuple[Path, BoardServer]]:
    """A home that was synced once from a small board, and the board."""
    with BoardServer(small_board(folder / "board")) as board:
        run_sync(folder / "home", board.base_url)
        yield folder / "home", board


def improve(board: BoardServer, home: Path, latency_ms: float) -> None:
    """Give the first result of a kernel another latency, and sync."""

    def change(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        first = next(one for one in items if one["latency_ms"] and not one["is_disqualified"])
        return [one | {"latency_ms": latency_ms} if one is first else one for one in items]

    board.edit(KERNELS[0], change)
    assert run_sync(home, board.base_url).status == "complete"


def exported(home: Path, directory: Path, **options: Any) -> Exported:
    return export(Settings(home=home, lock_timeout_s=30), directory, **options)


def at(text: str) -> Any:
    """A clock that stands still."""
    return lambda: datetime.fromisoformat(text).replace(tzinfo=UTC)


def manifest_of(path: Path) -> dict[str, Any]:
    return json.loads((path / "manifest.json").read_text(encoding="utf-8"))


def files_below(path: Path) -> dict[str, bytes]:
    return {one.relative_to(path).as_posix(): one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file()}


def warehouse_rows(home: Path, table: str, where: str = "true") -> Counter[tuple[Any, ...]]:
    with duckdb.connect(home / "warehouse.duckdb", read_only=True) as db:
        db.execute("SET TimeZone = 'UTC'")
        return counted(db.execute(f"SELECT * FROM {table} WHERE {where}").fetchall())


def snapshot_rows(path: Path, table: str) -> Counter[tuple[Any, ...]]:
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        return counted(
            db.execute(f"FROM read_parquet('{path}/{table}/**/*.parquet', hive_partitioning=false)").fetchall()
        )


def counted(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(plain(value) for value in row) for row in rows)


def plain(value: Any) -> Any:
    """A value as Python has it, whatever library gave it."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if hasattr(value, "tolist"):
        value = value.tolist()
    return tuple(plain(one) for one in value) if isinstance(value, list) else value
