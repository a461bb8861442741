"""Rows on their way into the warehouse: Parquet files in a folder, written by whoever maps, read by the load.

Each row carries its place, which orders the rows of a table whatever file they are in: several may write at once.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from transforms.bundle import COLUMNS, Bundle

STAGED_ROWS = 20_000
"""Rows that go into files at once: few files, little memory."""

PLACES = 2**32
"""Places of the rows of one part."""


class Staging:
    """One writer's files in the folder, by its name. `add` rows, then `flush`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self._name = name
        self._taken: dict[str, list[pl.DataFrame]] = {}
        self._rows = 0
        self._files = 0

    def add(self, part: int, frames: dict[str, pl.DataFrame]) -> None:
        """Take the rows of the part with this number by table; they go into files a good many at a time."""
        for table, frame in frames.items():
            place = pl.int_range(pl.len(), dtype=pl.Int64) + part * PLACES
            self._taken.setdefault(table, []).append(frame.with_columns(place=place))
            self._rows += len(frame)
        if self._rows >= STAGED_ROWS:
            self.flush()

    def flush(self) -> None:
        """Put into files what has been taken so far."""
        for table, frames in self._taken.items():
            target = self.folder / table
            target.mkdir(exist_ok=True)
            pl.concat(frames).write_parquet(
                target / f"{self._name}-{self._files}.parquet", compression="lz4", statistics=False
            )
        self._files += 1
        self._taken.clear()
        self._rows = 0

    def complete(self) -> None:
        """Put into files what has been taken, and see to it that every table has one, if without rows."""
        empty = Bundle()
        for table in COLUMNS:
            if table not in self._taken and not (self.folder / table).exists():
                self.add(0, {table: empty.frame(table)})
        self.flush()
