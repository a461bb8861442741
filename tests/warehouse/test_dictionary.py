"""The data dictionary is that of today's schema."""

from pathlib import Path

import duckdb

from warehouse.dictionary import data_dictionary
from warehouse.migrations import migrate

PAGE = Path(__file__).parents[2] / "docs" / "data-dictionary.md"


def test_the_page_is_not_stale() -> None:
    with duckdb.connect() as db:
        migrate(db)
        assert PAGE.read_text(encoding="utf-8") == data_dictionary(db), "run `make dictionary`"


def test_everything_is_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "None" not in page
    assert page.count("\n## ") > 30
