"""Rows on their way into the warehouse: Parquet files in a folder, written by whoever maps, read by the load.

Each row carries its place, which orders the rows of a table whatever file they are in: several may write at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transforms.bundle import COLUMNS, Bundle

STAGED_ROWS = 2_500
"""Rows of a table that go into a file at once: few files, little memory."""

PLACES = 2**32
"""Places of the rows of one part."""


SHARED = ("projects", "protocols", "environments")
"""Objects that many parts have in common: a row that is staged for an earlier part says nothing new."""


class Staging:
    """One writer's files in the folder, by its name. `add` rows, then `flush`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._name = name
        self._files = 0
        self._taken = Bundle()
        self._places: dict[str, list[int]] = {table: [] for table in COLUMNS}
        self._shared: dict[tuple[Any, ...], int] = {}

    def add(self, part: int, bundle: Bundle) -> None:
        """Take the rows of the part with this number; they go into files a good many at a time."""
        for table, found in bundle.rows.items():
            rows = self._new(part, found) if table in SHARED else found
            if not rows:
                continue
            self._taken.rows[table] += rows
            self._places[table] += range(part * PLACES, part * PLACES + len(rows))
            if len(self._places[table]) >= STAGED_ROWS:
                self._write(table)

    def _new(self, part: int, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the rows that are staged for no earlier part: the first place of each counts, whatever comes first."""
        new = [row for row in dict.fromkeys(rows) if part < self._shared.get(row, part + 1)]
        self._shared.update(dict.fromkeys(new, part))
        return new

    def flush(self) -> None:
        """Put into files what has been taken so far."""
        for table, places in self._places.items():
            if places:
                self._write(table)

    def _write(self, table: str) -> None:
        import polars as pl

        target = self.folder / table
        target.mkdir(exist_ok=True)
        path = target / f"{self._name}-{self._files}.parquet"
        place = pl.Series("place", self._places[table], dtype=pl.Int64)
        frame = self._taken.frame(table).hstack([place])
        frame.write_parquet(path, compression="lz4", statistics=False)
        self._files += 1
        self._taken.rows[table], self._places[table] = [], []

    def complete(self) -> None:
        """Put into files what has been taken, and see to it that every table has one, if without rows."""
        self.flush()
        for table in COLUMNS:
            if not (self.folder / table).exists():
                self._write(table)
