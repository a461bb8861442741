"""Rows on their way into the warehouse: Parquet files in a folder, written by whoever maps, read by the load.

Each row carries its place, which orders the rows of a table whatever file they are in: several may write at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from transforms.bundle import COLUMNS, Bundle

if TYPE_CHECKING:
    import polars as pl

STAGED_ROWS = 10_000
"""Rows that go into files at once: few files, little memory."""

PLACES = 2**32
"""Places of the rows of one part."""


class Staging:
    """One writer's files in the folder, by its name. `add` rows, then `flush`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._name = name
        self._files = 0
        self._taken = Bundle()
        self._places: dict[str, list[int]] = {}

    def add(self, part: int, bundle: Bundle) -> None:
        """Take the rows of the part with this number; they go into files a good many at a time."""
        for table, rows in bundle.rows.items():
            if rows:
                self._taken.rows[table] += rows
                self._places.setdefault(table, []).extend(range(part * PLACES, part * PLACES + len(rows)))
        if sum(map(len, self._places.values())) >= STAGED_ROWS:
            self.flush()

    def flush(self) -> None:
        """Put into files what has been taken so far."""
        for table, places in self._places.items():
            self._write(table, self._taken.frame(table), places)
        self._taken, self._places = Bundle(), {}

    def _write(self, table: str, frame: pl.DataFrame, places: list[int]) -> None:
        import polars as pl

        target = self.folder / table
        target.mkdir(exist_ok=True)
        path = target / f"{self._name}-{self._files}.parquet"
        place = pl.Series("place", places, dtype=pl.Int64)
        frame.with_columns(place).write_parquet(path, compression="lz4", statistics=False)
        self._files += 1

    def complete(self) -> None:
        """Put into files what has been taken, and see to it that every table has one, if without rows."""
        self.flush()
        for table in COLUMNS:
            if not (self.folder / table).exists():
                self._write(table, self._taken.frame(table), [])
