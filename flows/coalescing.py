"""Runs that were missed come together into one, and runs of a dead process are put to rest.

Only runs that a schedule made are looked at: one that a person asked for is run as asked.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from prefect import runtime
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.states import Cancelled, Completed, Crashed

ALIVE = (StateType.RUNNING, StateType.PENDING, StateType.CANCELLING)
MOST = 200


async def put_to_rest(client: PrefectClient, deployments: Collection[UUID]) -> int:
    """Mark as crashed what runs of these deployments are said to be running. Returns how many.

    Only whoever alone runs these deployments may say so: their processes ended with the one that is gone.
    """
    dead = await _runs(client, deployments, ALIVE)
    for run in dead:
        message = "its process was gone when kix serve started"
        await client.set_flow_run_state(run.id, Crashed(message=message), force=True)
    return len(dead)


async def coalesce(client: PrefectClient, deployments: Collection[UUID]) -> tuple[int, set[UUID]]:
    """Of each deployment's scheduled runs that are overdue, leave the newest.

    Returns how many were taken away, and the deployments that have one left, which starts now.
    """
    newest: dict[UUID, FlowRun] = {}
    taken = 0
    for run in await _overdue(client, deployments):
        kept = newest.setdefault(run.deployment_id, run) if run.deployment_id else run
        if kept is run:
            continue
        message = f"missed; the run scheduled for {_due(kept):%Y-%m-%d %H:%M} UTC makes up for it"
        await client.set_flow_run_state(run.id, Cancelled(name="Coalesced", message=message), force=True)
        taken += 1
    return taken, set(newest)


async def superseded_by() -> datetime | None:
    """When this flow run was due whose schedule has come round again since; None when it is the newest.

    A worker that was away starts the runs it missed one after the other: each but the last ends here.
    """
    deployment, me = runtime.deployment.id, runtime.flow_run.id
    if deployment is None:
        return None
    async with get_client() as client:
        run = await client.read_flow_run(UUID(str(me)))
        if not run.auto_scheduled:
            return None
        later = [one for one in await _overdue(client, [UUID(str(deployment))]) if _due(one) > _due(run)]
    return _due(later[0]) if later else None


def coalesced(newer: datetime) -> State[Any]:
    """The final state of a run that leaves its work to a newer one."""
    message = f"nothing was done: the run scheduled for {newer:%Y-%m-%d %H:%M} UTC makes up for the missed ones"
    return Completed(name="Coalesced", message=message)


async def _overdue(client: PrefectClient, deployments: Collection[UUID]) -> list[FlowRun]:
    """The scheduled runs whose time has come and that nobody has taken up, newest first."""
    now = datetime.now(UTC)
    runs = await _runs(client, deployments, (StateType.SCHEDULED,))
    return [run for run in runs if run.auto_scheduled and run.expected_start_time and _due(run) <= now]


async def _runs(client: PrefectClient, deployments: Collection[UUID], states: Collection[StateType]) -> list[FlowRun]:
    found: list[FlowRun] = []
    while True:
        page = await client.read_flow_runs(
            deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=list(deployments))),
            flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=list(states)))),
            sort=FlowRunSort.EXPECTED_START_TIME_DESC,
            limit=MOST,
            offset=len(found),
        )
        found += page
        if len(page) < MOST:
            return found


def _due(run: FlowRun) -> datetime:
    moment = run.expected_start_time or run.created or datetime.now(UTC)
    return moment.astimezone(UTC)
