"""The `kix` command: thin, one function a command. Heavy libraries are imported where a command needs them."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click

from flows import garbage
from flows.console import settings_for
from scrapers.codes import Code

EXAMPLES = """
\b
Examples:
  kix sync --sample --home demo             try it out: bundled synthetic data, no network
  kix board rmsnorm --home demo/sample      its boards of one kernel (part of a name will do)
  kix sync sol-execbench                    read the real board
  kix board 064_multi_head_qkv              the real boards of one kernel
  kix sql "select kernel, project, primary_value from leaderboard where rank = 1"
  kix show sol-execbench:3483               one run: figures, rank, identity, protocol, record
  kix cite sol-execbench:3483               the same run in one line, to put under a text
  kix compare sol-execbench:3483 sol-execbench:6715
  kix manifest sol-execbench:3483           the published record of one run
  kix export snapshots                      everything as Parquet, to take with you
  kix status                                what is here, how fresh, and where
  KIX_SOURCES=sol-execbench kix serve       sync on a schedule
"""


@contextmanager
def _coded() -> Iterator[None]:
    """Give click's own words on wrong usage their code."""
    try:
        yield
    except click.UsageError as error:
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            raise
        raise click.UsageError(f"{error.format_message()} [{Code.USAGE}]", error.ctx) from None


class _Commands(click.Group):
    """Keeps the commands in the order of their definition, and gives wrong usage its code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with _coded():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _coded():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)


def home_option(command: Any) -> Any:
    """Add `--home`."""
    return click.option(
        "--home",
        type=click.Path(file_okay=False, readable=False, path_type=Path),
        help="Folder of archive and warehouse (else KIX_HOME, else the user's data directory).",
    )(command)


def json_option(command: Any) -> Any:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(command)


@click.group(cls=_Commands, epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kix", message="kix %(version)s")
def main() -> None:
    """A faithful, queryable history of public GPU-kernel leaderboards.

    kix reads a leaderboard into an archive, maps it to KernelIndex manifests, and keeps them in a DuckDB file that
    you can query at any time. Figures are comparable only within one cohort: same kernel, workload, GPU and
    evaluation stack.
    """
    # Nobody's plugins belong in a manifest's rules, and looking for some takes as long as a short command's work.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    atexit.register(garbage.look_no_more)


@main.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@home_option
@click.option("--sample", is_flag=True, help="Load the bundled synthetic sample into HOME/sample; no network.")
@click.option("--base-url", metavar="URL", help="Read the source from this address instead (one source only).")
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Only this kernel (repeatable).")
@click.option("--tag", help="Only kernels with this tag.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N kernels.")
@click.option(
    "--page", "pages", multiple=True, metavar="FILE|URL|ID",
    help="Only this run page of kernelindex (repeatable): a saved HTML file, an address, a run's id, or a .txt list.",
)  # fmt: skip
@click.option("--full", is_flag=True, help="Ask for everything anew, without revalidation.")
@click.option("--offline", is_flag=True, help="From the archive only, without the network.")
@click.option("--dry-run", is_flag=True, help="Do everything but publish.")
@click.option(
    "--report", "report_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the report (JSON) here."
)
@click.option("--prefect", is_flag=True, help="Run as a Prefect flow, visible in Prefect's UI.")
@click.option("--quiet", is_flag=True, help="No progress, no words unless something is wrong.")
@json_option
def sync(**options: Any) -> None:
    """Read sources and load what is new.

    Without SOURCE: the enabled ones (KIX_SOURCES). Exit code 0: all done; 1: failed, nothing changed; 3: done in part,
    the report says what is missing.

    \b
    Examples:
      kix sync --sample
      kix sync sol-execbench
      kix sync sol-execbench --kernel 064_multi_head_qkv_projection_with_rope_backward
      kix sync sol-execbench --offline --dry-run --json
      kix sync kernelindex --page run-3483.html --page https://kernelindex.com/runs/ID
    """
    from flows.helper import begun_early
    from flows.interrupts import starting

    small = [options[name] for name in ("sample", "kernels", "tag", "limit", "pages", "prefect")]
    with nullcontext() if any(small) else begun_early(options["home"]) as helper:
        with starting("the sync"):
            from flows.commands.sync import run_sync

        raise SystemExit(run_sync(**options, helper=helper))


@main.command()
@click.argument("kernel")
@click.option("--as-of", type=click.IntRange(min=1), metavar="SYNC", help="As it was after this sync.")
@home_option
@json_option
def board(kernel: str, as_of: int | None, home: Path | None, *, as_json: bool) -> None:
    """Show the boards of KERNEL, one for each cohort.

    Runs of different GPUs or evaluation stacks are not comparable, so they never share a board.

    \b
    Examples:
      kix board 064_multi_head_qkv_projection_with_rope_backward
      kix board 064_multi_head_qkv --json
      kix board 064_multi_head_qkv --as-of 12
    """
    from flows.commands.show import show_board

    show_board(settings_for(home), kernel, as_of, as_json=as_json)


@main.command()
@click.option("--since", metavar="TIME", help="Only from then on: 2026-11-01, 2026-11-01T12:00Z, 36h or 7d.")
@home_option
@json_option
def records(since: str | None, home: Path | None, *, as_json: bool) -> None:
    """List the changes of leaders, newest first: who took which record, when, and why.

    \b
    Examples:
      kix records --since 7d
      kix records --since 2026-11-01 --json
    """
    from flows.commands.people import show_records

    show_records(settings_for(home), since, as_json=as_json)


@main.command()
@click.argument("run")
@home_option
@click.option("--manifest/--no-manifest", default=True, help="With or without the canonical manifest.")
@json_option
def show(run: str, home: Path | None, *, manifest: bool, as_json: bool) -> None:
    """Show the page of RUN: everything that is known of one result.

    Its figure and its rank on the board at hand, what it is a run of, how and where it was measured, what became of
    it, people's notes, the canonical manifest, and a citation. RUN is a digest, the first digits of one, or SOURCE:ID
    (its current run).

    \b
    Examples:
      kix show sol-execbench:3483
      kix show 449ac0a4 --no-manifest
      kix show sol-execbench:3483 --json | jq .standing
    """
    from flows.commands.page import show_page

    show_page(settings_for(home), run, home, manifest=manifest, as_json=as_json)


@main.command()
@click.argument("run")
@home_option
@json_option
def cite(run: str, home: Path | None, *, as_json: bool) -> None:
    """Print a citation of RUN.

    It names implementation, operation, value, source, digest, where to find it upstream, and today's date (UTC).

    \b
    Examples:
      kix cite sol-execbench:3483
      kix cite 449ac0a4 --json
    """
    from flows.commands.cite import show_citation

    show_citation(settings_for(home), run, as_json=as_json)


@main.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@home_option
@json_option
def compare(runs: tuple[str, ...], home: Path | None, *, as_json: bool) -> None:
    """Set two or more runs of one cohort side by side.

    Values are given relative to the best of these runs. Runs that differ in kernel, workload, evaluation stack, GPU,
    rule of correctness or metric are not comparable: the command says in what they differ and ends with 1.

    \b
    Examples:
      kix compare sol-execbench:6715 sol-execbench:3483
      kix compare 449ac0a4 7fdbc8ce --json
    """
    from flows.commands.compare import show_comparison

    show_comparison(settings_for(home), runs, as_json=as_json)


@main.command()
@click.argument("query")
@home_option
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json", "jsonl", "parquet"]), default="table",
    show_default=True, help="How the rows are written.",
)  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--safe-csv", is_flag=True, help="With --format csv: no text in it begins a formula in a spreadsheet.")
def sql(query: str, home: Path | None, form: str, output: Path | None, *, as_json: bool, safe_csv: bool) -> None:
    """Answer QUERY, one SELECT over the warehouse; `-` reads it from standard input.

    The query sees the warehouse and nothing else: no files, no network, no settings; time and memory are bounded.
    In a terminal, what that would obey is escaped; a file or a pipe gets the values as they are. With --safe-csv a text
    that begins with = + - @ (full-width too), a tab or a line break, also behind spaces or quotes, gets an apostrophe
    in front, and every text is quoted; numbers stay numbers.
    Tables and columns explain themselves: SELECT table_name, comment FROM duckdb_tables() UNION ALL
    SELECT view_name, comment FROM duckdb_views() WHERE NOT internal.

    \b
    Examples:
      kix sql "select kernel, project, primary_value from leaderboard where rank = 1 order by kernel"
      kix sql "from sol_execbench_leaderboard.runs" --format parquet --output runs.parquet
      kix sql - --format csv < question.sql
      kix sql "from submitters" --format csv --safe-csv --output submitters.csv
    """
    from flows.commands.sql import answer

    text = sys.stdin.read() if query == "-" else query
    raise SystemExit(answer(settings_for(home), text, "json" if as_json else form, output, safe_csv=safe_csv))


@main.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--family", metavar="F", help="This comparability family alone, under latest-F.json.")
@click.option("--since", metavar="SNAPSHOT", help="Also what is new since this snapshot in DIR, as an increment.")
@home_option
@click.option("--quiet", is_flag=True, help="No words unless something is wrong.")
@json_option
def export(
    directory: Path, family: str | None, since: str | None, home: Path | None, *, quiet: bool, as_json: bool
) -> None:
    """Write the published state into DIR as an immutable Parquet snapshot.

    A new one is made only when the evidence changed. It is read back before DIR/latest.json names it, and never changes
    afterwards. Beside the tables: manifest.json (files, columns, units, licences), README.md, croissant.json.

    \b
    Examples:
      kix export snapshots
      kix export snapshots --family sol_execbench_leaderboard
      kix export snapshots --since 20261130T140000Z-0123456789ab --json
    """
    from flows.commands.export import run_export

    run_export(settings_for(home), directory, family, since, as_json=as_json, quiet=quiet)


@main.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("action", type=click.Choice(["list", "verify", "prune"]), default="list", metavar="[list|verify|prune]")
@click.argument("snapshot", required=False)
@click.option("--keep", type=click.IntRange(min=1), metavar="N", help="prune: keep the newest N.")
@click.option("--keep-days", type=click.IntRange(min=1), metavar="N", help="prune: keep those of the last N days.")
@home_option
@json_option
def snapshots(
    directory: Path,
    action: str,
    snapshot: str | None,
    keep: int | None,
    keep_days: int | None,
    home: Path | None,  # noqa: ARG001  every command takes it
    *,
    as_json: bool,
) -> None:
    """List the snapshots in DIR, verify them (or one SNAPSHOT), or prune old ones.

    verify reads every file: exit code 0 when all is as it was written, 1 when something is not, and is named. prune
    never removes the newest, nor what latest.json or latest-F.json names; what --keep or --keep-days keeps stays.

    \b
    Examples:
      kix snapshots DIR
      kix snapshots DIR verify
      kix snapshots DIR prune --keep 10 --keep-days 90
    """
    from flows.commands.export import run_snapshots

    code = run_snapshots(directory, action, snapshot, keep=keep, keep_days=keep_days, as_json=as_json)
    raise SystemExit(code)


@main.command()
@click.argument("run")
@home_option
@click.option("--json", "as_json", is_flag=True, help="As it is anyway: the manifest is JSON.")
def manifest(run: str, home: Path | None, *, as_json: bool) -> None:  # noqa: ARG001
    """Print the record of RUN: its run, protocol and environment manifests as canonical JSON.

    RUN is a digest, the first digits of one, or SOURCE:ID.

    \b
    Examples:
      kix manifest sol-execbench:3483
      kix manifest 449ac0a4 | jq .run.spec.timing
    """
    from flows.commands.show import show_manifest

    show_manifest(settings_for(home), run)


@main.command()
@home_option
@json_option
def audit(home: Path | None, *, as_json: bool) -> None:
    """Hold our runs against what KernelIndex published of them.

    Runs are matched by digest, else by source and id. Exit code 0: nothing differs; 1: something does, or nothing could
    be compared. A rank is told and never counts (the index keeps only the best few runs of a kernel), and so is a
    run that is only here, unless the whole index was read and shows a slower one.

    \b
    Examples:
      kix sync kernelindex --page run-3483.html && kix audit
      kix audit --json | jq .counts
    """
    from flows.commands.audit import show_audit

    raise SystemExit(show_audit(settings_for(home), as_json=as_json))


@main.command()
@home_option
@click.option(
    "--check", is_flag=True, help="Exit code 1 when a source is stale or its last sync failed; for monitoring."
)
@click.option(
    "--prometheus", "metrics_file", type=click.Path(dir_okay=False, path_type=Path),
    help="Write the state to this file for node_exporter's textfile collector.",
)  # fmt: skip
@json_option
def status(home: Path | None, metrics_file: Path | None, *, check: bool, as_json: bool) -> None:
    """Say what is here: sources, last syncs, freshness, counts, sizes, paths.

    With --check: only the state of each source, and since when something is wrong. Exit code 0: all are fresh; 1: a
    source is stale beyond its policy, or its last sync failed.

    \b
    Examples:
      kix status
      kix status --json | jq .counts
      kix status --check --prometheus /var/lib/node_exporter/kix.prom
    """
    from flows.commands.status import run_status

    raise SystemExit(run_status(settings_for(home), metrics_file, check=check, as_json=as_json))


@main.group()
def review() -> None:
    """Decide on what is held for doubt: list it, accept it, or hold it.

    A run that is faster than the speed of light allows stays out of the rankings until a person accepts it.

    \b
    Examples:
      kix review list
      kix review hold sol-execbench:3483 --reason "the profile shows a cached result"
    """


@review.command("list")
@home_option
@json_option
def review_list(home: Path | None, *, as_json: bool) -> None:
    """List what was raised for review, with the verdicts on it."""
    from flows.commands.people import show_reviews

    show_reviews(settings_for(home), as_json=as_json)


def _verdict_options(command: Any) -> Any:
    command = click.option("--by", "by_name", metavar="NAME", help="Who decides (else KIX_NAME, else the login).")(
        command
    )
    command = click.option("--reason", required=True, help="Why; kept with the verdict.")(command)
    return click.argument("subject", metavar="ID")(home_option(command))


@review.command()
@_verdict_options
def accept(subject: str, home: Path | None, reason: str, by_name: str | None) -> None:
    """Accept ID: the run ranks from now on. ID is a digest, the first digits of one, or SOURCE:ID.

    \b
    Examples:
      kix review accept sol-execbench:3483 --reason "confirmed by the submitter's profile"
    """
    from flows.commands.people import run_verdict

    run_verdict(settings_for(home), subject, "accept", reason, by_name)


@review.command()
@_verdict_options
def hold(subject: str, home: Path | None, reason: str, by_name: str | None) -> None:
    """Hold ID: the doubt stands, and the run stays out of the rankings."""
    from flows.commands.people import run_verdict

    run_verdict(settings_for(home), subject, "hold", reason, by_name)


@main.command()
@click.argument("run")
@click.argument("text")
@click.option("--kind", type=click.Choice(["note", "reproduction"]), default="note", show_default=True)
@click.option("--by", "by_name", metavar="NAME", help="Who writes (else KIX_NAME, else the login).")
@home_option
def note(run: str, text: str, kind: str, by_name: str | None, home: Path | None) -> None:
    """Write a note on RUN, signed by name. It is shown on the run's page and changes no evidence level and no rank.

    \b
    Examples:
      kix note sol-execbench:3483 "1.17 ms on our B200" --kind reproduction
    """
    from flows.commands.people import run_note

    run_note(settings_for(home), run, text, kind, by_name)


@main.command()
@home_option
@json_option
def verify(home: Path | None, *, as_json: bool) -> None:
    """Prove the warehouse: every rule, every digest, every figure, and every row against the archive.

    Nothing is changed. Exit code 0: all holds; 1: something does not, and is named. Takes about as long as loading
    everything once.

    \b
    Examples:
      kix verify
      kix verify --json | jq '.proofs[] | select(.broken > 0)'
    """
    from flows.commands.prove import run_verify

    raise SystemExit(run_verify(settings_for(home), as_json=as_json))


@main.command()
@home_option
@json_option
def rebuild(home: Path | None, *, as_json: bool) -> None:
    """Make the warehouse anew from the archive alone, and say what is different.

    It is replaced whole or not at all. For a damaged warehouse, or after an update of kix that maps something better.

    \b
    Examples:
      kix rebuild
    """
    from flows.commands.prove import run_rebuild

    raise SystemExit(run_rebuild(settings_for(home), as_json=as_json))


@main.command()
@home_option
@click.option("--compact", is_flag=True, help="Write the archive anew even when little in it is unused.")
@json_option
def maintain(home: Path | None, *, compact: bool, as_json: bool) -> None:
    """Compact the archive where that is worthwhile, and drop the snapshots that the settings no longer keep.

    Nothing that was fetched is ever dropped.

    \b
    Examples:
      kix maintain
      KIX_KEEP_SNAPSHOTS=30 kix maintain
    """
    from flows.commands.serve import run_maintain

    raise SystemExit(run_maintain(settings_for(home), compact=compact, as_json=as_json))


@main.command()
@home_option
@json_option
def doctor(home: Path | None, *, as_json: bool) -> None:
    """Look the home over: disk, rights, lock, versions, settings, archive, warehouse, clock, Prefect, stray files.

    Takes a second and changes nothing. Each line says what is ok, a warning or broken, and what to do about it. Exit
    code 0: nothing is broken; 1: something is. What takes longer, every digest and row, is `kix verify`.

    \b
    Examples:
      kix doctor
      kix doctor --json | jq '.findings[] | select(.state != "ok")'
    """
    from flows.commands.doctor import run_doctor

    raise SystemExit(run_doctor(home, as_json=as_json))


@main.command()
@home_option
def serve(home: Path | None) -> None:
    """Sync the enabled sources on their schedules, export, verify and maintain, until told to stop (SIGTERM, Ctrl-C).

    Starts a Prefect server of its own when none is configured (PREFECT_API_URL). The schedules are cron in UTC;
    KIX_SOURCES and KIX_SCHEDULES, or `sources` and `[schedules]` in kix.toml, say what runs when.

    \b
    Examples:
      KIX_SOURCES=sol-execbench kix serve
      KIX_SOURCES=sol-execbench KIX_SCHEDULES='{"sol-execbench": "7 */6 * * *"}' kix serve
    """
    from flows.commands.serve import run_serve

    raise SystemExit(run_serve(settings_for(home)))


if __name__ == "__main__":
    main()
