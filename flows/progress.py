"""How far a sync is: told to whoever asks, shown on standard error when that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Is told how far a sync is."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Take note: `done` of `total` in this stage."""
        ...


def silent(stage: str, done: int, total: int) -> None:
    """Show no progress."""


@contextmanager
def progress_bar(source: str, *, shown: bool) -> Iterator[Progress]:
    """Yield a progress callback that draws a bar for each stage of a sync."""
    if not shown or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        stages: dict[str, object] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in stages:
                stages[stage] = bars.add_task(f"{source}: {stage}", total=total)
            bars.update(stages[stage], completed=done, total=total)  # type: ignore[arg-type]

        yield show
