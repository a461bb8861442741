"""The deployments that `kix serve` serves: a sync for each enabled source, and the chores."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from prefect import Flow
from prefect.deployments.runner import RunnerDeployment
from prefect.schedules import Cron
from prefect.types.entrypoint import EntrypointType

from flows.orchestrated import sync_flow
from flows.registry import SOURCES
from flows.schedule import Job
from flows.upkeep import export_flow, maintenance_flow, verify_flow

CHORE_FLOWS: dict[str, Flow[..., Any]] = {"export": export_flow, "verify": verify_flow, "maintenance": maintenance_flow}


async def deployment_of(job: Job) -> RunnerDeployment:
    """Return the deployment of a job; one that is switched off can still be run by hand."""
    source = SOURCES.get(job.name)
    flow: Flow[..., Any] = CHORE_FLOWS[job.name] if source is None else sync_flow
    description = flow.description if source is None else f"{flow.description}\n\n{source.policy.attribution}."
    return await flow.ato_deployment(
        name=job.name,
        schedule=Cron(job.cron, timezone="UTC") if job.cron else None,
        parameters={"source": job.name} if source else {},
        description=description,
        tags=["kix", "chore" if source is None else "sync"],
        version=version("kix"),
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
