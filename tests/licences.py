"""Writes docs/licences.md: the licences of the direct dependencies, as their own metadata state them.

`python tests/licences.py > docs/licences.md`
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
SPDX = {"MIT License": "MIT", "Apache Software License": "Apache-2.0"}
SAID_ELSEWHERE = {"mlcroissant": "Apache-2.0"}
"""Where the metadata say nothing: as the project's repository states it."""

HEAD = """# Licences of the direct dependencies

kix is under Apache-2.0 and brings no copy of any of these: they are installed beside it. As their metadata state it.
`python tests/licences.py > docs/licences.md` writes this page anew.

| package | versions | licence |
| --- | --- | --- |
"""


def dependencies() -> dict[str, str]:
    """The direct dependencies of the package, with the versions that will do."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = [re.fullmatch(r"([A-Za-z0-9._-]+)(.*)", one) for one in project["dependencies"]]
    return {part[1]: part[2] for part in parts if part}


def licence(package: str) -> str:
    """What a package's metadata say of its licence, in SPDX's words where they are plain."""
    said = metadata(package)
    if expression := said.get("License-Expression"):
        return str(expression)
    line = str(said.get("License") or "")
    if line and "\n" not in line and len(line) < 40:
        return SPDX.get(line, line)
    classes = [one.rpartition(" :: ")[2] for one in said.get_all("Classifier", []) if one.startswith("License")]
    return " OR ".join(SPDX.get(one, one) for one in classes) or SAID_ELSEWHERE[package]


def page() -> str:
    """The page, a line for each package."""
    return HEAD + "".join(f"| {name} | `{versions}` | {licence(name)} |\n" for name, versions in dependencies().items())


if __name__ == "__main__":
    sys.stdout.write(page())
