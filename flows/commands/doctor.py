"""`kix doctor`: what is well with a home, what is not, and what to do about it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from flows.console import print_json
from flows.doctor import BROKEN, examine
from flows.home import default_home
from transforms.names import printable


def run_doctor(home: Path | None, *, as_json: bool) -> int:
    """Print what is found, a line each. Returns 0 when nothing is broken, else 1."""
    findings = []
    for found in examine(home or default_home()):
        findings.append(found)
        if as_json:
            continue
        code = f" [{found.code}]" if found.code else ""
        click.echo(printable(f"{found.state:8} {found.what:10} {found.value}{code}"))
        if found.remedy:
            click.echo(printable(f"{'':19} → {found.remedy}"))
    broken = any(found.state == BROKEN for found in findings)
    if as_json:
        print_json({"well": not broken, "findings": [asdict(found) for found in findings]})
    return 1 if broken else 0
