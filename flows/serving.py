"""Serve the deployments: start what is due, one run after the other, until told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.runner import Runner

from flows.coalescing import coalesce, put_to_rest
from flows.deployments import deployment_of
from flows.freshness import unread
from flows.prefect_server import NoServer
from flows.registry import SOURCES
from flows.schedule import Job
from flows.settings import Settings

POLL_S = 5.0
STOP_S = 7.0
"""Time for the run under way to end in order. What has not ended by then ends with this process."""

Say = Callable[[str], None]


async def serve(settings: Settings, jobs: list[Job], server: subprocess.Popen[bytes] | None, say: Say) -> bool:
    """Serve until SIGTERM or SIGINT. Returns whether the run under way ended in order. Raises `NoServer`."""
    runner = Runner(name="kix", limit=1, query_seconds=POLL_S, pause_on_shutdown=False)
    ids = {job.name: await runner.aadd_deployment(await deployment_of(job)) for job in jobs}
    await _clear_up(settings, ids, say)
    for job in jobs:
        say(f"{job.name}: " + (f"{job.cron} (UTC)" if job.cron else "no schedule, by hand only"))
    stop = asyncio.Event()
    working = asyncio.create_task(runner.start())
    await asyncio.sleep(0)  # the runner sets a signal handler of its own first
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    told = asyncio.create_task(stop.wait())
    minding = asyncio.create_task(_mind(list(ids.values()), server))
    await asyncio.wait({working, told, minding}, return_when=asyncio.FIRST_COMPLETED)
    minding.cancel()
    if not told.done():
        told.cancel()
        raise NoServer(f"{_why(working, minding)}; nothing runs any more")
    say("stopping: the run under way is ended in order")
    return await _ended(runner, working)


def _why(*tasks: asyncio.Task[None]) -> str:
    for task in tasks:
        if task.done() and not task.cancelled() and task.exception() is not None:
            return str(task.exception())
    return "Prefect's runner stopped"


async def _ended(runner: Runner, working: asyncio.Task[None]) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_S):
            while not runner.started and not working.done():
                await asyncio.sleep(0.05)
            if runner.started:
                await runner.astop()
            await working
        return True
    return False


async def _clear_up(settings: Settings, ids: dict[str, UUID], say: Say) -> None:
    """Put to rest what a killed process left, and start what waits: missed runs as one, and sources to be read."""
    async with get_client() as client:
        dead = await put_to_rest(client, ids.values())
        missed, due = await coalesce(client, ids.values())
        if dead or missed:
            say(f"{dead} runs of a process that is gone are marked as crashed; {missed} missed runs became one")
        for name, deployment in ids.items():
            if name in SOURCES and deployment not in due and unread(settings, name):
                run = await client.create_flow_run_from_deployment(deployment, tags=["kix", "at-start"])
                say(f"{name}: not read yet, or its last sync was interrupted: run {run.name} starts at once")


async def _mind(ids: list[UUID], server: subprocess.Popen[bytes] | None) -> None:
    """See to it that missed runs never start in a row, and that the server is there; else raise `NoServer`."""
    async with get_client() as client:
        while True:
            if server is not None and server.poll() is not None:
                raise NoServer(f"Prefect's server ended with code {server.returncode}")
            with suppress(Exception):  # a server that is away for a moment; the runner has the last word on it
                await coalesce(client, ids)
            await asyncio.sleep(POLL_S)


def mark_children(settings: Settings) -> None:
    """Tell the processes of runs, through the environment, whose they are and which home is meant."""
    from flows.orphan import PARENT

    os.environ |= {PARENT: str(os.getpid()), "KIX_HOME": str(settings.home.absolute())}
