"""What Prefect shows of a sync: artifacts in which nothing from upstream is a link, assets with lineage, and events."""

from __future__ import annotations

import asyncio
import json
import re
import time
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from board_server import BoardServer
from conftest import SAMPLE, SOURCE

from flows.freshness import Freshness
from flows.report import Report
from flows.settings import Settings
from flows.sync import Request
from scrapers.contract import Drift, Reject

HOSTILE = "`[free GPUs](https://evil.example/a)` <img src=x onerror=x> | ![x](https://evil.example/b)\n# big\x1b[1m"
CODE = re.compile(r"`[^`\n]*`")


def record(**changes: Any) -> dict[str, Any]:
    usual = {
        "comparison_key": "sha256:00", "kernel": "k", "product": "NVIDIA B200", "stack_version": "v1.1",
        "cause": "new_run", "at": "2026-11-30T00:00:00Z", "source": "sol-execbench", "external_id": "7",
        "run_digest": "sha256:01", "project": "p", "primary_value": 50.0, "primary_unit": "ns",
        "previous_run_digest": "sha256:02",
        "previous_external_id": "6", "previous_project": "q", "previous_value": 100.0,
    }  # fmt: skip
    return usual | changes


def report(**changes: Any) -> Report:
    started = datetime(2026, 11, 30, tzinfo=UTC)
    return Report(1, "sol-execbench", "complete", started, started, **changes)


def test_nothing_from_upstream_is_markup_in_the_report() -> None:
    hostile = record(kernel=HOSTILE, product=HOSTILE, stack_version=HOSTILE, project=HOSTILE, external_id=HOSTILE)
    told = report(
        records=[hostile, record(project=None, run_digest=None, primary_value=None, previous_project=HOSTILE)],
        rejects=[Reject(HOSTILE, HOSTILE, HOSTILE)], drift=[Drift(HOSTILE, "new", 3)], incomplete=[HOSTILE],
        reviews=[{"reason": "impossible", "subject": HOSTILE, "detail": HOSTILE}], error=HOSTILE,
    )  # fmt: skip
    for status in ("complete", "partial", "failed"):
        told.status = status
        text = told.markdown()
        assert "free GPUs" in text
        outside = CODE.sub("", text)
        assert not re.search(r"evil|<|>|\]\(|https?:|\x1b|big", outside), outside


def test_the_table_shows_the_greatest_changes_first_and_no_links() -> None:
    from flows.seen import top_changes

    rows = top_changes(
        report(
            records=[
                record(kernel="small", primary_value=99.0),
                record(kernel="first ever", previous_run_digest=None, previous_value=None),
                record(kernel=HOSTILE, project=HOSTILE, external_id=HOSTILE, primary_value=10.0),
                record(kernel="worse", primary_value=300.0),
            ]
        )
    )
    assert [row["kernel"] for row in rows[1:]] == ["`worse`", "`small`"]
    assert rows[0]["times before"] == 0.1
    for value in rows[0].values():
        assert not isinstance(value, str) or not re.search(r"evil|<|\]\(", CODE.sub("", value)), value


def test_what_a_state_says_of_freshness_is_plain() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    one = Freshness("sol-execbench", datetime(2026, 11, 28, 12, tzinfo=UTC), 36, "failed", now, now)
    assert one.stale
    assert one.sentence() == (
        "sol-execbench: stale since 2026-11-30 00:00 UTC, last read 2026-11-28 12:00 UTC (policy: 36 h);"
        " its last sync failed, nothing went well since 2026-11-30 12:00 UTC"
    )


def ask(api: str, path: str, body: Any) -> Any:
    request = urllib.request.Request(api + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def events_of(api: str, since: datetime, wanted: int) -> list[dict[str, Any]]:
    """Kix's events and its assets' since a moment, once there are as many as wanted."""
    occurred = {"since": since.isoformat(), "until": "2999-01-01T00:00:00Z"}
    names = {"prefix": ["kix.", "prefect.asset.materialization."]}
    deadline = time.monotonic() + 60
    while True:
        found: list[dict[str, Any]] = ask(
            api, "/events/filter", {"filter": {"event": names, "occurred": occurred}, "limit": 50}
        )["events"]
        if len(found) >= wanted or time.monotonic() > deadline:
            return found
        time.sleep(0.3)


def faster(submission: str) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    """A change to a listing: the submission's latency, less a hundredth."""

    def change(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            one | {"latency_ms": one["latency_ms"] * 0.99} if str(one["id"]) == submission else one for one in items
        ]

    return change


@pytest.mark.prefect
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_sync_leaves_artifacts_assets_and_events(
    prefect_api: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    from flows import seen
    from flows.orchestrated import sync_as_flow

    monkeypatch.setattr(seen, "PROGRESS_S", 0.05)
    monkeypatch.setenv("PREFECT_API_URL", prefect_api)
    kernels = {one["name"]: one for one in json.loads((SAMPLE / "kernels.json").read_text())["data"]["kernels"]}
    with BoardServer(SAMPLE) as board, temporary_settings({PREFECT_API_URL: prefect_api}):
        settings = Settings(home=tmp_path, stale_after_h={"sol-execbench": 1e-9})
        first = asyncio.run(sync_as_flow(SOURCE, Request(base_url=board.base_url), settings))
        leader = first.records[0]
        kernel = kernels[leader["kernel"]]
        since = datetime.now(UTC)
        board.edit(kernel["id"], faster(leader["external_id"]))
        second = asyncio.run(sync_as_flow(SOURCE, Request(base_url=board.base_url), settings))
    (taken,) = [one for one in second.records if one["previous_run_digest"]]
    events = events_of(prefect_api, since, 6)
    by_name = {event["event"]: event for event in events}
    assert by_name["kix.sync.completed"]["payload"]["records"] == 1
    told = by_name["kix.record.new"]
    assert (told["resource"]["prefect.resource.id"], told["payload"]["kernel"]) == (
        "kix.source.sol-execbench", kernel["name"],
    )  # fmt: skip
    assert told["payload"]["primary_value"] == taken["primary_value"]
    assert taken["primary_value"] == pytest.approx(leader["primary_value"] * 0.99, abs=1)
    assert by_name["kix.source.stale"]["payload"]["stale_after_h"] == 1e-9
    lineage = {
        (event["resource"]["prefect.resource.id"], one["prefect.resource.id"])
        for event in events
        for one in event["related"]
        if event["event"] == "prefect.asset.materialization.succeeded" and one["prefect.resource.role"] == "asset"
    }
    assert lineage == {
        ("kix://archive/sol-execbench", "https://research.nvidia.com/benchmarks/sol-execbench"),
        ("kix://warehouse", "kix://archive/sol-execbench"),
    }
    artifacts = {one["key"]: one for one in ask(prefect_api, "/artifacts/latest/filter", {"limit": 50})}
    assert f"Sync {second.sync_id} of sol-execbench" in artifacts["sync-sol-execbench"]["data"]
    assert "## Freshness" in artifacts["sync-sol-execbench"]["data"]
    (row,) = json.loads(artifacts["records-sol-execbench"]["data"])
    assert (row["kernel"], row["times before"]) == (f"`{kernel['name']}`", 0.99)
    assert artifacts["progress-sol-execbench"]["data"] == 100.0
