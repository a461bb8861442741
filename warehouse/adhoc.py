"""Ad-hoc SQL from anybody: one SELECT, read-only, no way out, bounded in time and memory.

The query runs in a child process, because DuckDB's own limits are not enough: one huge value passes its memory limit,
and a busy function its time limit. The child gets an address-space limit before it opens the warehouse and is killed
when its time is over. `python -m warehouse.adhoc` is that child; it reads its task as JSON from standard input.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import duckdb

from transforms.names import printable
from warehouse.connection import check_published
from warehouse.quoting import quoted

DENIED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "temp_directory": "",
    "python_enable_replacements": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "threads": "2",
}
DENIED_NAMES = re.compile(
    r"read_\w+|parquet_\w+|sniff_csv|glob|getenv|query|query_table|json_execute_\w+|from_substrait\w*|current_setting"
    r"|duckdb_(settings|databases|secrets|logs\w*|temporary_files|external_file_cache)|pragma_database_\w+"
)
"""What no question needs: functions that read files (DuckDB itself refuses all but the database's own), that would hide
such a call, or that show paths of the host."""

PLAIN = re.compile(
    r"(?!.*(INTERVAL|HUGEINT|TIME WITH|TIME_TZ|TIME_NS|BIT|UNION|MAP|UUID|BIGNUM|VARINT|GEOMETRY|VARIANT))"
)
CHUNK_ROWS = 2_000
TABLE_ROWS = 1_000
WIDE = 10_000
"""Columns of a table that nobody looks at in a terminal: nothing is cut."""
START_S = 3.0
EXIT_REFUSED = 4


class QueryRefused(Exception):
    """The query was not answered: refused, wrong, too slow or too large. The message says which."""


def answer_query(
    warehouse: Path, query: str, form: str, output: IO[bytes] | None, *, timeout_s: float, memory_mb: int
) -> None:
    """Answer `query` over the published file `warehouse`, written as `form` to `output` (None: standard output).

    Raises `QueryRefused` when there is no answer, `WarehouseError` when there is no warehouse.
    """
    check_published(warehouse.parent)
    task = {"warehouse": str(warehouse), "query": query, "form": form, "timeout_s": timeout_s, "memory_mb": memory_mb}
    # -P: a folder of the same name where the person happens to stand is not what is run.
    command = [sys.executable, "-P", "-m", __name__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.PIPE) as child:  # noqa: S603
        try:
            _, words = child.communicate(json.dumps(task).encode(), timeout=timeout_s + START_S)
        except subprocess.TimeoutExpired:
            child.kill()
            raise QueryRefused(_too_slow(timeout_s)) from None
    if child.returncode == EXIT_REFUSED:
        raise QueryRefused(words.decode(errors="replace").strip())
    if child.returncode > 0:
        raise QueryRefused(
            f"kix failed on this query, please report it: {words.decode(errors='replace').strip()[-300:]}"
        )
    if child.returncode < 0:
        raise QueryRefused(
            f"the query ended without an answer (signal {-child.returncode}): most likely it needed more than"
            f" {memory_mb} MiB; ask for less at once, or raise KIX_SQL_MEMORY_MB"
        )


def _too_slow(timeout_s: float) -> str:
    return f"the query took longer than {timeout_s:g} s: ask for less at once, or raise KIX_SQL_TIMEOUT_S"


def _child() -> int:
    task = json.load(sys.stdin)
    _limit_memory(task["memory_mb"])
    try:
        _answer(task)
    except (duckdb.Error, QueryRefused, MemoryError) as error:
        sys.stderr.write(_in_words(error, task))
        return EXIT_REFUSED
    except BrokenPipeError:  # whoever read the answer has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _limit_memory(memory_mb: int) -> None:
    if sys.platform == "win32":
        return
    import resource

    # The libraries and their threads map 0.6 to 0.8 GiB of addresses before any query (measured); that comes on top.
    bound = (memory_mb + 1024) * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _answer(task: dict[str, Any]) -> None:
    limits: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{task['memory_mb']}MB",
        "max_execution_time": str(int(task["timeout_s"] * 1000)),
    }
    connection = duckdb.connect(task["warehouse"], read_only=True, config=DENIED | limits)
    connection.execute("SET TimeZone = 'UTC'; SET lock_configuration = true")
    statement = only_select(connection, task["query"])
    out = sys.stdout.buffer
    if task["form"] == "parquet":
        _write_parquet(connection, statement, out)
        return
    cursor = connection.execute(statement)
    names = unique([column[0] for column in cursor.description or ()])
    _WRITERS[task["form"]](names, _rows(cursor), out)
    out.flush()


def only_select(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.Statement:
    """Return the one SELECT statement that `query` is. Raises `QueryRefused` for anything else."""
    statements = connection.extract_statements(query)
    if not statements:
        raise QueryRefused("there is no question: give one SELECT")
    if len(statements) != 1:
        raise QueryRefused(f"one statement at a time, please: this is {len(statements)}")
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = str(statements[0].type).rpartition(".")[2]
        raise QueryRefused(f"only SELECT is answered here, not {kind}: the warehouse changes by `kix sync` alone")
    tree = connection.execute("SELECT json_serialize_sql(?)", [statements[0].query]).fetchall()[0][0]
    named = re.findall(r'"(?:function|table)_name":"(\w+)"', tree)
    if denied := [name for name in named if DENIED_NAMES.fullmatch(name.lower())]:
        raise QueryRefused(f"{denied[0]} is not answered here: a query sees the warehouse and nothing else")
    return statements[0]


def unique(names: list[str]) -> list[str]:
    """Number the columns that share a name, as DuckDB does in a subquery: a, a_1, a_2."""
    result: list[str] = []
    for name in names:
        number, free = 0, name
        while free in result:
            number += 1
            free = f"{name}_{number}"
        result.append(free)
    return result


def _rows(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while chunk := cursor.fetchmany(CHUNK_ROWS):
        yield from chunk


def _in_words(error: BaseException, task: dict[str, Any]) -> str:
    text = str(error)
    if isinstance(error, MemoryError | duckdb.OutOfMemoryException):
        return f"the query needs more than {task['memory_mb']} MiB: ask for less at once, or raise KIX_SQL_MEMORY_MB"
    if isinstance(error, duckdb.InterruptException) or "max_execution_time" in text:
        return _too_slow(task["timeout_s"])
    return text


def _write_parquet(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement, out: IO[bytes]) -> None:
    import polars as pl

    relation = connection.sql(statement.query)
    # Types that Parquet or Arrow have no counterpart for are written as text, exactly, rather than as something near.
    columns = [
        f"#{place}{_as_stored(str(kind))} AS {quoted(name)}"
        for place, (name, kind) in enumerate(zip(unique(relation.columns), relation.types, strict=True), 1)
    ]
    pl.DataFrame(relation.project(", ".join(columns))).write_parquet(out, compression="zstd")


def _as_stored(kind: str) -> str:
    if kind == "HUGEINT":  # what sum() of integers gives
        return "::DECIMAL(38, 0)"
    return "" if PLAIN.match(kind) else "::VARCHAR"


def _write_csv(names: list[str], rows: Iterator[tuple[Any, ...]], out: IO[bytes]) -> None:
    import io

    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_flat(value) for value in row] for row in rows)
    text.detach()


def _write_jsonl(names: list[str], rows: Iterator[tuple[Any, ...]], out: IO[bytes]) -> None:
    for row in rows:
        out.write(_json(dict(zip(names, row, strict=True))) + b"\n")


def _write_json(names: list[str], rows: Iterator[tuple[Any, ...]], out: IO[bytes]) -> None:
    out.write(b"[")
    for place, row in enumerate(rows):
        out.write((b",\n " if place else b"\n ") + _json(dict(zip(names, row, strict=True))))
    out.write(b"\n]\n")


def _write_table(names: list[str], rows: Iterator[tuple[Any, ...]], out: IO[bytes]) -> None:
    import io
    from itertools import islice

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for name in names:
        table.add_column(Text(printable(name)))
    shown = list(islice(rows, TABLE_ROWS + 1))
    for row in shown[:TABLE_ROWS]:
        table.add_row(*(Text("" if value is None else printable(str(_flat(value)))) for value in row))
    text = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    console = Console(file=text, highlight=False, width=None if sys.stdout.isatty() else WIDE)
    console.print(table)
    more = f"the first {TABLE_ROWS:,} rows; --format csv, json, jsonl or parquet gives all"
    console.print(
        more if len(shown) > TABLE_ROWS else f"{len(shown):,} row{'' if len(shown) == 1 else 's'}", style="dim"
    )
    text.detach()


_WRITERS = {"csv": _write_csv, "json": _write_json, "jsonl": _write_jsonl, "table": _write_table}


def _flat(value: Any) -> Any:
    return _json(value).decode() if isinstance(value, list | dict | tuple) else _simple(value)


def _simple(value: Any) -> Any:
    from datetime import UTC, datetime

    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value


def _json(value: Any) -> bytes:
    import orjson

    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)
    except TypeError:  # an integer beyond 64 bits, which JSON can say and orjson cannot
        return json.dumps(_sayable(value), default=str, ensure_ascii=False, separators=(",", ":")).encode()


def _sayable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _sayable(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_sayable(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else _simple(value)


if __name__ == "__main__":
    raise SystemExit(_child())
