"""Who leads, and who shares a rank: the SQL against the rules told again in plain Python, on made-up cohorts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.connection import Connection
from warehouse.migrations import migrate

DAY = datetime(2026, 5, 1, tzinfo=UTC)
ALWAYS = 9_223_372_036_854_775_807


@dataclass(frozen=True)
class Run:
    digest: str
    external_id: str
    value: float
    observed_at: datetime
    first_sync: int
    held: bool = False
    status: str = "passed"


@dataclass(frozen=True)
class Event:
    run: str
    event: str
    at: datetime
    sync: int
    by: str | None = None


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with duckdb.connect(tmp_path_factory.mktemp("records") / "made_up.duckdb") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        migrate(connection)
        connection.execute(
            "INSERT INTO implementations VALUES ('i', 's', 'o', 'someone', '1', 'unknown', NULL, '{}', 1)"
        )
        connection.execute("INSERT INTO protocols VALUES ('p', 'p', 'f', 'h', 'v1.0', NULL, '{}', 1)")
        connection.execute("INSERT INTO environments VALUES ('e', 'e', 'nvidia', 'B200', 'sm_100', '{}', 1)")
        yield connection


def fill(db: Connection, runs: list[Run], events: list[Event]) -> None:
    for table in ("runs", "lifecycle", "reviews", "verdicts"):
        db.execute(f"DELETE FROM {table}")
    for run in runs:
        insert(db, run.digest, run.external_id, run.value, run.observed_at, run.first_sync, run.status)
        if run.held:
            db.execute("INSERT INTO reviews VALUES ('s', ?, 'BELOW_SPEED_OF_LIGHT', 'too fast', 1)", [run.digest])
    for one in events:
        db.execute("INSERT INTO lifecycle VALUES (?, ?, '', ?, ?, ?)", [one.run, one.event, one.at, one.sync, one.by])


def insert(
    db: Connection,
    digest: str,
    external_id: str,
    value: float | None,
    observed_at: datetime,
    sync: int = 1,
    status: str = "passed",
    **more: Any,
) -> None:
    row = {
        "comparability_family": "f", "comparison_key": "k", "run_digest": digest, "source": "s",
        "external_id": external_id, "kernel": "kernel", "operation_digest": "o", "workload_digest": "w",
        "implementation_digest": "i", "protocol_digest": "p", "environment_digest": "e", "status": status,
        "primary_metric": "latency", "primary_statistic": "mean", "primary_unit": "ns", "primary_value": value,
        "observed_at": observed_at, "evidence": "reported", "profile": "source-native", "manifest": "{}",
        "first_seen_sync": sync, "primary_low": None, "primary_high": None,
    } | more  # fmt: skip
    db.execute(f"INSERT INTO runs VALUES ({', '.join('?' * len(row))})", list(row.values()))


def told(db: Connection) -> list[tuple[Any, ...]]:
    return db.execute(
        'SELECT "at", run_digest, previous_run_digest, cause FROM record_events_of(NULL) ORDER BY number'
    ).fetchall()


def order(run: Run) -> tuple[int, str, str]:
    return (int(run.external_id), run.external_id, run.digest)


def retold(runs: list[Run], events: list[Event]) -> list[tuple[Any, ...]]:
    """Walk through time, instant by instant, as the rules of the manifests say."""
    known = {run.digest: run for run in runs if not run.held and run.status == "passed"}
    supersede = {(one.by, one.sync): one.at for one in events if one.event == "superseded"}
    begins = {digest: supersede.get((digest, run.first_sync)) for digest, run in known.items()}
    instants = sorted({run.observed_at for run in known.values()} | {one.at for one in events})
    counting: dict[str, tuple[datetime, bool]] = {}
    fallen: set[str] = set()
    leader: str | None = None
    result = []
    for now in instants:
        falls: dict[str, str] = {}
        returned = set()
        for run in known.values():
            if begins[run.digest] == now and run.digest not in fallen:
                counting[run.digest] = (now, False)
        for one in sorted((one for one in events if one.at == now and one.run in known), key=lambda one: one.sync):
            if one.event == "reinstated":
                fallen.discard(one.run)
                if one.run not in counting:
                    counting[one.run] = (now, False)
                    returned.add(one.run)
            else:
                fallen.add(one.run)
                if counting.pop(one.run, None):
                    falls[one.run] = "supersession" if one.event == "superseded" else "retraction"
        best = min(counting, default=None, key=lambda one: (known[one].value, *counting[one], *order(known[one])))
        if best != leader and (falls or returned or best is None or counting[best][0] == now):
            cause = "reinstatement" if best in returned else falls.get(leader or "", "new_run")
            result.append((now, best, leader, cause))
            leader = best
        for run in sorted((one for one in known.values() if one.observed_at == now), key=order):
            if begins[run.digest] is None and run.digest not in fallen:
                counting[run.digest] = (now, True)
                if leader is None or run.value < known[leader].value:
                    result.append((now, run.digest, leader, "new_run"))
                    leader = run.digest
    return result


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Run], list[Event]]:
    """Submissions and what becomes of them over a few syncs: edits, edits taken back, withdrawals, returns."""
    syncs = {number: DAY + timedelta(hours=24 * number) for number in range(1, 7)}
    runs: list[Run] = []
    events: list[Event] = []
    for number in range(1, draw(st.integers(1, 6)) + 1):
        states: list[Run] = []
        current: Run | None = None
        gone = False
        for sync, at in syncs.items():
            does = draw(st.sampled_from(["nothing", "nothing", "state", "gone", "back", "earlier"]))
            if does == "state":
                hours = draw(st.sampled_from([1, 2, 24, 48, 60])) if not states else 24 * sync - 1
                run = Run(
                    f"{number}-{sync}", str(number), draw(st.sampled_from([1.0, 2.0, 3.0])),
                    DAY + timedelta(hours=hours), sync,
                    held=draw(st.integers(0, 9)) == 0, status=draw(st.sampled_from(["passed"] * 8 + ["timeout"])),
                )  # fmt: skip
                # A run is observed before the sync that first sees it.
                if run.observed_at >= at:
                    continue
                if current is not None:
                    events.append(Event(current.digest, "superseded", at, sync, run.digest))
                states.append(run)
                current, gone = run, False
            elif does == "gone" and current is not None and not gone:
                events.append(Event(current.digest, draw(st.sampled_from(["withdrawn", "retracted"])), at, sync))
                gone = True
            elif does == "back" and current is not None and gone:
                events.append(Event(current.digest, "reinstated", at, sync))
                gone = False
            elif does == "earlier" and len(states) > 1 and not gone and current != states[0]:
                events.append(Event(current.digest, "superseded", at, sync, states[0].digest))
                events.append(Event(states[0].digest, "reinstated", at, sync))
                current = states[0]
        runs += states
    return runs, events


@settings(max_examples=80, deadline=None)
@given(stories())
def test_record_events_are_those_of_the_rules(db: Connection, story: tuple[list[Run], list[Event]]) -> None:
    fill(db, *story)
    assert told(db) == retold(*story)


@settings(max_examples=20, deadline=None)
@given(stories())
def test_each_event_leads_on_from_the_one_before(db: Connection, story: tuple[list[Run], list[Event]]) -> None:
    fill(db, *story)
    events = told(db)
    assert all(first[1] == second[2] and first[1] != second[1] for first, second in pairwise(events))
    assert [one[0] for one in events] == sorted(one[0] for one in events)
    assert not events or events[0][2] is None


def at(hours: int) -> datetime:
    return DAY + timedelta(hours=hours)


def test_a_tie_is_no_new_record_and_the_earliest_leads_when_the_leader_falls(db: Connection) -> None:
    runs = [
        Run("a", "9", 2, at(1), 1),
        Run("b", "10", 1, at(2), 1),
        Run("c", "11", 1, at(3), 1),
        Run("d", "8", 1, at(4), 1),
    ]
    fill(db, runs, [Event("b", "retracted", at(50), 2), Event("b", "reinstated", at(60), 3)])
    assert told(db) == [
        (at(1), "a", None, "new_run"),
        (at(2), "b", "a", "new_run"),
        (at(50), "c", "b", "retraction"),
    ]


def test_at_one_instant_the_smaller_number_comes_first(db: Connection) -> None:
    fill(db, [Run("ten", "10", 1, at(1), 1), Run("nine", "9", 2, at(1), 1)], [])
    assert told(db) == [(at(1), "nine", None, "new_run"), (at(1), "ten", "nine", "new_run")]


def test_falls_of_one_sync_are_one_change(db: Connection) -> None:
    runs = [Run("a", "1", 1, at(1), 1), Run("b", "2", 2, at(2), 1), Run("c", "3", 3, at(3), 1)]
    fill(db, runs, [Event("a", "withdrawn", at(50), 2), Event("b", "withdrawn", at(50), 2)])
    assert told(db) == [(at(1), "a", None, "new_run"), (at(50), "c", "a", "retraction")]


def test_when_nobody_is_left_nobody_leads(db: Connection) -> None:
    fill(db, [Run("a", "1", 1, at(1), 1)], [Event("a", "withdrawn", at(50), 2), Event("a", "reinstated", at(70), 3)])
    assert told(db) == [
        (at(1), "a", None, "new_run"),
        (at(50), None, "a", "retraction"),
        (at(70), "a", None, "reinstatement"),
    ]


def test_an_edit_counts_from_the_sync_that_saw_it(db: Connection) -> None:
    runs = [Run("old", "1", 2, at(1), 1), Run("other", "2", 3, at(2), 1), Run("new", "1", 4, at(3), 2)]
    fill(db, runs, [Event("old", "superseded", at(50), 2, "new")])
    assert told(db) == [(at(1), "old", None, "new_run"), (at(50), "other", "old", "supersession")]


def test_a_clock_that_jumps_back_loses_no_change(db: Connection) -> None:
    fill(db, [Run("a", "1", 1, at(1), 1)], [Event("a", "withdrawn", at(50), 2), Event("a", "reinstated", at(40), 3)])
    assert told(db)[-1][1] == "a"


INTERVALS = st.one_of(st.none(), st.tuples(st.integers(0, 3), st.integers(0, 3)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(10, 16), INTERVALS), min_size=1, max_size=8))
def test_overlapping_intervals_share_a_rank(db: Connection, figures: list[tuple[int, tuple[int, int] | None]]) -> None:
    fill(db, [], [])
    runs = []
    for number, (value, around) in enumerate(figures):
        low, high = (None, None) if around is None else (value - around[0], value + around[1])
        insert(db, f"{number}", str(number), value, at(number), profile="strict", primary_low=low, primary_high=high)
        runs.append((float(value), f"{number}", low, high))
    ranks = dict(db.execute("SELECT run_digest, rank FROM standings_of(?, NULL)", [ALWAYS]).fetchall())
    assert ranks == chains(sorted(runs))


def chains(runs: list[tuple[Any, ...]]) -> dict[str, int]:
    """A run joins the chain before it when it ties with every member of it: equal values, or intervals that overlap."""
    result: dict[str, int] = {}
    chain: list[tuple[Any, ...]] = []
    rank = 0
    for run in runs:
        if not chain or not all(ties(run, member) for member in chain):
            chain, rank = [], rank + 1
        chain.append(run)
        result[run[1]] = rank
    return result


def ties(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    if one[0] == other[0]:
        return True
    if one[2] is None or other[2] is None:
        return False
    return one[3] >= other[2] and other[3] >= one[2]


def test_a_sources_own_figures_tie_only_when_equal(db: Connection) -> None:
    fill(db, [], [])
    for number, value in enumerate((5, 5, 6)):
        insert(db, f"{number}", str(number), value, at(number), primary_low=1, primary_high=9)
    rows = db.execute("SELECT run_digest, rank, tied, place FROM standings_of(?, NULL) ORDER BY place", [ALWAYS])
    # Within a tie the newer observation is shown first.
    assert rows.fetchall() == [("1", 1, True, 1), ("0", 1, True, 2), ("2", 2, False, 3)]


def test_every_run_that_does_not_rank_has_its_reasons(db: Connection) -> None:
    fill(db, [Run("a", "1", 1, at(1), 1, held=True), Run("b", "2", 1, at(1), 1, status="timeout")], [])
    insert(db, "c", "3", None, at(1))
    db.execute("INSERT INTO lifecycle VALUES ('b', 'retracted', 'cheated', ?, 2, NULL)", [at(9)])
    rows = db.execute("SELECT run_digest, reason FROM eligibility ORDER BY ALL").fetchall()
    assert rows == [
        ("a", "BELOW_SPEED_OF_LIGHT"),
        ("b", "RETRACTED"),
        ("b", "STATUS_TIMEOUT"),
        ("c", "MISSING_PRIMARY_METRIC"),
    ]
    assert db.execute("SELECT count(*) FROM standings_of(?, NULL)", [ALWAYS]).fetchall() == [(0,)]
