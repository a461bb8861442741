"""History: what becomes of submissions, runs and definitions from sync to sync, on a board that changes in between.

The board is three kernels of the sample. Every sync of a story also checks that evidence only grew.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from board_server import BoardServer, Reply
from conftest import SAMPLE, run_sync

from flows.report import Report
from scrapers.contract import Scope
from warehouse.connection import Connection, reading

SOFTMAX, DEQUANT, PAGED = 3, 12, 16
NAMES = {
    SOFTMAX: "sample_masked_softmax_rows",
    DEQUANT: "sample_fp4_weight_dequant",
    PAGED: "sample_ragged_paged_attention",
}
Item = dict[str, Any]
Evidence = dict[str, Counter[tuple[Any, ...]]]


def listed(kernel: int) -> list[Item]:
    return json.loads((SAMPLE / f"submissions/{kernel}.json").read_text(encoding="utf-8"))


def ranked(items: list[Item], stack: str = "v1.1", gpu: str = "B200") -> list[Item]:
    """What ranks of a listing, best first, where nothing is faster than light."""
    results = [
        one
        for one in items
        if one["status"] == "COMPLETED" and one["is_correct"] and not one["is_disqualified"] and one["latency_ms"]
    ]
    board = [one for one in results if (one["evaluation_stack_version"], one["gpu_type"]) == (stack, gpu)]
    return sorted(board, key=lambda one: one["latency_ms"])


LEADER = ranked(listed(SOFTMAX))[0]
SECOND = ranked(listed(SOFTMAX))[1]
LAST = ranked(listed(SOFTMAX))[-1]


class Story:
    """A home and the board it is synced from."""

    def __init__(self, home: Path, board: BoardServer, before: Evidence | None = None) -> None:
        self.home = home
        self.board = board
        self.before = before or {}
        self.reader = ExitStack()
        self.db: Connection | None = None

    def sync(self, status: str = "complete", kernels: tuple[int, ...] = (), **options: Any) -> Report:
        scope = Scope(kernels=tuple(NAMES[number] for number in kernels))
        report = self.attempt(scope, **options)
        assert report.status == status, (report.error, report.rejects)
        before, self.before = self.before, self.evidence()
        for table, rows in before.items():
            assert rows <= self.before[table], f"rows of {table} were changed or are gone"
        return report

    @property
    def first_counts(self) -> list[int]:
        """Runs and states of submissions after the first sync."""
        everything = [one for number in NAMES for one in listed(number)]
        results = [
            one for one in everything if one["status"] == "COMPLETED" and one["is_correct"] and one["latency_ms"]
        ]
        return [sum(not one["is_disqualified"] for one in results), len(everything)]

    def attempt(self, scope: Scope, **options: Any) -> Report:
        self.close()
        return run_sync(self.home, self.board.base_url, scope=scope, **options)

    def evidence(self) -> Evidence:
        derived = "('ordered_rows', 'record_events', 'standings')"
        tables = self.ask(f"SELECT table_name FROM duckdb_tables() WHERE NOT internal AND table_name NOT IN {derived}")
        return {table: Counter(self.ask(f"SELECT hash(one) FROM {table} one")) for (table,) in tables}

    def ask(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        if self.db is None:
            self.db = self.reader.enter_context(reading(self.home))
        return self.db.execute(query, list(values)).fetchall()

    def close(self) -> None:
        self.reader.close()
        self.db = None

    def change(self, kernel: int, number: int, **fields: Any) -> None:
        """Give a submission other values."""
        seen = []

        def edit(items: list[Item]) -> list[Item]:
            seen.extend(one["id"] for one in items)
            return [one | fields if one["id"] == number else one for one in items]

        self.board.edit(kernel, edit)
        assert number in seen

    def remove(self, kernel: int, number: int) -> None:
        self.board.edit(kernel, lambda items: [one for one in items if one["id"] != number])

    def add(self, kernel: int, item: Item) -> None:
        self.board.edit(kernel, lambda items: [item, *items])

    def define(self, kernel: int, change: Callable[[Item], None]) -> None:
        """Change a kernel's definition."""
        answer = json.loads(self.board.bodies[f"/kernels/{kernel}"])
        change(answer["data"])
        self.board.bodies[f"/kernels/{kernel}"] = json.dumps(answer).encode()

    # What the warehouse says.

    def board_of(self, kernel: int, stack: str = "v1.1", gpu: str = "NVIDIA B200") -> list[tuple[str, int, float]]:
        return self.ask(
            "SELECT external_id, rank, primary_value FROM leaderboard"
            " WHERE kernel = ? AND stack_version = ? AND product = ? ORDER BY place",
            NAMES[kernel], stack, gpu,
        )  # fmt: skip

    def versions(self, number: int) -> list[tuple[int, int, int]]:
        """Version, first and last sync of each state of a submission."""
        return self.ask(
            "SELECT version, first_seen_sync, last_seen_sync FROM submissions WHERE external_id = ? ORDER BY version",
            str(number),
        )

    def runs(self, number: int) -> list[str]:
        """A submission's runs, oldest first."""
        rows = self.ask("SELECT run_digest FROM runs WHERE external_id = ? ORDER BY first_seen_sync", str(number))
        return [digest for (digest,) in rows]

    def events(self) -> list[tuple[str, str, int, str | None]]:
        return self.ask("SELECT run_digest, event, sync_id, by_run_digest FROM lifecycle ORDER BY sync_id, event")

    def reason(self, run: str, sync: int) -> str:
        ((text,),) = self.ask("SELECT reason FROM lifecycle WHERE run_digest = ? AND sync_id = ?", run, sync)
        return text

    def counts(self, *tables: str) -> list[int]:
        return [self.ask(f"SELECT count(*) FROM {table}")[0][0] for table in tables]


def nanoseconds(latency_ms: float) -> int:
    return round(latency_ms * 1e6)  # the listings used here have at most seven decimals, and no ties


def as_board(items: list[Item]) -> list[tuple[str, int, float]]:
    values = sorted({nanoseconds(one["latency_ms"]) for one in items})
    return [
        (str(one["id"]), values.index(nanoseconds(one["latency_ms"])) + 1, float(nanoseconds(one["latency_ms"])))
        for one in items
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three kernels of the sample, as a board of their own."""
    small = tmp_path_factory.mktemp("small-board")
    for part in ("kernels", "submissions"):
        (small / part).mkdir()
        for number in NAMES:
            shutil.copyfile(SAMPLE / part / f"{number}.json", small / part / f"{number}.json")
    index = json.loads((SAMPLE / "kernels.json").read_text(encoding="utf-8"))
    index["data"]["kernels"] = [one for one in index["data"]["kernels"] if one["id"] in NAMES]
    (small / "kernels.json").write_text(json.dumps(index), encoding="utf-8")
    return small


@pytest.fixture(scope="module")
def first(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Evidence]:
    """A home after the first sync of that board, and the rows in it."""
    home = tmp_path_factory.mktemp("first") / "home"
    with BoardServer(folder) as board:
        story = Story(home, board)
        story.sync()
        story.close()
    return home, story.before


@pytest.fixture
def story(first: tuple[Path, Evidence], folder: Path, tmp_path: Path) -> Iterator[Story]:
    """A story that begins after the first sync."""
    home = tmp_path / "home"
    shutil.copytree(first[0], home)
    with BoardServer(folder) as board, closing(Story(home, board, first[1])) as one:
        yield one


@pytest.fixture
def new_story(folder: Path, tmp_path: Path) -> Iterator[Story]:
    """A story that begins before the first sync."""
    with BoardServer(folder) as board, closing(Story(tmp_path / "home", board)) as one:
        yield one


# -- figures that change


def test_the_first_sync_gives_the_boards_of_the_listings(story: Story) -> None:
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX)))
    assert story.events() == []
    assert {row[1:] for one in listed(SOFTMAX) for row in [(one["id"], *story.versions(one["id"])[0])]} == {(1, 1, 1)}


def test_an_edited_latency_supersedes_and_the_edit_taken_back_reinstates(story: Story) -> None:
    number, was = LEADER["id"], LEADER["latency_ms"]
    (old,) = story.runs(number)
    edited = SECOND["latency_ms"] + 0.0005

    story.change(SOFTMAX, number, latency_ms=edited)
    story.sync(kernels=(SOFTMAX,))
    assert story.runs(number)[0] == old
    (_, new) = story.runs(number)
    assert story.versions(number) == [(1, 1, 1), (2, 2, 2)]
    assert story.events() == [(old, "superseded", 2, new)]
    assert str(was) in story.reason(old, 2)
    assert str(edited) in story.reason(old, 2)
    slower = [one | {"latency_ms": edited} if one["id"] == number else one for one in ranked(listed(SOFTMAX))]
    assert story.board_of(SOFTMAX) == as_board(sorted(slower, key=lambda one: one["latency_ms"]))
    assert [row[0] for row in story.board_of(SOFTMAX)[:2]] == [str(SECOND["id"]), str(number)]
    assert story.ask("SELECT reason FROM eligibility WHERE run_digest = ?", old) == [("SUPERSEDED",)]
    assert story.versions(SECOND["id"]) == [(1, 1, 2)]
    assert story.ask("SELECT value FROM measurements WHERE run_digest IN (?, ?) ORDER BY value", old, new) == [
        (float(nanoseconds(was)),), (float(nanoseconds(edited)),),
    ]  # fmt: skip

    story.change(SOFTMAX, number, latency_ms=was)
    story.sync(kernels=(SOFTMAX,))
    assert story.runs(number) == [old, new]
    assert story.versions(number) == [(1, 1, 1), (2, 2, 2), (3, 3, 3)]
    assert sorted(story.events()[1:]) == sorted([(old, "reinstated", 3, None), (new, "superseded", 3, old)])
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX)))

    story.sync(kernels=(SOFTMAX,))
    assert story.versions(number) == [(1, 1, 1), (2, 2, 2), (3, 3, 4)]
    assert len(story.events()) == 3


def test_two_edits_leave_the_last_one_standing(story: Story) -> None:
    number = LEADER["id"]
    (first_run,) = story.runs(number)
    for latency in (0.041, 0.042):
        story.change(SOFTMAX, number, latency_ms=latency)
        story.sync(kernels=(SOFTMAX,))
    _, second, third = story.runs(number)
    standing = story.ask("SELECT run_digest, event, by_run_digest FROM run_states ORDER BY sync_id, run_digest")
    assert set(standing) == {(first_run, "superseded", third), (second, "superseded", third)}
    assert [row for row in story.board_of(SOFTMAX) if row[0] == str(number)] == [(str(number), 1, 42_000.0)]


def test_another_field_makes_a_version_of_the_same_run(story: Story) -> None:
    number = LEADER["id"]
    runs = story.runs(number)
    story.change(SOFTMAX, number, error_log="a note that was added")
    story.change(SOFTMAX, SECOND["id"], brand_new="an unknown field is drift, and no version")
    story.sync(kernels=(SOFTMAX,))
    assert story.versions(number) == [(1, 1, 1), (2, 2, 2)]
    assert story.versions(SECOND["id"]) == [(1, 1, 2)]
    assert story.ask("SELECT path, change FROM drift") == [("submissions[].brand_new", "new field")]
    assert story.runs(number) == runs
    tied = story.ask("SELECT version, run_digest FROM submission_runs WHERE external_id = ? ORDER BY ALL", str(number))
    assert tied == [(1, runs[0]), (2, runs[0])]
    assert story.events() == []
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX)))


def test_an_edit_below_light_leaves_the_submission_without_a_rank(story: Story) -> None:
    number = LEADER["id"]
    (old,) = story.runs(number)
    story.change(SOFTMAX, number, latency_ms=0.0000021)
    report = story.sync(kernels=(SOFTMAX,))
    _, new = story.runs(number)
    assert [(one["subject"], one["reason"]) for one in report.reviews] == [(new, "BELOW_SPEED_OF_LIGHT")]
    assert story.events() == [(old, "superseded", 2, new)]
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX))[1:])


# -- results that fall


def test_a_disqualified_leader_is_retracted_with_the_sources_reason(story: Story) -> None:
    number = LEADER["id"]
    (run,) = story.runs(number)
    said = {"is_disqualified": True, "disqualification_reason": "returns a stored output"}
    story.change(SOFTMAX, number, **said, disqualification_source="review", disqualified_at="2026-09-01T00:00:00")
    story.sync(kernels=(SOFTMAX,))
    assert story.events() == [(run, "retracted", 2, None)]
    assert story.reason(run, 2) == "returns a stored output"
    assert story.ask("SELECT reason FROM eligibility WHERE run_digest = ?", run) == [("RETRACTED",)]
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX))[1:])
    assert story.versions(number) == [(1, 1, 1), (2, 2, 2)]
    assert story.runs(number) == [run]
    assert story.ask("SELECT is_disqualified FROM submissions WHERE external_id = ? ORDER BY version", str(number)) == [
        (False,), (True,),
    ]  # fmt: skip

    again = {name: LEADER[name] for name in ("is_disqualified", "disqualification_reason")}
    story.change(SOFTMAX, number, **again, disqualification_source=None, disqualified_at=None)
    story.sync(kernels=(SOFTMAX,))
    assert story.events()[1:] == [(run, "reinstated", 3, None)]
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX)))


def test_what_is_no_result_any_more_is_retracted(story: Story) -> None:
    changes: list[Item] = [
        {"is_correct": False},
        {"status": "FAILED", "latency_ms": None},
        {"status": "DEFERRED_RESULT", "is_correct": None},
        {"is_disqualified": True, "disqualification_reason": None},
    ]
    fallen, others = ranked(listed(SOFTMAX))[:4], ranked(listed(SOFTMAX))[4:]
    assert others
    for one, fields in zip(fallen, changes, strict=True):
        story.change(SOFTMAX, one["id"], **fields)
    story.sync(kernels=(SOFTMAX,))
    runs = [run for one in fallen for run in story.runs(one["id"])]
    assert sorted(story.events()) == sorted((run, "retracted", 2, None) for run in runs)
    assert all(story.reason(run, 2) for run in runs)
    assert story.board_of(SOFTMAX) == as_board(others)


def test_a_submission_gone_from_a_complete_listing_is_withdrawn_until_it_is_back(story: Story) -> None:
    number = LEADER["id"]
    (run,) = story.runs(number)
    story.remove(SOFTMAX, number)
    story.sync(kernels=(SOFTMAX,))
    assert story.events() == [(run, "withdrawn", 2, None)]
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX))[1:])
    assert story.versions(number) == [(1, 1, 1)]
    assert story.versions(SECOND["id"]) == [(1, 1, 2)]
    story.sync(kernels=(SOFTMAX,))
    assert len(story.events()) == 1

    story.add(SOFTMAX, LEADER)
    story.sync(kernels=(SOFTMAX,))
    assert story.events()[1:] == [(run, "reinstated", 4, None)]
    assert story.versions(number) == [(1, 1, 4)]
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX)))


def test_back_with_another_figure_is_a_new_run_that_supersedes(story: Story) -> None:
    number = LEADER["id"]
    (old,) = story.runs(number)
    story.remove(SOFTMAX, number)
    story.sync(kernels=(SOFTMAX,))
    story.add(SOFTMAX, LEADER | {"latency_ms": 0.04})
    story.sync(kernels=(SOFTMAX,))
    _, new = story.runs(number)
    assert story.events() == [(old, "withdrawn", 2, None), (old, "superseded", 3, new)]
    assert story.board_of(SOFTMAX)[0] == (str(number), 1, 40_000.0)


def test_an_incomplete_listing_withdraws_nothing(story: Story) -> None:
    gone, unseen = LEADER["id"], listed(SOFTMAX)[-1]["id"]
    story.remove(SOFTMAX, gone)
    story.board.max_limit = 10
    last_page = f"kernel_id={SOFTMAX}&offset=20"
    story.board.answer = lambda path, _: Reply(404) if last_page in path else None
    report = story.sync("partial")
    assert [NAMES[SOFTMAX] in one or f"/{SOFTMAX}" in one for one in report.incomplete] == [True]
    complete = dict(story.ask("SELECT kernel, complete FROM listings WHERE sync_id = 2"))
    assert complete == {NAMES[SOFTMAX]: False, NAMES[DEQUANT]: True, NAMES[PAGED]: True}
    assert story.events() == []
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX)))
    assert story.versions(gone) == story.versions(unseen) == [(1, 1, 1)]
    assert story.versions(listed(SOFTMAX)[1]["id"]) == [(1, 1, 2)]

    story.board.answer = None
    story.sync()
    (run,) = story.runs(gone)
    assert story.events() == [(run, "withdrawn", 3, None)]
    assert story.versions(unseen) == [(1, 1, 3)]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, {"Content-Type": "text/html"}, b"<html>please log in</html>"),
        Reply(200, {"Content-Type": "application/json"}, b'{"data": {"submissions": [], "total": 0}}'),
        Reply(
            200, {"Content-Type": "application/json"}, b'{"data": {"submissions": ' + b"[" * 5000 + b"]" * 5000 + b"}}"
        ),
    ],
    ids=["login page", "empty", "nested"],
)
def test_a_listing_that_says_nothing_withdraws_nothing(reply: Reply, story: Story) -> None:
    story.board.answer = lambda path, _: reply if f"kernel_id={SOFTMAX}&" in path else None
    story.sync("partial", kernels=(SOFTMAX,))
    assert story.events() == []
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX)))


def test_an_empty_listing_where_rows_were_is_looked_at_first(story: Story) -> None:
    story.board.edit(SOFTMAX, lambda _: [])
    says_zero = story.board.bodies["/kernels"]
    story.board.bodies["/kernels"] = re.sub(rb'"submission_count": ?\d+', b'"submission_count":null', says_zero)
    story.sync("partial", kernels=(SOFTMAX,))
    assert story.events() == []
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX)))


def test_an_empty_listing_is_believed_where_the_kernel_list_says_zero_too(story: Story) -> None:
    runs = {run for (run,) in story.ask("SELECT run_digest FROM runs WHERE kernel = ?", NAMES[SOFTMAX])}
    story.board.edit(SOFTMAX, lambda _: [])
    story.sync(kernels=(SOFTMAX,))
    assert {event for _, event, *_ in story.events()} == {"withdrawn"}
    assert {run for run, *_ in story.events()} == runs
    assert story.board_of(SOFTMAX) == []


def test_a_submission_that_cannot_be_read_is_not_gone(story: Story) -> None:
    changes: list[Item] = [{"username": 5}, {"latency_ms": "fast"}, {"username": "damaged \ufffd"}, {"status": None}]
    for one, fields in zip(ranked(listed(SOFTMAX)), changes, strict=False):
        story.change(SOFTMAX, one["id"], **fields)
    report = story.sync("partial", kernels=(SOFTMAX,))
    assert len(report.rejects) == len(changes)
    assert story.events() == []
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX)))


def test_a_sync_of_one_kernel_says_nothing_of_the_others(story: Story) -> None:
    story.remove(SOFTMAX, LEADER["id"])
    story.sync(kernels=(DEQUANT,))
    assert story.events() == []
    assert story.versions(LEADER["id"]) == [(1, 1, 1)]
    assert story.versions(listed(DEQUANT)[0]["id"]) == [(1, 1, 2)]


def test_the_same_number_under_two_kernels_does_not_stop_a_sync(story: Story) -> None:
    twice = {"id": 99_999}
    story.add(SOFTMAX, LEADER | twice)
    story.add(DEQUANT, ranked(listed(DEQUANT))[-1] | twice)
    story.change(PAGED, ranked(listed(PAGED))[0]["id"], latency_ms=0.02)
    scope = Scope(kernels=tuple(NAMES.values()))
    report = story.attempt(scope)
    assert report.status != "failed", report.error
    assert len(story.runs(ranked(listed(PAGED))[0]["id"])) == 2


# -- names


def names_of(story: Story, number: int) -> tuple[Any, ...]:
    """The name on the board, and the name beside each state."""
    board = story.ask("SELECT project FROM leaderboard WHERE external_id = ?", str(number))
    states = story.ask("SELECT username FROM submissions WHERE external_id = ? ORDER BY version", str(number))
    return board, [name for (name,) in states]


def test_a_rename_is_no_version_and_the_latest_name_is_shown(story: Story) -> None:
    figure, note, twice, after, back, *_ = ranked(listed(SOFTMAX))
    users = {one["username"] for one in listed(SOFTMAX)}
    story.change(SOFTMAX, twice["id"], username="Renamed")
    story.change(SOFTMAX, after["id"], latency_ms=0.0601)
    story.change(SOFTMAX, back["id"], username="Ἰωάννης | elsewhere")
    story.sync(kernels=(SOFTMAX,))
    assert names_of(story, twice["id"]) == ([("Renamed",)], ["Renamed"])
    assert names_of(story, back["id"]) == ([("Ἰωάννης | elsewhere",)], ["Ἰωάννης | elsewhere"])
    assert story.counts("runs", "submission_versions") == [1 + n for n in story.first_counts]
    shown = story.ask("SELECT username FROM submissions WHERE kernel = ? AND last_seen_sync = 2", NAMES[SOFTMAX])
    assert {name for (name,) in shown} - users == {"Renamed", "Ἰωάννης | elsewhere"}

    story.change(SOFTMAX, figure["id"], username="Renamed with a figure", latency_ms=0.04)
    story.change(SOFTMAX, note["id"], username="Renamed with a note", error_log="a note")
    story.change(SOFTMAX, twice["id"], username="Renamed again", latency_ms=0.0602)
    story.change(SOFTMAX, after["id"], username="Renamed after an edit")
    story.change(SOFTMAX, back["id"], username=back["username"])
    story.sync(kernels=(SOFTMAX,))
    assert [names_of(story, one["id"]) for one in (figure, note, twice, after, back)] == [
        ([("Renamed with a figure",)], [figure["username"], "Renamed with a figure"]),
        ([("Renamed with a note",)], [note["username"], "Renamed with a note"]),
        ([("Renamed again",)], ["Renamed", "Renamed again"]),
        ([("Renamed after an edit",)], [after["username"], "Renamed after an edit"]),
        ([(back["username"],)], [back["username"]]),
    ]
    assert story.versions(after["id"]) == [(1, 1, 1), (2, 2, 3)]
    assert story.versions(back["id"]) == [(1, 1, 3)]
    assert len(story.runs(back["id"])) == 1
    assert {event for _, event, _, _ in story.events()} == {"superseded"}


# -- definitions


def metadata_of(story: Story, kind: str) -> list[Item]:
    rows = story.ask("SELECT metadata FROM metadata_versions WHERE kind = ? ORDER BY first_seen_sync", kind)
    return [json.loads(text) for (text,) in rows]


def test_a_new_description_is_a_new_version_of_the_metadata(story: Story) -> None:
    before = story.counts("operations", "runs", "workloads", "reviews")
    story.define(SOFTMAX, lambda data: data.update(description="Told in other words."))
    for note in ("one", "two"):  # the second time the definition is as it was
        story.change(SOFTMAX, LEADER["id"], error_log=note)
        story.sync(kernels=(SOFTMAX,))
        assert [one["description"] for one in metadata_of(story, "OperationSpec")] == ["Told in other words."]
    assert story.counts("operations", "runs", "workloads", "reviews") == before
    operation = story.ask("SELECT operation_digest FROM operations WHERE slug = 'sample-masked-softmax-rows'")
    assert story.ask("SELECT digest FROM metadata_versions") == operation


def test_new_tags_are_kept_and_make_no_new_operation(story: Story) -> None:
    before = story.counts("operations", "runs", "workloads", "reviews")
    story.define(SOFTMAX, lambda data: data["tags"].append("model:sample-new-70b"))
    story.sync(kernels=(SOFTMAX,))
    assert story.counts("operations", "runs", "workloads", "reviews") == before
    assert ["model:sample-new-70b" in json.dumps(one) for one in metadata_of(story, "OperationSpec")] == [True]
    shown = "SELECT tags FROM operations WHERE slug = 'sample-masked-softmax-rows'"
    tags = ["attention", "L1", "model:sample-wren-13b"]
    assert story.ask(shown) == [([*tags, "model:sample-new-70b"],)]
    story.define(SOFTMAX, lambda data: data["tags"].pop())
    story.sync(kernels=(SOFTMAX,))
    assert story.ask(shown) == [(tags,)]
    assert story.counts("metadata_versions") == [2]


def test_a_kernel_under_a_new_name_is_the_same_operation(story: Story) -> None:
    before = story.counts("operations", "workloads")
    index = json.loads(story.board.bodies["/kernels"])
    for one in index["data"]["kernels"]:
        one["name"] = "sample_masked_softmax" if one["id"] == SOFTMAX else one["name"]
    story.board.bodies["/kernels"] = json.dumps(index).encode()
    story.define(SOFTMAX, lambda data: data.update(name="sample_masked_softmax"))
    story.board.edit(SOFTMAX, lambda items: [one | {"kernel_name": "sample_masked_softmax"} for one in items])
    report = story.sync("partial")  # the old name is told as missing, once
    assert [(one.item, "no longer" in one.reason) for one in report.rejects] == [(NAMES[SOFTMAX], True)]
    assert story.sync().rejects == []
    assert story.counts("operations", "workloads") == before
    assert [one["title"] for one in metadata_of(story, "OperationSpec")] == ["sample_masked_softmax"]
    assert story.ask("SELECT slug, title FROM operations WHERE title LIKE 'sample_masked%'") == [
        ("sample-masked-softmax", "sample_masked_softmax")
    ]


def added_entry(data: Item) -> None:
    data["workloads"].append({"axes": {"rows": 7, "cols": 9}, "baseline_latency_ms": 0.01, "sol_ms": 0.0001})


def test_a_workload_that_is_added_makes_a_new_suite_for_what_comes_later(story: Story) -> None:
    before = story.ask("SELECT * FROM runs ORDER BY ALL")
    (old_suite,) = {row[0] for row in story.ask("SELECT workload_digest FROM runs WHERE kernel = ?", NAMES[SOFTMAX])}
    story.define(SOFTMAX, added_entry)
    story.sync(kernels=(SOFTMAX,))
    assert story.ask("SELECT * FROM runs ORDER BY ALL") == before
    assert story.events() == []
    new = story.ask(
        "SELECT kind, workload_digest, json_array_length(manifest, '$.spec.cases') FROM workloads"
        " WHERE first_seen_sync = 2 ORDER BY kind"
    )
    entries = len(json.loads((SAMPLE / f"kernels/{SOFTMAX}.json").read_text(encoding="utf-8"))["data"]["workloads"])
    assert [(kind, cases) for kind, _, cases in new] == [("WorkloadCase", None), ("WorkloadSuite", entries + 1)]
    assert story.ask("SELECT reason FROM reviews WHERE reason = 'AMBIGUOUS_SLUG'") == []
    bounds = dict(story.ask("SELECT suite_digest, count(*) FROM workload_bounds GROUP BY ALL"))
    assert (bounds[old_suite], bounds[new[1][1]]) == (entries, entries + 1)

    story.add(SOFTMAX, LEADER | {"id": 70_001})
    story.change(SOFTMAX, SECOND["id"], latency_ms=0.0503)
    story.sync(kernels=(SOFTMAX,))
    suites = dict(story.ask("SELECT external_id, workload_digest FROM runs WHERE first_seen_sync = 3"))
    assert suites == {"70001": new[1][1], str(SECOND["id"]): new[1][1]}
    keys = story.ask(
        "SELECT DISTINCT comparison_key FROM leaderboard WHERE external_id IN ('70001', ?)", str(LEADER["id"])
    )
    assert len(keys) == 2
    old, by = story.runs(SECOND["id"])
    assert story.events() == [(old, "superseded", 3, by)]


def test_another_operation_under_the_same_name_is_for_a_person_to_look_at(story: Story) -> None:
    before = story.ask("SELECT * FROM runs ORDER BY ALL")
    ((old,),) = story.ask("SELECT operation_digest FROM operations WHERE slug = 'sample-masked-softmax-rows'")
    story.define(SOFTMAX, lambda data: data["axes"].update(num_heads={"type": "const", "value": 17}))
    report = story.sync(kernels=(SOFTMAX,))
    ((new,),) = story.ask("SELECT operation_digest FROM operations WHERE first_seen_sync = 2")
    assert new != old
    ((subject, reason, detail),) = story.ask("SELECT subject, reason, detail FROM reviews WHERE first_seen_sync = 2")
    assert (subject, reason) == (new, "AMBIGUOUS_SLUG")
    assert old in detail
    assert [one["reason"] for one in report.reviews] == ["AMBIGUOUS_SLUG"]
    assert story.ask("SELECT * FROM runs ORDER BY ALL") == before
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX)))
    story.define(SOFTMAX, lambda data: data.update(description="And once more."))
    story.sync(kernels=(SOFTMAX,))
    assert story.counts("operations", "reviews") == [len(NAMES) + 1, 1 + 1]  # one is the sample's faster-than-light run


def test_new_bounds_are_added_and_the_latest_are_shown(story: Story) -> None:
    def faster(data: Item) -> None:
        data["workloads"][1]["sol_ms"] = 0.0000125

    before = story.counts("workload_bound_versions", "workload_bounds")
    story.define(SOFTMAX, faster)
    story.sync(kernels=(SOFTMAX,))
    assert story.counts("workload_bound_versions", "workload_bounds") == [before[0] + 1, before[1]]
    rows = story.ask("SELECT entry_index, speed_of_light_ns FROM workload_bounds WHERE first_seen_sync = 2")
    assert rows == [(1, 12.5)]


def test_a_new_tolerance_is_a_new_case_and_its_bounds_say_so(story: Story) -> None:
    def looser(data: Item) -> None:
        for one in data["workloads"]:
            one["tolerance"]["max_atol"] = 0.5

    runs = story.ask("SELECT * FROM runs ORDER BY ALL")
    entries = len(json.loads((SAMPLE / f"kernels/{PAGED}.json").read_text(encoding="utf-8"))["data"]["workloads"])
    story.define(PAGED, looser)
    story.sync(kernels=(PAGED,))
    new = story.ask("SELECT kind, count(*) FROM workloads WHERE first_seen_sync = 2 GROUP BY ALL")
    assert new == [("WorkloadCase", entries)]
    assert story.ask("SELECT * FROM runs ORDER BY ALL") == runs
    shown = story.ask(
        "SELECT count(*) FROM workload_bounds b JOIN workloads w USING (workload_digest) WHERE w.first_seen_sync = 2"
    )
    assert shown == [(entries,)]


def test_two_kernels_of_one_definition_do_not_take_turns(new_story: Story) -> None:
    story, twin, number = new_story, 77, 88_888
    data = json.loads(story.board.bodies[f"/kernels/{SOFTMAX}"])["data"]
    bounds = [one | {"sol_ms": 0.0001} for one in data["workloads"]]
    story.board.bodies[f"/kernels/{twin}"] = json.dumps(
        {"data": data | {"id": twin, "name": "sample_twin", "workloads": bounds}}
    ).encode()
    index = json.loads(story.board.bodies["/kernels"])
    entry = next(one for one in index["data"]["kernels"] if one["id"] == SOFTMAX)
    index["data"]["kernels"] = [entry, entry | {"id": twin, "name": "sample_twin", "submission_count": 1}]
    story.board.bodies["/kernels"] = json.dumps(index).encode()
    theirs = LEADER | {"id": number, "kernel_id": twin, "kernel_name": "sample_twin"}
    page = {"submissions": [theirs], "total": 1, "offset": 0, "limit": 50}

    def answer(path: str, _: int) -> Reply | None:
        body = json.dumps({"data": page}).encode()
        return Reply(200, {"Content-Type": "application/json"}, body) if f"kernel_id={twin}&" in path else None

    story.board.answer = answer
    story.sync()
    before = story.counts("operations", "workloads", "workload_bound_versions", "metadata_versions")
    assert before[0] == 1
    for note in ("one", "two"):
        theirs["error_log"] = note
        story.change(SOFTMAX, SECOND["id"], error_log=note)
        story.sync()
    assert story.counts("operations", "workloads", "workload_bound_versions", "metadata_versions") == before


# -- results that come later


def test_a_pending_submission_becomes_a_run_when_it_is_completed(story: Story) -> None:
    number = 70_002
    pending = LEADER | {
        "id": number, "status": "PENDING", "is_correct": None, "latency_ms": None, "sol_score": None,
        "avg_speedup": None, "fast_1_count": None, "fast_1_total": None, "finished_at": None,
        "submitted_at": "2026-08-30T10:00:00",
    }  # fmt: skip
    story.add(SOFTMAX, pending)
    story.sync(kernels=(SOFTMAX,))
    assert story.versions(number) == [(1, 2, 2)]
    assert story.runs(number) == []

    story.change(SOFTMAX, number, **{**LEADER, "id": number, "latency_ms": 0.044})
    story.sync(kernels=(SOFTMAX,))
    assert story.versions(number) == [(1, 2, 2), (2, 3, 3)]
    assert story.ask("SELECT status FROM submissions WHERE external_id = ? ORDER BY version", str(number)) == [
        ("PENDING",), ("COMPLETED",),
    ]  # fmt: skip
    (run,) = story.runs(number)
    assert story.ask("SELECT version, run_digest FROM submission_runs WHERE external_id = ?", str(number)) == [(2, run)]
    assert story.board_of(SOFTMAX)[0] == (str(number), 1, 44_000.0)
    assert story.events() == []


UNREADABLE = [
    Reply(404),
    Reply(200, {"Content-Type": "application/json"}, b'{"data": {"id": 3, "name": "sample_masked_softmax_rows"}}'),
]


@pytest.mark.parametrize("reply", UNREADABLE, ids=["gone", "half a definition"])
def test_results_wait_for_their_kernels_definition(reply: Reply, new_story: Story) -> None:
    story = new_story
    story.board.answer = lambda path, _: reply if path.endswith(f"/kernels/{SOFTMAX}") else None
    report = story.sync("partial", kernels=(SOFTMAX, DEQUANT))
    assert any(f"/kernels/{SOFTMAX}" in reject.locator for reject in report.rejects)
    names = NAMES[SOFTMAX]
    states = story.ask("SELECT count(*) FROM submissions WHERE kernel = ?", names)
    assert states == [(len(listed(SOFTMAX)),)]
    assert story.ask("SELECT count(*) FROM runs WHERE kernel = ?", names) == [(0,)]
    assert story.board_of(DEQUANT)

    story.board.answer = None
    story.sync(kernels=(SOFTMAX,))
    assert story.ask("SELECT count(*), max(version) FROM submissions WHERE kernel = ?", names) == [
        (len(listed(SOFTMAX)), 1)
    ]
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX)))
    assert story.versions(LEADER["id"]) == [(1, 1, 2)]
    assert story.events() == []


def test_a_definition_that_cannot_be_read_for_a_while_costs_no_run(story: Story) -> None:
    number = 70_003
    story.board.answer = lambda path, _: Reply(404) if path.endswith(f"/kernels/{SOFTMAX}") else None
    story.add(SOFTMAX, LEADER | {"id": number, "latency_ms": 0.044})
    story.sync("partial", kernels=(SOFTMAX,))
    assert story.runs(number) == []
    assert story.versions(number) == [(1, 2, 2)]
    assert story.events() == []
    assert story.board_of(SOFTMAX) == as_board(ranked(listed(SOFTMAX)))

    story.board.answer = None
    story.sync(kernels=(SOFTMAX,))
    assert len(story.runs(number)) == 1
    assert story.versions(number) == [(1, 2, 3)]
    assert story.board_of(SOFTMAX)[0] == (str(number), 1, 44_000.0)
    assert story.events() == []


def test_a_new_figure_that_waits_for_its_definition_supersedes_when_it_is_there(story: Story) -> None:
    number = LEADER["id"]
    (old,) = story.runs(number)
    story.board.answer = lambda path, _: Reply(404) if path.endswith(f"/kernels/{SOFTMAX}") else None
    story.change(SOFTMAX, number, latency_ms=0.04)
    story.sync("partial", kernels=(SOFTMAX,))
    assert story.runs(number) == [old]

    story.board.answer = None
    story.sync(kernels=(SOFTMAX,))
    _, new = story.runs(number)
    assert story.events() == [(old, "superseded", 3, new)]
    assert story.versions(number) == [(1, 1, 1), (2, 2, 3)]
    tied = story.ask("SELECT version, run_digest FROM submission_runs WHERE external_id = ? ORDER BY ALL", str(number))
    assert tied == [(1, old), (2, new)]
