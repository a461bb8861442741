"""`kix serve`, scheduled syncs and chores in one long-lived process; `kix maintain`, one chore by hand."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import ExitStack
from dataclasses import asdict
from types import FrameType
from typing import NoReturn

import click

from flows.console import fail, print_json
from flows.lock import HomeBusy, holding
from flows.maintenance import maintain
from flows.prefect_server import FOLDER, NoServer, configured, own_server
from flows.schedule import jobs
from flows.settings import Settings
from scrapers.codes import Code
from scrapers.errors import SyncFailed
from scrapers.own_files import refuse_links
from scrapers.telling import tell
from warehouse.connection import WarehouseError

PATIENT = {"PREFECT_CLIENT_RETRY_EXTRA_CODES": "500"}
"""Prefect's server answers so when its SQLite file is locked for a moment."""


def run_serve(settings: Settings) -> NoReturn:
    """Serve until SIGTERM or SIGINT, and leave with code 0; with 1 when serving ended by itself."""
    try:
        wanted = jobs(settings)
    except ValueError as error:
        fail(f"a setting is wrong: {error}", Code.SETTING)
    if not settings.sources:
        _say("no source is enabled (KIX_SOURCES): only the chores run")
    signal.signal(signal.SIGTERM, _interrupt)
    folder = settings.home / FOLDER
    try:
        refuse_links(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.enter_context(holding(folder, "kix serve", 0))
            server = None
            if not configured():
                _say("starting Prefect's server")
                url, server = stack.enter_context(own_server(settings.home, settings.prefect_port))
                os.environ |= {"PREFECT_API_URL": url, "PREFECT_HOME": str(folder.absolute())} | PATIENT
                _say(f"Prefect's server is up: {url.removesuffix('/api')}")
            from flows.serving import mark_children, serve

            mark_children(settings)
            if not asyncio.run(serve(settings, wanted, server, _say)):
                _leave("the run under way did not end in time and is cut off; the next sync goes on where it stopped")
    except HomeBusy as busy:
        fail(f"{settings.home} is served already: {busy}", busy.code)
    except NoServer as error:
        fail(str(error), error.code)
    except OSError as error:
        fail(f"cannot use {error.filename or folder}: {error.strerror or error}", Code.FILE_UNUSABLE)
    except KeyboardInterrupt:
        pass
    _leave("stopped")


def run_maintain(settings: Settings, *, compact: bool, as_json: bool) -> int:
    """Do the maintenance and say what came of it. Returns the exit code."""
    try:
        done = maintain(settings, compact_always=compact)
    except (HomeBusy, SyncFailed, WarehouseError) as error:
        fail(str(error), error.code)
    except OSError as error:
        fail(f"cannot use {error.filename or settings.home}: {error.strerror or error}", Code.FILE_UNUSABLE)
    if as_json:
        print_json(asdict(done))
    else:
        click.echo(done.sentence())
    return 0


def _leave(words: str) -> NoReturn:
    """Go without waiting for Prefect's threads, which ask for a server that is gone.

    A run that is still there ends by itself as soon as this process is gone.
    """
    _say(words)
    sys.stderr.flush()
    os._exit(0)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    raise KeyboardInterrupt


def _say(words: str) -> None:
    tell("serve.said", words=words)
    click.echo(f"kix serve: {words}", err=True)
