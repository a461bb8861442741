"""`kix show`, `kix cite`, `kix compare`: what a person reads. The published run pages say what must be on ours."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from board_server import BoardServer
from click.testing import CliRunner
from conftest import KIX, SAMPLE, TESTS, run_sync
from made_warehouse import MadeRun, made_home
from manifest_samples import FULL, LEAST

from flows.cli import main
from scrapers.contract import Scope

SEED_RUNS = {
    "3483": "sha256:449ac0a4bf174ec0ad6110c5275a6db1be2592a54b213acf897613715f8da89d",
    "27772": "sha256:6fa4f85da9b80839c97c94c18a0f459b639499a29d34959a080c5ac1bf870fb0",
}
SOFTMAX = "sample_masked_softmax_rows"
LEADER, SECOND = 8358, 7962
HOSTILE = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202eneve \x7f" + "x" * 400 + "\nRank 1 in its comparison group"

NOT_DERIVABLE = {
    "Run 01a0352b · KernelIndex": "the index's own run id",
    "Show manifest": "a button: our manifest is shown, or not with --no-manifest",
    "Report an issue with this run": "a button to the index's people",
}
"""Lines of the published pages that cannot be on ours, and why."""


def kix(*arguments: str, home: Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, [*arguments, "--home", str(home)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def shown(*arguments: str, home: Path) -> str:
    code, out, words = kix(*arguments, home=home)
    assert (code, words) == (0, "")
    return out


def squeezed(text: str) -> str:
    """The published pages' text glues labels to values: compare without any space."""
    return re.sub(r"\s+", "", text)


def fact(page: str, label: str) -> str:
    (value,) = re.findall(rf"^  {re.escape(label)}  +(.+)$", page, re.MULTILINE)
    return value


def manifest_of(page: str) -> Any:
    (text,) = re.findall(r"^\{\n.*?^\}$", page, re.MULTILINE | re.DOTALL)
    return json.loads(text)


# -- the two published pages


def seed_lines(name: str, replay: Path) -> list[str]:
    """The lines of a published page but its manifest; what is of the index's day is put as of the board at hand."""
    text = (TESTS / "fixtures" / "seeds" / f"run-{name}.txt").read_text(encoding="utf-8")
    text = re.sub(r"^\{\n.*?^\}$", "", text, flags=re.MULTILINE | re.DOTALL)
    with (replay / "expected_ranks.csv").open(encoding="utf-8", newline="") as file:
        (rank,) = [row["rank"] for row in csv.DictReader(file) if row["submission_id"] == name]
    text, ranks = re.subn(r"^Rank \d+ ", f"Rank {rank} ", text, flags=re.MULTILINE)
    # The publication is our sync, today; the last line glues three things.
    text, dates = re.subn(
        r"^Published 2026-08-24 · (.+?)(All results for .+ →)JSON$",
        rf"Published {datetime.now(UTC):%Y-%m-%d} · \1\n\2\nJSON",
        text.strip(),
        flags=re.MULTILINE,
    )
    assert (ranks, dates) == (1, 1)
    return [line for line in text.splitlines() if line]


@pytest.mark.replay
@pytest.mark.parametrize("name", SEED_RUNS)
def test_every_line_of_a_published_page_is_on_ours_in_the_same_order(
    name: str, replay: Path, replay_home: Path
) -> None:
    page = squeezed(shown("show", f"sol-execbench:{name}", home=replay_home))
    at = 0
    for line in seed_lines(name, replay):
        if line in NOT_DERIVABLE:
            assert squeezed(line) not in page, f"{line!r} is on our page: take it off the list"
            continue
        found = page.find(squeezed(line), at)
        assert found >= 0, f"{line!r} is not on our page after {page[max(0, at - 60) : at]!r}"
        at = found + len(squeezed(line))


@pytest.mark.replay
@pytest.mark.parametrize("name", SEED_RUNS)
def test_labels_and_values_of_a_published_page_are_not_swapped(name: str, replay: Path, replay_home: Path) -> None:
    page = shown("show", f"sol-execbench:{name}", home=replay_home)
    labels = (
        "implementation", "project", "revision", "workload", "comparison key", "source", "external id",
        "definition comparator", "description", "latency · mean", "harness", "timer", "primaryStatistic",
        "correctnessReference", "comparabilityFamily", "gpu",
    )  # fmt: skip
    lines = seed_lines(name, replay)
    for label in labels:
        (value,) = [line.removeprefix(label) for line in lines if line.startswith(label)]
        assert fact(page, label) == value


@pytest.mark.replay
@pytest.mark.parametrize("name", SEED_RUNS)
def test_the_manifest_of_a_published_page_is_ours(name: str, seeds: dict[str, Any], replay_home: Path) -> None:
    page = shown("show", f"sol-execbench:{name}", home=replay_home)
    assert manifest_of(page) == seeds[name]
    assert json.loads(shown("show", SEED_RUNS[name], "--json", home=replay_home))["documents"] == seeds[name]


@pytest.mark.replay
def test_a_real_citation_names_everything(replay_home: Path) -> None:
    text = shown("cite", "sol-execbench:3483", home=replay_home)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    for part in (
        "Amir M. Mir | SF Tensor", "Multi head QKV projection with RoPE backward", "1.16 ms (mean latency)",
        "NVIDIA SOL-ExecBench, submission/3483", SEED_RUNS["3483"],
        "https://research.nvidia.com/benchmarks/sol-execbench ", f"Accessed {today}.",
        "SOL-ExecBench evaluation stack v1.0", "suite of 16 cases · mean latency", "observed 2026-05-21",
    ):  # fmt: skip
        assert part in text
    assert text.count("\n") == 1
    assert text.strip() in shown("show", "sol-execbench:3483", home=replay_home)
    data = json.loads(shown("cite", "sol-execbench:3483", "--json", home=replay_home))
    assert data["citation"] == text.strip()
    assert (data["value"], data["unit"], data["statistic"]) == (1_163_104, "ns", "mean")
    assert (data["permalink"], data["accessed"]) == ("https://research.nvidia.com/benchmarks/sol-execbench", today)
    assert (data["run_digest"], data["synthetic"]) == (SEED_RUNS["3483"], False)


@pytest.mark.replay
def test_stacks_of_one_kernel_are_not_comparable(replay_home: Path) -> None:
    query = (
        "select min(external_id) filter (stack_version = 'v1.0'), min(external_id) filter (stack_version = 'v1.1')"
        " from leaderboard group by kernel having count(distinct stack_version) = 2 limit 1"
    )
    answer = subprocess.run(
        [*KIX, "sql", query, "--json", "--home", str(replay_home)], capture_output=True, check=True
    ).stdout
    old, new = (f"sol-execbench:{one}" for one in json.loads(answer)[0].values())
    code, out, words = kix("compare", old, new, home=replay_home)
    assert (code, out) == (1, "")
    assert "protocol differs" in words
    assert f"{old}: SOL-ExecBench evaluation stack v1.0" in words
    assert f"{new}: SOL-ExecBench evaluation stack v1.1" in words
    assert "environment differs" in words
    assert not {"operation differs", "workload differs"} & set(re.findall(r"\w+ differs", words))


# -- the sample, and boards that change


def test_the_commands_that_a_page_names_work(sample_home: Path) -> None:
    page = shown("show", "sol-execbench:8193", home=sample_home)
    commands = re.findall(r"(kix (?:compare|board|show|manifest) .+)$", page, re.MULTILINE)
    assert {command.split()[1] for command in commands} >= {"compare", "board", "show"}
    for command in commands:
        done = CliRunner().invoke(main, shlex.split(command)[1:])
        assert done.exit_code == 0, (command, done.output)
    assert '"TEXT"' in page
    assert f"kix note sol-execbench:8193 --home {sample_home}" in page


def test_the_sample_is_called_synthetic_everywhere(sample_home: Path) -> None:
    assert "SYNTHETIC SAMPLE: no figure on this page is real." in shown("show", "sol-execbench:8193", home=sample_home)
    text = shown("cite", "sol-execbench:8193", home=sample_home)
    assert text.startswith("SYNTHETIC SAMPLE, not a result.")
    assert "https://" not in text
    data = json.loads(shown("cite", "sol-execbench:8193", "--json", home=sample_home))
    assert (data["synthetic"], data["permalink"]) == (True, None)


def test_a_tie_is_told(sample_home: Path) -> None:
    page = shown("show", "sol-execbench:8259", home=sample_home)
    assert "Rank 1 (tied) in its comparison group · source-native comparison · observed " in page


def test_without_the_manifest_the_page_says_where_it_is(sample_home: Path) -> None:
    page = shown("show", "sol-execbench:8193", "--no-manifest", home=sample_home)
    assert "apiVersion" not in page
    assert "kix manifest sol-execbench:8193" in page


def test_a_page_as_data_has_every_part(sample_home: Path) -> None:
    data = json.loads(shown("show", "sol-execbench:8193", "--json", home=sample_home))
    assert {
        "run_digest", "primary", "standing", "leader", "observed_at", "published_at", "source_metrics", "identity",
        "correctness", "workload", "measurements", "protocol", "environment", "artifacts", "notes", "lifecycle",
        "documents", "citation", "upstream", "operation", "kernel",
    } <= data.keys()  # fmt: skip
    assert data["standing"]["rank"] == 1
    assert set(data["documents"]) == {"run", "protocol", "environment"}


@pytest.fixture(scope="module")
def fallen_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One kernel, synced twice: then the leader was edited and the second disqualified with a hostile reason."""
    home = tmp_path_factory.mktemp("fallen")
    scope = Scope(kernels=(SOFTMAX,))
    changes: dict[int, dict[str, Any]] = {
        LEADER: {"latency_ms": 0.9},
        SECOND: {"is_disqualified": True, "disqualification_reason": f"cheats {HOSTILE}"},
    }
    with BoardServer(SAMPLE) as board:
        run_sync(home, board.base_url, scope=scope)
        board.edit(3, lambda items: [one | changes.get(one["id"], {}) for one in items])
        run_sync(home, board.base_url, scope=scope)
    return home


def test_what_became_of_a_run_stands_above_its_figures(fallen_home: Path) -> None:
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    page = shown("show", f"sol-execbench:{SECOND}", "--no-manifest", home=fallen_home)
    assert page.index(f"Retracted {today}: cheats") < page.index("Primary measurement")
    assert "Not eligible to rank: RETRACTED · " in page
    assert "Rank " not in page.partition("Primary measurement")[2]
    assert "Not eligible to rank: RETRACTED." in shown("cite", f"sol-execbench:{SECOND}", home=fallen_home)

    new = shown("show", f"sol-execbench:{LEADER}", "--no-manifest", home=fallen_home)
    (old_name,) = re.findall(rf"In the place of (sha256:[0-9a-f]{{16}}) since {today}: ", new)
    old = shown("show", old_name, "--no-manifest", home=fallen_home)
    digest = json.loads(shown("show", f"sol-execbench:{LEADER}", "--json", home=fallen_home))["run_digest"]
    assert f"Superseded {today} by {digest[:23]}: changed upstream" in old
    assert "Not eligible to rank: SUPERSEDED · " in old
    assert "44.9 µs mean" in old
    # The old run cannot be meant by SOURCE:ID, so its page names it by its digest.
    assert f"kix show {old_name} --json" in old


def test_a_run_held_for_doubt_says_what_is_doubtful_above_its_figures(sample_home: Path) -> None:
    page = shown("show", "sol-execbench:8006", "--no-manifest", home=sample_home)
    note = "BELOW_SPEED_OF_LIGHT: 0.0012 ms is less than the 0.0023 ms that the fastest case allows"
    assert page.index("Held for doubt") < page.index(note) < page.index("Primary measurement")
    assert "  1.20 µs mean\n  Not eligible to rank: BELOW_SPEED_OF_LIGHT · source-native comparison" in page


def test_a_run_that_does_not_rank_is_compared_with_its_mark(fallen_home: Path) -> None:
    table = shown("compare", f"sol-execbench:{SECOND}", "sol-execbench:6499", home=fallen_home)
    heading, first, second, *rest = table.splitlines()
    assert heading.split()[:4] == ["run", "value", "×", "best"]
    assert re.match(rf"sol-execbench:{SECOND} +50\.0 µs +1\.00 +not ranked: RETRACTED +", first)
    assert re.match(r"sol-execbench:6499 +58\.6 µs +1\.17 +1 +", second)
    assert any("not on the board" in line for line in rest)


def test_a_comparison_as_data(fallen_home: Path) -> None:
    names = (f"sol-execbench:{SECOND}", "sol-execbench:6499")
    data = json.loads(shown("compare", *names, "--json", home=fallen_home))
    assert (data["comparable"], [run["name"] for run in data["runs"]]) == (True, list(names))
    other = "sol-execbench:6301"  # stack v1.0
    code, out, words = kix("compare", names[1], other, "--json", home=fallen_home)
    refused = json.loads(out)
    assert (code, refused["comparable"]) == (1, False)
    assert {one["component"] for one in refused["differences"]} == {"protocol", "environment"}
    assert "not comparable" in words


@pytest.mark.parametrize("names", [["sol-execbench:6499"], ["sol-execbench:6499"] * 2])
def test_one_run_is_nothing_to_compare(names: list[str], fallen_home: Path) -> None:
    code, _, words = kix("compare", *names, home=fallen_home)
    assert (code, "two or more" in words) == (2, True)


@pytest.mark.parametrize("command", [["show"], ["cite"], ["compare", "sol-execbench:6499"]])
@pytest.mark.parametrize(
    ("name", "words"),
    [("sol-execbench:1", "no run sol-execbench:1"), ("0000", "no run 0000"), ("\x1b[2J", "names no run")],
)
def test_a_run_that_is_not_there_is_told(command: list[str], name: str, words: str, fallen_home: Path) -> None:
    code, out, said = kix(*command, name, home=fallen_home)
    assert (code, out) == (1, "")
    assert words in said
    assert "\x1b" not in said


def test_names_from_upstream_cannot_move_the_terminal_or_add_lines(fallen_home: Path, tmp_path: Path) -> None:
    scope = Scope(kernels=(SOFTMAX,))
    with BoardServer(SAMPLE) as board:
        board.edit(3, lambda items: [one | {"username": HOSTILE} if one["id"] == 6499 else one for one in items])
        run_sync(tmp_path, board.base_url, scope=scope)
    name = "sol-execbench:6499"
    texts = [
        shown("show", name, home=tmp_path),
        shown("show", name, "--json", home=tmp_path),
        shown("cite", name, home=tmp_path),
        shown("cite", name, "--json", home=tmp_path),
        shown("compare", name, "sol-execbench:6983", home=tmp_path),
        shown("show", f"sol-execbench:{SECOND}", home=fallen_home),
    ]
    for text in texts:
        assert all(char.isprintable() or char == "\n" for char in text)
        assert "x" * 400 in text
        assert not re.search(r"^Rank 1 in", text, re.MULTILINE)
    assert json.loads(texts[1])["identity"]["project"] == HOSTILE
    assert manifest_of(texts[0])["run"]["metadata"]["title"] == f"{HOSTILE[:199]}…"


def test_notes_are_shown_with_who_and_when(sample_home: Path, tmp_path: Path) -> None:
    import duckdb
    from made_warehouse import put

    (tmp_path / "warehouse.duckdb").write_bytes((sample_home / "warehouse.duckdb").read_bytes())
    run = json.loads(shown("cite", "sol-execbench:8193", "--json", home=tmp_path))["run_digest"]
    assert "No attestations yet." in shown("show", "sol-execbench:8193", home=tmp_path)
    with duckdb.connect(tmp_path / "warehouse.duckdb") as db:
        put(db, "notes", note_id=1, run_digest=run, kind="reproduction", note=f"17.1 µs here {HOSTILE}",
            by_name="B. Reader", written_at=datetime(2026, 11, 3, 23, 30, tzinfo=UTC))  # fmt: skip
    page = shown("show", "sol-execbench:8193", home=tmp_path)
    assert "  reproduction by B. Reader, 2026-11-03: 17.1 µs here " in page
    assert "No attestations yet." not in page
    assert "They never change the evidence level" in page
    assert "\x1b" not in page


# -- runs of other kinds


def test_the_page_of_a_case(tmp_path: Path) -> None:
    rows = [("latency", "median", "ns", 5.0), ("bandwidth", "mean", "gb_per_s", 12.5)]
    run = MadeRun("1", primary=("latency", "median", "ns", 5.0, 4.0, 6.0), measurements=rows)
    (digest,) = made_home(tmp_path, run)
    page = shown("show", digest, "--no-manifest", home=tmp_path)
    assert "  5 ns median · 95 % confidence interval 4 ns to 6 ns · 3 samples\n" in page
    assert "  Rank 1 in its comparison group · strict comparison · observed 2026-05-21\n" in page
    assert fact(page, "workload") == "batch = 8"
    assert fact(page, "q") == "bf16 [8, 0, 128] strides [128, -1, 1] align 16"
    assert fact(page, "matched ratio") == "0.999"
    assert fact(page, "latency · median") == "5 ns · n=3"
    assert fact(page, "bandwidth · mean") == "12.5 gb_per_s"
    assert fact(page, "source") == "made-up"
    assert "Published 2026-11-02 · made-up\n" in page
    assert "SOL " not in page


def test_the_page_of_a_run_that_states_next_to_nothing(tmp_path: Path) -> None:
    least = MadeRun(
        "1", run=LEAST["BenchmarkRun"], workload=LEAST["WorkloadCase"], protocol=LEAST["BenchmarkProtocol"],
        environment=LEAST["ExecutionEnvironment"], implementation=LEAST["ImplementationRevision"], primary=None,
        measurements=[],
    )  # fmt: skip
    (digest,) = made_home(tmp_path, least)
    page = shown("show", digest, home=tmp_path)
    assert "Not eligible to rank: MISSING_PRIMARY_METRIC, STATUS_TIMEOUT · " in page
    assert "The run states no figure that could rank." in page
    assert "Marked timeout by the source" in page
    assert fact(page, "gpu") == "X (unknown)"
    assert "revision" not in page
    assert "timeout, observed 2026-05-21." in shown("cite", digest, home=tmp_path)


@pytest.mark.parametrize(
    ("metrics", "line"),
    [
        ({"sol_score": 0.5}, "  SOL 0.5000\n"),
        ({"avg_speedup": 20.455, "fast_1_count": 3.0}, "  20.45× reference\n"),
        ({"sol_score": 0.5, "fast_1_count": 3.0, "fast_1_total": 16.0}, "  SOL 0.5000 · 3/16 cases faster\n"),
    ],
)
def test_missing_figures_of_the_source_are_left_out(metrics: dict[str, float], line: str, tmp_path: Path) -> None:
    made_home(tmp_path, MadeRun("1", metrics=metrics))
    assert line in shown("show", "made-up:1", "--no-manifest", home=tmp_path)


def test_a_case_and_a_suite_are_not_comparable(tmp_path: Path) -> None:
    made_home(tmp_path, MadeRun("1"), MadeRun("2", workload=FULL["WorkloadSuite"]))
    code, _, words = kix("compare", "made-up:1", "made-up:2", home=tmp_path)
    assert (code, "workload differs" in words) == (1, True)
    assert "    made-up:1: batch = 8\n    made-up:2: suite of 2 cases · mean latency\n" in words


# -- in a terminal


@pytest.mark.parametrize("command", ["show sol-execbench:8193", "compare sol-execbench:8193 sol-execbench:8259"])
def test_nothing_is_lost_in_a_narrow_terminal(command: str, sample_home: Path) -> None:
    wide = shown(*command.split(), home=sample_home)
    narrow = in_terminal([*command.split(), "--home", str(sample_home)], columns=30)
    words = set(re.findall(r"\S+", narrow))
    assert {word for word in re.findall(r"\S+", wide) if word not in words} == set()


def in_terminal(command: list[str], columns: int) -> str:
    """Run the command with a terminal for its output and return what it wrote, without colours."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": str(columns), "TERM": "xterm"}
    with subprocess.Popen([*KIX, *command], stdout=theirs, stderr=subprocess.PIPE, env=environment) as running:
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # Linux ends a terminal that nobody writes to any more so
                break
            if not piece:
                break
            text += piece
    os.close(ours)
    assert running.returncode == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", text.decode())
