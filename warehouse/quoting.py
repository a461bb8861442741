"""How names and texts are written in SQL where a parameter cannot stand."""

from __future__ import annotations


def literal(text: str) -> str:
    """Return an SQL string, quoted."""
    return "'" + text.replace("'", "''") + "'"


def quoted(identifier: str) -> str:
    """Return an SQL identifier, quoted."""
    return '"' + identifier.replace('"', '""') + '"'
