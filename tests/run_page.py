"""Run pages of the public index, built from the published texts in `fixtures/seeds` to the facts of its markup.

The text of a page runs a list's key and value together; the keys are known, so it can be taken apart again.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

SEEDS = Path(__file__).parent / "fixtures" / "seeds"
KEYS = (
    "implementation", "project", "revision", "workload", "comparison key", "source", "external id",
    "definition comparator", "description", "latency · mean", "harness", "timer", "primaryStatistic",
    "correctnessReference", "comparabilityFamily", "gpu",
)  # fmt: skip
SECTIONS = {
    "Correctness": "correctness", "Workload": "workload", "Measurements": "measurements", "Protocol": "protocol",
    "Environment": "environment", "Artifacts": "artifacts", "Replications and notes": "replications",
    "Canonical manifest": "manifest",
}  # fmt: skip


def seed_text(submission: str) -> str:
    """The published page of a submission, as text."""
    return (SEEDS / f"run-{submission}.txt").read_text(encoding="utf-8")


def run_id(submission: str) -> str:
    """A whole id for a page; the published texts show its first 8 digits only."""
    return f"01a0352b-0000-7000-8000-{int(submission):012d}"


def manifest_text(submission: str) -> str:
    """The JSON on the page, as it stands there."""
    return seed_text(submission).partition("Show manifest\n\n")[2].partition("\n\nCite this record")[0]


def run_page(submission: str, *, canonical: bool = True, note: str = "") -> str:
    """The page of a submission as HTML. `note` stands above the body, as a retraction does."""
    lines = [line for line in seed_text(submission).split("Show manifest")[0].splitlines() if line]
    first, rest = lines[: lines.index("Correctness")], lines[lines.index("Correctness") :]
    rows = dict(_split(line) for line in first if line.startswith(KEYS))
    closing = seed_text(submission).splitlines()[-1]
    published, _, link = closing.partition("All results for ")
    operation = link.partition(" →")[0]
    head = f'<link rel="canonical" href="https://kernelindex.com/runs/{run_id(submission)}"/>' if canonical else ""
    shown = run_id(submission)[:13] if canonical else "01a0352b"
    notes = f'<div class="border-b"><div class="shell"><p class="text-warning">{escape(note)}</p></div></div>'
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><title>{escape(lines[0])}</title>{head}'
        '<script>self.__next_f=[];if(1<2){document.title+="</b>"}</script></head><body>\n'
        f'<div class="border-b"><div class="shell"><h1 class="text-title">{escape(rows["implementation"])}</h1>'
        f'<div class="mt-1.5"><a href="/operations/kernel">{escape(operation)}</a> · <!-- -->{rows["workload"]}'
        f'<!-- --> · <span class="text-faint">run <!-- -->{shown}<!-- -->…</span></div>'
        '<div class="flex"><span><span>●</span>passed</span><span>Reported<!-- --> evidence</span></div></div></div>'
        f'{notes if note else ""}<main class="shell">{_primary(first)}\n<div class="grid">{_sections(rest)}</div>\n'
        '<section id="manifest"><h2>Canonical manifest</h2><details><summary><span>Show manifest</span></summary>'
        f'<pre class="plate">{escape(manifest_text(submission))}</pre></details></section>'
        '<div><span>Cite this record (permalink, digest, access date)</span><button type="button">Copy</button></div>'
        f'<div><span class="text-subtle">{_source_link(published)}</span><span><a href="/operations/kernel">'
        f"All results for <!-- -->{escape(operation)}<!-- --> →</a><a>JSON</a></span></div></main>\n</body></html>\n"
    )


def _primary(lines: list[str]) -> str:
    figure = lines[lines.index("Primary measurement") + 1]
    digits = figure.rstrip("abcdefghijklmnopqrstuvwxyzµ")
    unit = figure.removeprefix(digits).removesuffix("mean")
    standing, _, others = lines[lines.index("Primary measurement") + 2].partition(" · ")
    metrics = next(line for line in lines if line.startswith("SOL "))
    digest = next(line for line in lines if line.startswith("sha256:"))
    return (
        '<section class="grid"><div><div class="uppercase">Primary measurement</div><div class="flex">'
        f'<span class="text-readout">{digits}<span class="text-title">{unit}</span></span><span>mean</span></div>'
        f'<p><a href="/operations/kernel?cohort=x">{standing.replace("Rank ", "Rank <!-- -->")}</a> · {others}</p>'
        f'<p><a href="/compare">Compare with #1 →</a></p><p class="font-mono">{metrics}</p></div>'
        f'<div class="border-l"><div>Identity</div>{_list([line for line in lines if line.startswith(KEYS)])}'
        f'<div class="flex"><span class="font-mono">{digest.removesuffix("…")}<!-- -->…</span>'
        '<button type="button" class="key">Copy</button></div></div></section>'
    )


def _sections(lines: list[str]) -> str:
    html, at = "", 0
    titles = [place for place, line in enumerate(lines) if line in SECTIONS]
    for at, end in zip(titles, [*titles[1:], len(lines)], strict=True):
        if SECTIONS[lines[at]] == "manifest":
            continue
        body = lines[at + 1 : end]
        rows = [line for line in body if line.startswith(KEYS)]
        others = "".join(f'<p class="text-faint">{escape(line)}</p>' for line in body if line not in rows)
        html += f'<section id="{SECTIONS[lines[at]]}" class="mt-10"><h2>{lines[at]}</h2>'
        html += (_list(rows) if rows else "") + others + "</section>"
    return html


def _list(lines: list[str]) -> str:
    pairs = map(_split, lines)
    rows = (f'<div class="flex"><span>{escape(key)}</span><span>{escape(value)}</span></div>' for key, value in pairs)
    return f"<div>{''.join(rows)}</div>"


def _split(line: str) -> tuple[str, str]:
    key = next(key for key in KEYS if line.startswith(key))
    return key, line.removeprefix(key)


def _source_link(published: str) -> str:
    day, _, source = published.partition(" · ")
    return f'{day} ·<!-- --> <a href="https://research.nvidia.com/benchmarks/sol-execbench">{source}</a>'
