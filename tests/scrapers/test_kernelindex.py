"""Run pages, parsed: what the published texts say comes out, and a page that was changed is never read in silence.

What is expected is taken from the published texts in `fixtures/seeds`.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import fields, replace
from html import escape
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_page import manifest_text, run_id, run_page

from scrapers.contract import Part
from scrapers.kernelindex import Items, Page
from scrapers.kernelindex.client import sitemap_addresses
from scrapers.kernelindex.markup import BrokenMarkup, check_whole
from scrapers.kernelindex.parse import parse, run_ids

SUBMISSIONS = ("3483", "27772")
SECTIONS = ("correctness", "workload", "measurements", "protocol", "environment", "artifacts", "replications")


def read(html: str | bytes) -> Items:
    body = html if isinstance(html, bytes) else html.encode()
    return parse(Part("p", "file:p.html", "", None, ("sha256:b",), True, 0, 1), lambda _digest: body)


def page_of(html: str | bytes) -> Page:
    items = read(html)
    assert items.page is not None, items.rejects
    return items.page


def facts(page: Page) -> dict[str, Any]:
    return {one.name: getattr(page, one.name) for one in fields(page)}


def changed(html: str, old: str, new: str) -> str:
    assert html.count(old) == 1, (old, html.count(old))
    return html.replace(old, new)


WANTED = {
    "27772": {
        "title": "TH3CHARLie | TileGym", "operation": "KV cache update with RoPE backward", "value": "18.6",
        "unit": "\u00b5s", "rank": "4", "observed": "2026-07-24", "run_digest": "sha256:6fa4f85da9b80839c97c94c",
        "metrics": "SOL 0.9882 · 20.45× reference · 16/16 cases faster",
        "identity": (
            ("implementation", "TH3CHARLie | TileGym"), ("project", "TH3CHARLie | TileGym"),
            ("revision", "submission-27772"), ("workload", "suite of 16 cases · mean latency"),
            ("comparison key", "sha256:afb19fba8875cb05…"), ("source", "NVIDIA SOL-ExecBench"),
            ("external id", "submission/27772"),
        ),
        "measurements": (("latency · mean", "18.6 \u00b5s"),),
        "harness": "SOL-ExecBench evaluation stack v1.1",
    },
    "3483": {
        "title": "Amir M. Mir | SF Tensor", "operation": "Multi head QKV projection with RoPE backward",
        "value": "1.16", "unit": "ms", "rank": "8", "observed": "2026-05-21",
        "run_digest": "sha256:449ac0a4bf174ec0ad6110c", "metrics": "SOL 0.0914 · 0.12× reference · 0/16 cases faster",
        "identity": (
            ("implementation", "Amir M. Mir | SF Tensor"), ("project", "Amir M. Mir | SF Tensor"),
            ("revision", "submission-3483"), ("workload", "suite of 16 cases · mean latency"),
            ("comparison key", "sha256:f2fadd4714b17399…"), ("source", "NVIDIA SOL-ExecBench"),
            ("external id", "submission/3483"),
        ),
        "measurements": (("latency · mean", "1.16 ms"),),
        "harness": "SOL-ExecBench evaluation stack v1.0",
    },
}  # fmt: skip


@pytest.mark.parametrize("submission", SUBMISSIONS)
def test_a_page_says_what_the_published_text_says(submission: str, seeds: dict[str, Any]) -> None:
    items = read(run_page(submission))
    assert (items.rejects, items.drift) == ((), ())
    said = facts(page_of(run_page(submission)))
    wanted = dict(WANTED[submission])
    harness = wanted.pop("harness")
    wanted |= {
        "locator": "file:p.html", "body_digest": "sha256:b", "address_id": None, "canonical_id": run_id(submission),
        "shown_id": "01a0352b-0000", "workload": "suite of 16 cases · mean latency", "statistic": "mean",
        "samples": None, "profile": "source-native", "not_eligible": None, "notes": (), "published": "2026-08-24",
        "source": "NVIDIA SOL-ExecBench", "environment": (("gpu", "NVIDIA B200 (sm_100)"),),
        "protocol": (
            ("harness", harness), ("timer", "harness_reported"), ("primaryStatistic", "mean"),
            ("correctnessReference", "definition reference implementation"),
            ("comparabilityFamily", "sol_execbench_leaderboard"),
        ),
    }  # fmt: skip
    assert json.loads(said.pop("manifest")) == seeds[submission]
    assert said == wanted


def test_without_a_canonical_link_the_cut_id_is_all_there_is() -> None:
    page = page_of(run_page("3483", canonical=False))
    assert (page.canonical_id, page.shown_id) == (None, "01a0352b")


# -- spelled otherwise, the same facts

SPELLINGS = {
    "µ": ["µ", "\u03bc", "&micro;", "&#181;", "&#956;", "&mu;"], "·": ["·", "&middot;", "&#183;", "&#xB7;"],
    "×": ["×", "&times;", "&#215;"], "…": ["…", "&hellip;", "&#8230;"], "→": ["→", "&rarr;"],
    " ": [" ", "\u00a0", "&nbsp;", "\u202f", "\u2009", "\n   ", " \t "],
}  # fmt: skip
PARTS = re.compile(r"(<pre.*?</pre>|<script.*?</script>|<title.*?</title>|<[^>]*>)", re.DOTALL)


@given(st.data(), st.sampled_from(SUBMISSIONS))
@settings(max_examples=60, deadline=None)
def test_white_space_and_special_characters_may_be_spelled_in_many_ways(data: st.DataObject, submission: str) -> None:
    choose = {char: data.draw(st.sampled_from(ways)) for char, ways in SPELLINGS.items()}
    comments = data.draw(st.booleans())

    def respelled(text: str) -> str:
        words = "".join(choose.get(char, char) for char in text)
        return words.replace("; ", ";<!-- $ --> ") if comments else words

    html = "".join(
        part if part.startswith("<") else respelled(part) for part in PARTS.split(run_page(submission)) if part
    )
    items = read(html)
    assert (items.rejects, items.drift) == ((), ())
    assert items.page == page_of(run_page(submission))


@pytest.mark.parametrize("submission", SUBMISSIONS)
def test_the_manifest_may_stand_there_escaped_or_plain(submission: str) -> None:
    text = manifest_text(submission)
    for way in (escape(text), escape(text, quote=False), text.replace('"', "&#34;"), text.replace("{", "&lbrace;")):
        html = changed(run_page(submission), escape(text), way)
        assert read(html).page == page_of(run_page(submission))


def test_a_greek_letter_in_a_name_stays_one() -> None:
    html = run_page("3483").replace("Amir M. Mir | SF Tensor", "\u03bcKernel")
    assert page_of(html).title == "\u03bcKernel"


# -- changed: found


@pytest.mark.parametrize("name", SECTIONS)
def test_a_lost_section_is_drift(name: str) -> None:
    html = re.sub(rf'<section id="{name}".*?</section>', "", run_page("3483"), flags=re.DOTALL)
    items = read(html)
    assert [(one.path, one.change) for one in items.drift] == [(f"page#{name}", "section gone")]
    before = page_of(run_page("3483"))
    assert items.page == (replace(before, **{name: None}) if hasattr(before, name) and name != "workload" else before)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r'<section id="manifest".*?</section>', ""),
        (r"<pre.*?</pre>", ""),
        (r"(<pre.*?</pre>)", r"\1\1"),
        (r"(<section id=\"manifest\".*?</section>)", r"\1\1"),
    ],
)
def test_without_exactly_one_manifest_a_page_is_a_reject(old: str, new: str) -> None:
    items = read(re.sub(old, new, run_page("3483"), flags=re.DOTALL))
    assert items.page is None
    assert len(items.rejects) == 1


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("<h1 class=\"text-title\">Amir M. Mir | SF Tensor</h1>", "", "page.title"),
        ("Primary measurement", "Main figure", "page.primary measurement"),
        ("</span></span><span>mean</span>", "</span></span><span>average of some</span>", "page.statistic"),
        ('<span class="text-title">ms</span>', "", "page.value"),
        (" · source-native comparison · observed 2026-05-21", "", "page.standing"),
        ("<div class=\"flex\"><span>external id</span><span>submission/3483</span></div>", "",
         "page.identity.external id"),
        ("<span>external id</span><span>submission/3483</span>", "<span>external id</span>", "page.identity"),
        ("<span>timer</span><span>harness_reported</span>", "<span>timer</span><span>a</span><span>b</span>",
         "page#protocol"),
        ("sha256:449ac0a4bf174ec0ad6110c", "no digest", "page.run digest"),
        ("Published 2026-08-24", "Made public", "page.published"),
        ('<span class="text-faint">run ', '<span class="text-faint">number ', "page.context"),
        ("<span>timer</span><span>harness_reported</span>", "<span>harness</span><span>other</span>",
         "page#protocol.harness"),
        ('<section id="artifacts"', '<section id="things"', "page#things"),
        ("SOL 0.0914 · 0.12× reference", "SOL 0.0914 ! 0.12× reference", "page.primary"),
        ("<main", "<p>Held for review</p><main", "page.notes"),
    ],
)  # fmt: skip
def test_what_is_gone_or_new_is_drift(old: str, new: str, path: str) -> None:
    items = read(changed(run_page("3483"), old, new))
    assert path in {one.path for one in items.drift}
    assert items.page is not None


@pytest.mark.parametrize("submission", SUBMISSIONS)
def test_any_tag_that_is_not_closed_is_found(submission: str) -> None:
    html = run_page(submission)
    tags = [match for match in re.finditer(r"</?[a-z0-9]+[^>]*>", html) if not match[0].endswith("/>")]
    assert len(tags) > 150
    for tag in tags:
        if tag[0] in ("</html>", "</body>"):  # HTML lets these be left out
            continue
        items = read(html[: tag.start()] + html[tag.end() :])
        told = items.rejects and "markup is not whole" in items.rejects[0].reason
        # Tags inside the script are text: without them the page is what it was.
        assert told or items.page == page_of(html), tag


@given(st.integers(min_value=0, max_value=20_000), st.sampled_from(SUBMISSIONS))
@settings(max_examples=150, deadline=None)
def test_a_page_cut_anywhere_gives_the_same_facts_or_a_reject(place: int, submission: str) -> None:
    html = run_page(submission).encode()
    items = read(html[: place % len(html)])
    assert items.rejects or items.page == page_of(html)


@given(st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_a_reject(body: bytes) -> None:
    items = read(body)
    assert items.page is None
    assert items.rejects


@pytest.mark.parametrize(
    ("note", "kept"),
    [
        ("Retracted 2026-09-01: measured on another GPU", True),
        ("Disputed: the timer is doubted", True),
        ("Superseded by a corrected run; preserved for the audit trail.", True),
        ("Not re-observed recently.", True),
        ("Something else.", False),
    ],
)
def test_notes_above_the_body_are_kept(note: str, kept: bool) -> None:
    items = read(run_page("3483", note=note))
    assert items.page is not None
    assert items.page.notes == ((note,) if kept else ())
    assert [one.path for one in items.drift] == ([] if kept else ["page.notes"])


def test_a_run_that_does_not_rank_says_why() -> None:
    html = re.sub(r"<p><a href=\"/operations/kernel\?cohort=x\">.*?</p>", "<p>Not eligible to rank: RETRACTED</p>",
                  run_page("3483"))  # fmt: skip
    page = page_of(html)
    assert (page.not_eligible, page.rank, page.observed) == ("RETRACTED", None, None)


@pytest.mark.parametrize("body", [b"\xff\xfe<html>", run_page("3483").replace("Tensor", "Ten\ufffdsor").encode()])
def test_damaged_text_is_a_reject(body: bytes) -> None:
    assert read(body).page is None


# -- hostile


HOSTILE = {
    "deep": "<div>" * 200_000,
    "deep and closed": "<div>" * 90_000 + "</div>" * 90_000,
    "many": "<b></b>" * 300_000,
    "a huge attribute": f'<div a="{"x" * 1_900_000}',
    "many attributes": "<div " + "a=1 " * 400_000,
    "comments": "<!--" * 400_000,
    "declarations": "<![CDATA[" * 200_000,
    "brackets": "<" * 1_900_000,
    "tags without an end": "<a " * 600_000,
    "quotes": "<a b='" * 300_000,
    "scripts": "<script>" * 200_000,
    "a script": "<script>" + "</scrip" * 250_000,
    "instructions": "<?php " * 200_000,
    "entities": "<p>" + "&" * 1_900_000,
    "too large": " " * 5_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markup_is_a_reject_in_time(name: str) -> None:
    begun = time.monotonic()
    items = read(HOSTILE[name])
    assert items.page is None
    assert len(items.rejects) == 1
    assert len(items.rejects[0].reason) < 300
    assert time.monotonic() - begun < 5


def test_a_page_at_the_bounds_is_read_in_time() -> None:
    html = changed(run_page("3483"), "<main", f'<p x="{"y" * 900_000}">{"<b></b>" * 9_000}</p><main')
    begun = time.monotonic()
    assert page_of(html).value == "1.16"
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    "text",
    [
        "<div/>", "<p></b></p>", "<!-->-->", "<!-- --!> -->", "<?xml version='1.0'?><p></p>", "<p><!doctype html></p>",
        "<title><b></b></title>", "<svg><style><i></i></style></svg>", "<p", "</p>", "<p a='>", "<![CDATA[x]]>",
        "<script>", "<p><br></br></p>", "<p>1 < 2</p>",
    ],
)  # fmt: skip
def test_markup_on_which_parsers_disagree_is_not_whole(text: str) -> None:
    with pytest.raises(BrokenMarkup):
        check_whole(text)


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE html><html><body><p>1 &lt; 2 & 3</p>", "<br><br/><img src=x>", "<svg><path d='M0 0'/></svg>",
        "<P CLASS=a b>x</p >", "<script>if (a<b) {'</b>'}</script>", "<a title='>'></a>", "<!-- <b> -->", "",
    ],
)  # fmt: skip
def test_markup_that_is_whole_passes(text: str) -> None:
    check_whole(text)


# -- what leads to pages


def test_a_sitemap_is_read_and_its_entities_are_not_followed() -> None:
    xml = (
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><urlset><url>'
        b"<loc> https://kernelindex.com/runs/1?a=1&amp;b=2 </loc><lastmod>2026-01-01</lastmod></url>"
        b"<url><loc>&a;</loc></url></urlset>"
    )
    assert sitemap_addresses(xml) == ["https://kernelindex.com/runs/1?a=1&b=2", "&a;"]


def test_the_runs_that_a_page_links_to() -> None:
    html = b'<p><a href="/runs/abc">x</a><a href="/runs/abc">y</a><a href="https://k.example/runs/d-1/">z</a>'
    assert run_ids(html + b'<a href="/runs/a/b">n</a><a href="/operations/runs">n</a><a>n</a></p>') == ["abc", "d-1"]
