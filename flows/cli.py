"""The `kix` command: thin, one function a command. Heavy libraries are imported where a command needs them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from flows.console import settings_for

EXAMPLES = """
\b
Examples:
  kix sync --sample --home demo             try it out: bundled synthetic data, no network
  kix board rmsnorm --home demo/sample      its boards of one kernel (part of a name will do)
  kix sync sol-execbench                    read the real board
  kix board 064_multi_head_qkv              the real boards of one kernel
  kix sql "select kernel, project, primary_value from leaderboard where rank = 1"
  kix manifest sol-execbench:3483           the published record of one run
  kix status                                what is here, how fresh, and where
"""


class _Commands(click.Group):
    """Keeps the commands in the order of their definition."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)


def home_option(command: Any) -> Any:
    """Add `--home`."""
    return click.option(
        "--home",
        type=click.Path(file_okay=False, path_type=Path),
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
    from flows.commands.sync import run_sync

    raise SystemExit(run_sync(**options))


@main.command()
@click.argument("kernel")
@home_option
@json_option
def board(kernel: str, home: Path | None, *, as_json: bool) -> None:
    """Show the boards of KERNEL, one for each cohort.

    Runs of different GPUs or evaluation stacks are not comparable, so they never share a board.

    \b
    Examples:
      kix board 064_multi_head_qkv_projection_with_rope_backward
      kix board 064_multi_head_qkv --json
    """
    from flows.commands.show import show_board

    show_board(settings_for(home), kernel, as_json=as_json)


@main.command()
@click.argument("query")
@home_option
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json", "jsonl", "parquet"]), default="table",
    show_default=True, help="How the rows are written.",
)  # fmt: skip
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def sql(query: str, home: Path | None, form: str, output: Path | None, *, as_json: bool) -> None:
    """Answer QUERY, one SELECT over the warehouse; `-` reads it from standard input.

    The query sees the warehouse and nothing else: no files, no network, no settings; time and memory are bounded.
    Tables and columns explain themselves: SELECT table_name, comment FROM duckdb_tables() UNION ALL
    SELECT view_name, comment FROM duckdb_views() WHERE NOT internal.

    \b
    Examples:
      kix sql "select kernel, project, primary_value from leaderboard where rank = 1 order by kernel"
      kix sql "from sol_execbench_leaderboard.runs" --format parquet --output runs.parquet
      kix sql - --format csv < question.sql
    """
    from flows.commands.sql import answer

    text = sys.stdin.read() if query == "-" else query
    raise SystemExit(answer(settings_for(home), text, "json" if as_json else form, output))


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
@json_option
def status(home: Path | None, *, as_json: bool) -> None:
    """Say what is here: sources, last syncs, freshness, counts, sizes, paths.

    \b
    Examples:
      kix status
      kix status --json | jq .counts
    """
    from flows.commands.show import show_status

    show_status(settings_for(home), as_json=as_json)


if __name__ == "__main__":
    main()
