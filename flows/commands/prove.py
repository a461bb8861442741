"""`kix verify` and `kix rebuild`: the warehouse against itself, its archive, and its source's digits."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

import click

from flows.console import fail, print_json
from flows.lock import HomeBusy
from flows.progress import progress_bar
from flows.rebuild import rebuild
from flows.settings import Settings
from flows.verify import Proof, verify
from scrapers.codes import Code
from scrapers.errors import SyncFailed
from transforms.names import printable
from warehouse.connection import WarehouseError


def run_verify(settings: Settings, *, as_json: bool) -> int:
    """Print every proof as it is found. Returns 0 when all hold, else 1."""
    try:
        proofs = asyncio.run(_verify(settings, shown=not as_json))
    except WarehouseError as error:
        fail(str(error), error.code)
    except OSError as error:
        words = f"no room for a temporary folder: {error.strerror or error} ({error.filename}); set TMPDIR to another"
        fail(words, Code.FILE_UNUSABLE)
    broken = [proof for proof in proofs if not proof.holds]
    if as_json:
        print_json({"holds": not broken, "proofs": [asdict(proof) for proof in proofs]})
    else:
        click.echo(f"{len(proofs) - len(broken)} of {len(proofs)} hold")
    return 1 if broken else 0


async def _verify(settings: Settings, *, shown: bool) -> list[Proof]:
    proofs = []
    async for proof in verify(settings):
        proofs.append(proof)
        if shown:
            click.echo(f"{'holds ' if proof.holds else 'BROKEN'}  {proof.what}" + ("" if proof.holds else ":"))
            for line in proof.examples:
                click.echo(f"          {printable(line)}")
            if proof.broken > len(proof.examples):
                click.echo(f"          … {proof.broken} in all")
    return proofs


def run_rebuild(settings: Settings, *, as_json: bool) -> int:
    """Rebuild the warehouse and say what is different. Returns the exit code."""
    try:
        with progress_bar("rebuild", shown=not as_json) as progress:
            done = asyncio.run(rebuild(settings, progress=progress))
    except (HomeBusy, SyncFailed, WarehouseError) as error:
        fail(f"{error}; the warehouse is as it was", error.code)
    except OSError as error:
        words = f"cannot use {settings.home}: {error.strerror or error} ({error.filename}); the warehouse is as it was"
        fail(words, Code.FILE_UNUSABLE)
    except KeyboardInterrupt:
        fail("interrupted: the warehouse is as it was", Code.INTERRUPTED)
    if as_json:
        print_json(asdict(done))
        return 0
    click.echo(f"{done.warehouse} was made anew from {done.syncs} syncs in the archive")
    for line in done.changed or ["nothing is different from before"]:
        click.echo(f"  {printable(line)}")
    return 0
