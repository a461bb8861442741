"""`kix sync`: choose the sources, run them, print and keep the reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from flows.console import check_target, fail, print_json, settings_for, write_whole
from flows.helper import Helper
from flows.interrupts import run_interruptible
from flows.lock import HomeBusy
from flows.pages import pages_given
from flows.progress import progress_bar
from flows.registry import SOURCES, Source
from flows.report import Report
from flows.settings import Settings
from flows.sync import Request, sync
from scrapers.addresses import check_base_url
from scrapers.codes import Code
from scrapers.contract import Scope
from scrapers.errors import SyncFailed
from scrapers.own_files import refuse_links
from transforms.names import printable
from warehouse.connection import WarehouseError


def run_sync(  # noqa: PLR0913  the command's options, each by name
    *,
    sources: tuple[str, ...],
    home: Path | None,
    sample: bool,
    base_url: str | None,
    kernels: tuple[str, ...],
    tag: str | None,
    limit: int | None,
    pages: tuple[str, ...],
    full: bool,
    offline: bool,
    dry_run: bool,
    report_file: Path | None,
    prefect: bool,
    quiet: bool,
    as_json: bool,
    helper: Helper | None,
) -> int:
    """Run the command and return its exit code. `helper` is for the first source."""
    settings = settings_for(home)
    if report_file:
        _check_report(report_file)
    if sample:
        settings = settings.model_copy(update={"home": settings.home / "sample"})
        _check_folder(settings.home)
    chosen = _chosen(sources, settings, sample=sample, base_url=base_url)
    mode = _mode(sample=sample, full=full, offline=offline)
    if pages and [source for source in chosen if source.boards]:
        fail("--page goes with a source that is read by page alone: kix sync kernelindex --page …", Code.USAGE)
    named, files = pages_given(pages)
    request = Request(Scope(kernels, tag, limit, named), base_url, mode, dry_run, files)
    reports: list[Report] = []
    problem, code = "", Code.DEFECT
    try:
        for report in _reports(chosen, request, settings, helper, prefect=prefect, quiet=quiet):
            reports.append(report)  # what was done counts, also when the next one fails
    except (HomeBusy, SyncFailed, WarehouseError) as error:
        problem, code = str(error), error.code
    except OSError as error:
        problem = f"cannot use {settings.home}: {error.strerror or error} ({error.filename}); nothing was changed"
        code = Code.FILE_UNUSABLE
    except KeyboardInterrupt:
        stopped = chosen[len(reports)].policy.slug
        problem = f"{stopped}: interrupted, nothing was changed; the next sync goes on where this one stopped"
        code = Code.INTERRUPTED
    if reports or not problem:
        _print(reports, as_json=as_json, quiet=quiet)
        if report_file:
            _write(report_file, reports)
    if problem:
        fail(problem, code)
    codes = {report.exit_code for report in reports}
    return 1 if 1 in codes else max(codes)


def _chosen(names: tuple[str, ...], settings: Settings, *, sample: bool, base_url: str | None) -> list[Source]:
    wanted = list(dict.fromkeys(("sol-execbench",) if sample else names or settings.sources))
    if sample and names:
        fail("--sample loads the bundled sample; it takes no SOURCE", Code.USAGE)
    if not wanted:
        known = ", ".join(SOURCES)
        fail(f"no source is enabled: name one (`kix sync {known}`) or set KIX_SOURCES={known}", Code.USAGE)
    for name in wanted:
        if name not in SOURCES:
            fail(f"no source is called {name!r}; there is: {', '.join(SOURCES)}", Code.USAGE)
    if base_url is not None:
        if sample or len(wanted) > 1:
            fail("--base-url goes with exactly one SOURCE, and not with --sample", Code.USAGE)
        try:
            check_base_url(base_url)
        except ValueError as error:
            fail(f"--base-url {error}", Code.USAGE)
    return [SOURCES[name] for name in wanted]


def _mode(*, sample: bool, full: bool, offline: bool) -> str:
    given = [name for name, on in (("sample", sample), ("full", full), ("offline", offline)) if on]
    if len(given) > 1:
        fail(f"--{given[0]} and --{given[1]} exclude each other", Code.USAGE)
    return given[0] if given else "normal"


def _reports(
    sources: list[Source], request: Request, settings: Settings, helper: Helper | None, *, prefect: bool, quiet: bool
) -> Iterator[Report]:
    """Sync one source after the other, the first with the helper; yields each report as soon as it is there."""
    for source in sources:
        with progress_bar(source.policy.slug, shown=not quiet and not prefect) as progress:
            if prefect:
                from flows.orchestrated import sync_as_flow

                work = sync_as_flow(source, request, settings)
            else:
                work = sync(
                    source, request, settings, progress=progress, helper=helper if source is sources[0] else None
                )
            # Prefect hears an interrupt too, and needs its time to write that down.
            report, told = run_interruptible(work, break_off=not prefect)
        yield report
        if told and source is not sources[-1]:
            raise KeyboardInterrupt


def _print(reports: list[Report], *, as_json: bool, quiet: bool) -> None:
    if as_json:
        data = [report.as_dict() for report in reports]
        print_json(data[0] if len(data) == 1 else data)
    for report in reports:
        if quiet and report.status == "complete":
            continue
        for line in _lines(report):
            click.echo(line, err=True)


def _lines(report: Report) -> list[str]:
    lines = [report.sentence()]
    lines += [f"  rejected: {one.locator}: {one.reason} [{one.code}]" for one in report.rejects[:10]]
    if len(report.rejects) > 10:
        lines.append(f"  … and {len(report.rejects) - 10} more rejects; --report FILE has them all")
    if report.incomplete:
        lines.append(f"  incomplete: {len(report.incomplete)} listings; nothing is marked as withdrawn for them")
    lines += [f"  drift: {one.path}: {one.change} ({one.count} times)" for one in report.drift[:10]]
    if report.reviews:
        lines.append(f"  held for review: {len(report.reviews)} (see `kix review list`)")
    if report.audit:
        told = ", ".join(f"{count:,} {state}" for state, count in report.audit.items())
        lines.append(f"  against the public index: {told} (kix audit)")
    taken = report.record_lines()
    lines += [f"  record: {line}" for line in taken[:10]]
    if len(taken) > 10:
        lines.append(f"  … and {len(taken) - 10} more records; `kix records --since` lists them")
    if report.reloaded:
        lines.append(f"  the warehouse lacked earlier syncs: all {report.reloaded} were loaded from the archive again")
    lines += [f"  kept as it was before this kix brought it to another schema: {path}" for path in report.kept]
    if report.status != "failed" and not report.dry_run:
        lines.append(f"  warehouse: {report.warehouse}" + (" (synthetic sample)" if report.synthetic else ""))
    if report.synthetic:
        lines.append(f"  look: kix board rmsnorm_hidden4096 --home {Path(report.warehouse).parent}")
    return [printable(line) for line in lines]


def _check_folder(path: Path) -> None:
    try:
        refuse_links(path)
    except OSError as error:
        fail(f"cannot use {path}: {error.strerror}; nothing was changed", Code.FILE_UNUSABLE)


def _check_report(path: Path) -> None:
    if str(path) == "-" or not path.parent.is_dir():
        fail(f"--report {path}: its folder does not exist; --json prints the report", Code.USAGE)
    try:
        check_target(path)
    except OSError as error:
        fail(f"--report {path}: {error.strerror}", Code.USAGE)


def _write(path: Path, reports: list[Report]) -> None:
    import orjson

    data = [report.as_dict() for report in reports]
    text = orjson.dumps(data[0] if len(data) == 1 else data, option=orjson.OPT_INDENT_2)
    try:
        write_whole(path, lambda file: file.write(text))
    except OSError as error:
        click.echo(f"kix: the report could not be written to {path}: {error.strerror} [{Code.FILE_UNUSABLE}]", err=True)
