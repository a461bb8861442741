"""The same sync as a Prefect flow: its steps become tasks, its report an artifact.

Retries are for fetching alone (the client has tried each answer before); loading is never repeated. Results are
neither cached nor stored: what passes between steps are references into the archive.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any

os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "120")

from prefect import flow, get_run_logger, task
from prefect.artifacts import acreate_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.registry import SOURCES, Source
from flows.report import Report
from flows.settings import Settings
from flows.sync import Request, Result, sync

RETRY_DELAY_S = 5
FLUSH_S = 3.0


async def as_task(name: str, work: Callable[[], Awaitable[Result]], *, retries: int = 0) -> Result:
    """Run a step as a Prefect task of its name."""

    @task(name=name, retries=retries, retry_delay_seconds=RETRY_DELAY_S, cache_policy=NO_CACHE, persist_result=False)
    async def run() -> Result:
        return await work()

    return await run()


@flow(name="kix sync", flow_run_name="sync {source}", validate_parameters=False, persist_result=False)
async def sync_flow(source: str, request: Request, settings: Settings, reports: list[Report]) -> State[Any]:
    """Sync one source. Ends as `Completed`, as `Partial` (completed, something is missing), or `Failed`."""
    report = await sync(SOURCES[source], request, settings, step=as_task)
    reports.append(report)
    get_run_logger().info("%s", report.sentence())
    await acreate_markdown_artifact(
        key=f"sync-{source}", markdown=report.markdown(), description=f"Report of sync {report.sync_id} of {source}"
    )
    if report.status == "failed":
        return Failed(message=report.sentence())
    if report.status == "partial":
        return Completed(name="Partial", message=report.sentence())
    return Completed(message=report.sentence())


async def sync_as_flow(source: Source, request: Request, settings: Settings) -> Report:
    """Run a source's sync as a flow run against the configured Prefect server, or a temporary one.

    A failed sync is a failed flow run, and its report is returned all the same.
    """
    reports: list[Report] = []
    state = await sync_flow(source.policy.slug, request, settings, reports, return_state=True)
    # Task runs are recorded by events that a temporary server takes a moment to write down.
    await asyncio.sleep(FLUSH_S if not os.environ.get("PREFECT_API_URL") else 0)
    if not reports:
        await state.aresult(raise_on_failure=True)
    return reports[0]
