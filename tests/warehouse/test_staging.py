"""Staged rows: each has its place, and of a shared object the first one counts, whatever is mapped first."""

from __future__ import annotations

import itertools
from pathlib import Path

import polars as pl
import pytest

from transforms.bundle import Bundle
from warehouse.staging import PLACES, Staging


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_the_first_row_of_a_shared_object_counts_in_whatever_order_parts_are_mapped(
    order: tuple[int, ...], tmp_path: Path
) -> None:
    titles = ("Ada", "Ada", "Ada L.", "Ada")
    staging = Staging(tmp_path, "here")
    for part in order:
        bundle = Bundle()
        bundle.add("projects", f"sha256:{'a' * 64}", "sol-user-ada", titles[part], "{}")
        bundle.add("reviews", f"sha256:{'b' * 64}", "BELOW_SPEED_OF_LIGHT", "too fast")
        staging.add(part, bundle)
    staging.complete()
    projects = pl.read_parquet(tmp_path / "projects" / "*.parquet")
    firsts = projects.group_by("display_name").agg(pl.col("place").min()).sort("place")
    assert firsts.rows() == [("Ada", 0), ("Ada L.", 2 * PLACES)]
    if order == (0, 1, 2, 3):
        assert len(projects) == 2
    places = pl.read_parquet(tmp_path / "reviews" / "*.parquet")["place"]
    assert sorted(places.to_list()) == [part * PLACES for part in range(4)]
