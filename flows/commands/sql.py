"""`kix sql`: pass the query to its child process, and its words to the person."""

from __future__ import annotations

import sys
from pathlib import Path

from flows.console import fail, write_whole
from flows.settings import Settings
from scrapers.codes import Code
from warehouse.adhoc import answer_query
from warehouse.admission import QueryRefused
from warehouse.connection import WarehouseError, published_path


def answer(settings: Settings, query: str, form: str, output: Path | None, *, safe_csv: bool) -> int:
    """Answer a query on standard output or into a file that appears only when it is whole. Returns the exit code."""
    if safe_csv and form != "csv":
        fail(f"--safe-csv goes with --format csv, not with {form}", Code.USAGE)
    form = "safe-csv" if safe_csv else form
    if form == "parquet" and output is None and sys.stdout.isatty():
        fail("Parquet is no text for a terminal: give --output FILE", Code.USAGE)
    warehouse = published_path(settings.home)
    bounds = {"timeout_s": settings.sql_timeout_s, "memory_mb": settings.sql_memory_mb}
    try:
        if output is None:
            answer_query(warehouse, query, form, None, **bounds)  # type: ignore[arg-type]
            return 0
        write_whole(output, lambda file: answer_query(warehouse, query, form, file, **bounds))  # type: ignore[arg-type]
    except (QueryRefused, WarehouseError) as error:
        first, *more = str(error).splitlines() or [""]
        fail(first, error.code, (f"kix: {line}" for line in more))
    except OSError as error:
        fail(f"cannot write {output}: {error.strerror}; choose another --output", Code.FILE_UNUSABLE)
    return 0
