"""What identifies a snapshot: a digest over the rows of the evidence, whatever file they are in.

Every row is written as text (its columns by name, the values with their lengths, nulls left out), hashed with SHA-256,
and the hashes are added up, as four whole numbers of 64 bits each. A sum does not ask for an order and needs no
memory, so a million rows cost what their hashing costs. The digest is the SHA-256 over the tables' names, counts and
sums.

It does not depend on the order of rows or columns, on files, on compression, or on how a version of DuckDB hashes; a
column that a newer kix adds changes nothing while it is null. It tells whether evidence changed. It is no seal against
somebody who makes up rows for the purpose: the SHA-256 of every file is in the manifest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from warehouse.connection import Connection
from warehouse.quoting import literal, quoted
from warehouse.snapshot import Column, Table

METHOD = (
    "sha256 over one line a table of evidence, by name: name, rows, and the sums of the four 64-bit words of each row's"
    " sha256. A row is its counted columns by name, each as name:length:text, without nulls; instants as microseconds"
    " since 1970, lists as JSON. Before them a line with the family, empty for all."
)

_LANES = ", ".join(f"coalesce(sum(('0x' || h[{start}:{start + 15}])::UBIGINT), 0)" for start in (1, 17, 33, 49))


def counted(table: Table, columns: Iterable[Column]) -> list[Column]:
    """Return the columns of a table of evidence that count."""
    return [column for column in columns if column.name not in table.uncounted]


def table_line(db: Connection, table: Table, columns: Iterable[Column], rows: str) -> str:
    """Return a table's line: its name, count and sums. `rows` is the SQL to read them from, a table or Parquet
    files."""
    query = f"SELECT count(*), {_LANES} FROM (SELECT sha256({_row_text(counted(table, columns))}) AS h FROM {rows})"
    count, *sums = (int(value) for value in db.execute(query).fetchall()[0])
    return f"{table.name} {count} " + " ".join(f"{value:x}" for value in sums)


def content_digest(family: str | None, lines: Iterable[str]) -> str:
    """Return the digest over the lines of all tables of evidence, of everything or of one family."""
    text = "\n".join([f"family:{family or ''}", *sorted(lines)])
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _row_text(columns: list[Column]) -> str:
    parts = []
    for column in sorted(columns, key=lambda one: one.name):
        value = _text(quoted(column.name), column.type)
        named = f"concat({literal(column.name + ':')}, strlen({value}), ':', {value}, ',')"
        parts.append(f"if({quoted(column.name)} IS NULL, '', {named})")
    return f"concat({', '.join(parts)})"


def _text(name: str, kind: str) -> str:
    if kind.startswith("TIMESTAMP"):
        return f"epoch_us({name})::VARCHAR"
    return f"to_json({name})::VARCHAR" if kind.endswith("[]") else f"{name}::VARCHAR"
