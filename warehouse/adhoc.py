"""Ad-hoc SQL from anybody: one SELECT, read-only, no way out, bounded in time and memory.

The query runs in a child process, because DuckDB's own limits are not enough: one huge value passes its memory limit,
and a busy function its time limit. The child gets next to nothing of the environment and an address-space limit, opens
the warehouse, and from then on can open nothing more: the system refuses it any further file or socket. It is killed
when its time is over. `python -m warehouse.adhoc` is that child; it reads its task as JSON from standard input and
writes the answer itself, so none of it passes through the parent.

What goes to a terminal is escaped, in every form; a file or a pipe gets what the warehouse holds.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import duckdb

from scrapers.codes import Code
from transforms.names import escaped, printable
from warehouse.admission import QueryRefused, in_words, only_select, paths_of_host
from warehouse.connection import check_published
from warehouse.quoting import quoted

if TYPE_CHECKING:
    import polars

THREADS = 2
DENIED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "temp_directory": "",
    "secret_directory": "none",
    "extension_directory": "none",
    "python_enable_replacements": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "threads": str(THREADS),
}
PLAIN = re.compile(
    r"(?!.*(INTERVAL|HUGEINT|TIME WITH|TIME_TZ|TIME_NS|BIT|UNION|MAP|UUID|BIGNUM|VARINT|GEOMETRY|VARIANT))"
)
SOME_TYPES = "1 AS a, 1.5::DOUBLE AS b, 1.5::DECIMAL(4, 2) AS c, now() AS d, DATE '2026-01-01' AS e, [{'x': 'y'}] AS f"
_BEGINS_FORMULA = frozenset("=+-@\u2212\t\r\n")
_SKIPPED = " \"'\u00a0\u200b\u200c\u200d\u2060\u3000\ufeff"
CHUNK_ROWS = 2_000
TABLE_ROWS = 1_000
WIDE = 10_000
"""Columns of a table that nobody looks at in a terminal: nothing is cut."""
START_S = 3.0
EXITS = {Code.QUERY_REFUSED: 4, Code.QUERY_FAILED: 5, Code.QUERY_TOO_LARGE: 6}
"""What the child ends with when it has words instead of an answer."""

EXIT_FAILED = 70
MOST_SAID_BYTES = 10_000

ENVIRONMENT = frozenset(
    (
        "COLUMNS",
        "DYLD_LIBRARY_PATH",
        "LANG",
        "LANGUAGE",
        "LD_LIBRARY_PATH",
        "NO_COLOR",
        "PATH",
        "SYSTEMROOT",
        "TERM",
        "TZ",
    )
)
"""What the child sees of the environment, besides `LC_…` and `PYTHON…`: no query may find anything else in there."""


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
    environment = {name: value for name, value in os.environ.items()
                   if name in ENVIRONMENT or name.startswith(("LC_", "PYTHON"))}  # fmt: skip
    with subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.PIPE, env=environment
    ) as child:
        try:
            _, words = child.communicate(json.dumps(task).encode(), timeout=timeout_s + START_S)
        except subprocess.TimeoutExpired:
            child.kill()
            raise QueryRefused(_too_slow(timeout_s), code=Code.QUERY_TOO_LARGE) from None
    said = words[-MOST_SAID_BYTES:].decode(errors="replace").strip()
    for code, exit_code in EXITS.items():
        if child.returncode == exit_code:
            raise QueryRefused(said, code=code)
    if child.returncode > 0:
        raise QueryRefused(f"kix failed on this query, please report it: {said[-300:]}", code=Code.DEFECT)
    if child.returncode < 0:
        raise QueryRefused(
            f"the query ended without an answer (signal {-child.returncode}): most likely it needed more than"
            f" {memory_mb} MiB; ask for less at once, or raise KIX_SQL_MEMORY_MB",
            code=Code.QUERY_TOO_LARGE,
        )


def _too_slow(timeout_s: float) -> str:
    return f"the query took longer than {timeout_s:g} s: ask for less at once, or raise KIX_SQL_TIMEOUT_S"


def _child() -> int:
    task = json.load(sys.stdin)
    task["host_paths"] = paths_of_host(task["warehouse"])
    _limit(task["memory_mb"], task["timeout_s"])
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        _answer(task)
    except (duckdb.Error, QueryRefused, MemoryError) as error:
        words, code = _in_words(error, task)
        sys.stderr.write(words)
        return EXITS[code]
    except BrokenPipeError:  # whoever read the answer has seen enough
        os.dup2(devnull, sys.stdout.fileno())
    except Exception as error:  # noqa: BLE001  a traceback would show where things are on this machine
        sys.stderr.write(f"{type(error).__name__}: {_in_words(error, task)[0]}")
        return EXIT_FAILED
    return 0


def _limit(memory_mb: int, timeout_s: float) -> None:
    if sys.platform == "win32":
        return
    import resource

    # The libraries and their threads map 0.6 to 0.8 GiB of addresses before any query (measured); that comes on top.
    bound = (memory_mb + 1024) * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Whoever asked kills this process when its time is over; if it is gone itself, the system does.
    seconds = int(THREADS * (timeout_s + START_S)) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _answer(task: dict[str, Any]) -> None:
    limits: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{task['memory_mb']}MB",
        "max_execution_time": str(int(task["timeout_s"] * 1000)),
    }
    connection = duckdb.connect(task["warehouse"], read_only=True, config=DENIED | limits)
    connection.execute("SET TimeZone = 'UTC'; SET lock_configuration = true")
    write = _write_parquet if task["form"] == "parquet" else _write_rows
    _warm_up(connection, task["form"])
    _open_nothing_more()
    statement = only_select(connection, task["query"])
    write(connection, statement, task["form"])


def _warm_up(connection: duckdb.DuckDBPyConnection, form: str) -> None:
    """Have everything loaded that an answer may need: later no file can be opened."""
    if form == "parquet":
        _as_frame(connection, f"SELECT {SOME_TYPES}").write_parquet(io.BytesIO(), compression="zstd")
        return
    cursor = connection.execute("FROM test_all_types()")
    _WRITERS[form]([column[0] for column in cursor.description or ()], iter(cursor.fetchall()), io.BytesIO())


def _open_nothing_more() -> None:
    """Let the system refuse this process every further file and socket; those that are open stay open."""
    if sys.platform == "win32":
        return
    import resource

    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, lowest))


def _write_rows(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement, form: str) -> None:
    cursor = connection.execute(statement)
    names = unique([column[0] for column in cursor.description or ()])
    out: IO[bytes] = sys.stdout.buffer
    if sys.stdout.isatty() and form != "table":  # which is escaped in any case
        out = _Terminal(out)
    _WRITERS[form](names, _rows(cursor), out)
    out.flush()


class _Terminal(io.BytesIO):
    """Passes UTF-8 on to a terminal, with what that would obey escaped."""

    def __init__(self, terminal: IO[bytes]) -> None:
        super().__init__()
        self._terminal = terminal

    def write(self, text: Any) -> int:
        self._terminal.write(escaped(bytes(text).decode()).encode())
        return len(text)

    def flush(self) -> None:
        self._terminal.flush()


def unique(names: list[str]) -> list[str]:
    """Number the columns that share a name, as DuckDB does in a subquery: a, a_1, a_2."""
    numbers: dict[str, int] = {}
    taken: dict[str, None] = {}
    for name in names:
        number, free = numbers.get(name, 0), name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        numbers[name] = number
        taken[free] = None
    return list(taken)


def _rows(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while chunk := cursor.fetchmany(CHUNK_ROWS):
        yield from chunk


def _in_words(error: BaseException, task: dict[str, Any]) -> tuple[str, Code]:
    text = str(error)
    if isinstance(error, MemoryError | duckdb.OutOfMemoryException) or "memory allocation failed" in text:
        words = f"the query needs more than {task['memory_mb']} MiB: ask for less at once, or raise KIX_SQL_MEMORY_MB"
        return words, Code.QUERY_TOO_LARGE
    if isinstance(error, duckdb.InterruptException) or "max_execution_time" in text:
        return _too_slow(task["timeout_s"]), Code.QUERY_TOO_LARGE
    code = error.code if isinstance(error, QueryRefused) else Code.QUERY_FAILED
    return in_words(error, task["query"], task["host_paths"]), code


def _write_parquet(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement, form: str) -> None:  # noqa: ARG001
    _as_frame(connection, statement.query).write_parquet(sys.stdout.buffer, compression="zstd")


def _as_frame(connection: duckdb.DuckDBPyConnection, query: str) -> polars.DataFrame:
    import polars

    relation = connection.sql(query)
    # Types that Parquet or Arrow have no counterpart for are written as text, exactly, rather than as something near.
    columns = [
        f"#{place}{_as_stored(str(kind))} AS {quoted(name)}"
        for place, (name, kind) in enumerate(zip(unique(relation.columns), relation.types, strict=True), 1)
    ]
    return polars.DataFrame(relation.project(", ".join(columns)))


def _as_stored(kind: str) -> str:
    if kind == "HUGEINT":  # what sum() of integers gives
        return "::DECIMAL(38, 0)"
    return "" if PLAIN.match(kind) else "::VARCHAR"


def _write_csv(names: list[str], rows: Iterator[tuple[Any, ...]], out: IO[bytes]) -> None:
    writer = csv.writer(_Lines(out), lineterminator="\r\n")
    writer.writerow(names)
    writer.writerows([_flat(value) for value in row] for row in rows)


def _write_safe_csv(names: list[str], rows: Iterator[tuple[Any, ...]], out: IO[bytes]) -> None:
    writer = csv.writer(_Lines(out), lineterminator="\r\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow([no_formula(name) for name in names])
    writer.writerows([_figure_or_text(value) for value in row] for row in rows)


class _Lines:
    """Takes lines of CSV that end in CR LF and ends them in LF.

    Python's writer quotes a value for those line breaks only with which it ends lines, and each of both in a value is
    a new line to readers.
    """

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out

    def write(self, line: str) -> None:
        self._out.write(line.removesuffix("\r\n").encode() + b"\n")


def _figure_or_text(value: Any) -> Any:
    is_figure = isinstance(value, int | float | Decimal) and math.isfinite(value)
    return value if value is None or is_figure else no_formula(str(_flat(value)))


def no_formula(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would take for a formula, as it does with one that begins with
    = + - @ (full-width too), a tab or a carriage return, also behind spaces, quotes and what nobody sees."""
    first = unicodedata.normalize("NFKC", text.lstrip(_SKIPPED)[:1])
    return f"'{text}" if text.startswith(("\t", "\r", "\n")) or first in _BEGINS_FORMULA else text


def _write_jsonl(names: list[str], rows: Iterator[tuple[Any, ...]], out: IO[bytes]) -> None:
    for row in rows:
        out.write(_json(dict(zip(names, row, strict=True))) + b"\n")


def _write_json(names: list[str], rows: Iterator[tuple[Any, ...]], out: IO[bytes]) -> None:
    out.write(b"[")
    for place, row in enumerate(rows):
        out.write((b",\n " if place else b"\n ") + _json(dict(zip(names, row, strict=True))))
    out.write(b"\n]\n")


def _write_table(names: list[str], rows: Iterator[tuple[Any, ...]], out: IO[bytes]) -> None:
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


_WRITERS = {
    "csv": _write_csv,
    "safe-csv": _write_safe_csv,
    "json": _write_json,
    "jsonl": _write_jsonl,
    "table": _write_table,
}


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
