"""How the commands speak: results on standard output, words on standard error."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

import click

from scrapers.codes import WRONG_USAGE, Code
from scrapers.telling import tell

if TYPE_CHECKING:
    from flows.settings import Settings
    from warehouse.connection import Connection

_SYSTEM_LINKS = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))


def fail(message: str, code: Code, more: Iterable[str] = ()) -> NoReturn:
    """Say what went wrong on standard error, with nothing in it that a terminal would obey, and leave with 2 for wrong
    usage, else 1.

    The message is one line, whatever is in it, and ends with the code; `more` are further ones.
    """
    from transforms.names import printable

    tell("command.failed", logging.ERROR, code=code, reason=message)
    for line in (f"kix: {message} [{code}]", *more):
        click.echo(printable(line), err=True)
    raise SystemExit(2 if code in WRONG_USAGE else 1)


def settings_for(home: Path | None) -> Settings:
    """Load the settings and begin the log that they ask for; a wrong one ends the command with its name and value."""
    from flows.telling import listen

    settings = _loaded(home)
    try:
        listen(settings)
    except OSError as error:
        fail(f"cannot write the log to {settings.log_file}: {error.strerror}; set KIX_LOG_FILE", Code.FILE_UNUSABLE)
    return settings


def _loaded(home: Path | None) -> Settings:
    from pydantic import ValidationError

    from flows.settings import load_settings

    try:
        return load_settings(home)
    except (ValidationError, ValueError) as error:
        fail(f"a setting is wrong: {setting_problem(error)}", Code.SETTING)
    except OSError as error:
        words = f"cannot read {error.filename}: {error.strerror}; run kix as the home's owner, or choose another --home"
        fail(words, Code.FILE_UNUSABLE)


@contextmanager
def asking(settings: Settings) -> Iterator[Connection]:
    """Open the published warehouse; what it cannot answer ends the command in words."""
    from warehouse.connection import WarehouseError, reading
    from warehouse.migrations import check_schema

    try:
        with reading(settings.home) as connection:
            check_schema(connection)
            yield connection
    except WarehouseError as error:
        fail(str(error), error.code)


def setting_problem(error: Exception) -> str:
    """Say which setting is wrong, what it is, and why."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    first = errors()[0]
    name = ".".join(map(str, first["loc"]))
    if name.startswith("base_urls"):  # its value may hold a password
        return f"{name} (KIX_BASE_URLS): {first['msg']}"
    return f"{name} (KIX_{name.upper()}) is {first['input']!r}: {first['msg']}"


def print_json(value: Any) -> None:
    """Print a value as JSON, times as ISO 8601, with nothing in it that a terminal would obey."""
    click.echo(as_json_text(value))


def as_json_text(value: Any) -> str:
    """Write a value as JSON over several lines; what a terminal would obey is escaped."""
    import orjson

    from transforms.names import printable_json

    return printable_json(orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2).decode())


def check_target(path: Path) -> None:
    """Raise `OSError` for a symbolic link, which somebody else may have put there; those in `/dev` are the system's."""
    if path.is_symlink() and path.absolute().parent not in _SYSTEM_LINKS:
        raise OSError(errno.ELOOP, "it is a symbolic link, and those are not written through: name the file itself")


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a file that appears only when it is whole. A device or pipe is written to directly.

    Raises `OSError`, for a symbolic link too.
    """
    check_target(path)
    if path.exists() and (path.is_symlink() or not path.is_file()):
        with path.open("wb") as file:
            write(file)
        return
    aside = path.with_name(f"{path.name}.{os.getpid()}.part")
    aside.unlink(missing_ok=True)  # left by a killed process of the same number, or put there to be written through
    try:
        with aside.open("xb") as file:
            write(file)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
