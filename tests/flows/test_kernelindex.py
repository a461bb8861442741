"""`kix sync kernelindex` and `kix audit`: how pages are named, what is not asked, what goes wrong, words and codes."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pytest
from board_server import BoardServer, Reply
from click.testing import CliRunner
from conftest import SAMPLE
from run_page import run_id, run_page

from flows.cli import main
from scrapers.archive import Archive
from scrapers.contract import SourcePolicy
from scrapers.errors import GiveUp
from scrapers.http import Client
from scrapers.kernelindex import POLICY

HTML = {"Content-Type": "text/html; charset=utf-8", "ETag": '"1"'}
PAGES = {f"/runs/{run_id(name)}": run_page(name) for name in ("3483", "27772")}
ROBOTS = "User-agent: *\nAllow: /\nDisallow: /api/\n"


def kix(*arguments: str, home: Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, [*arguments, "--home", str(home)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def ask(home: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(home / "warehouse.duckdb", read_only=True) as db:
        return db.execute(query).fetchall()


@contextmanager
def index(answers: Mapping[str, str | Reply], robots: str = ROBOTS) -> Iterator[tuple[BoardServer, str]]:
    """The public index on loopback: path → page; anything else is not there."""
    with BoardServer(SAMPLE) as server:
        server.robots = robots

        def answer(path: str, _n: int) -> Reply:
            found = answers.get(path)
            if isinstance(found, Reply):
                return found
            kind = HTML if not path.endswith(".xml") else HTML | {"Content-Type": "application/xml"}
            return Reply(404) if found is None else Reply(200, kind, found.encode())

        server.answer = answer
        parts = urlsplit(server.base_url)
        yield server, f"{parts.scheme}://{parts.netloc}"


def sitemap(*paths: str) -> str:
    urls = "".join(f"<url><loc>https://kernelindex.com{path}</loc></url>" for path in paths)
    return f'<?xml version="1.0" encoding="UTF-8"?><urlset>{urls}</urlset>'


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """The two published pages, saved."""
    saved = {}
    for name in ("3483", "27772"):
        file = tmp_path / f"run-{name}.html"
        file.write_text(run_page(name), encoding="utf-8")
        saved[name] = str(file)
    return saved


# -- how pages are named


def test_saved_pages_need_no_network_and_are_in_the_archive(files: dict[str, str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    pages = [word for file in files.values() for word in ("--page", file)]
    code, out, words = kix("sync", "kernelindex", *pages, "--json", home=home)
    report = json.loads(out)
    assert (code, report["requests"], report["discovered"]["pages"]) == (0, 0, 2)
    assert "2 run pages" in words
    rows = ask(home, "SELECT url, via, body_digest FROM fetches ORDER BY url")
    assert {(url.rpartition("/")[2], via) for url, via, _ in rows} == {
        ("run-3483.html", "saved"), ("run-27772.html", "saved"),
    }  # fmt: skip
    assert str(tmp_path) not in json.dumps(ask(home, "SELECT url, error FROM fetches")) + out.replace(str(home), "")
    with Archive(home / "archive.sqlite", read_only=True) as archive:
        assert {archive.body(digest).decode() for _, _, digest in rows} == set(PAGES.values())


@pytest.mark.parametrize("way", ["address", "id", "list", "sitemap", "operations", "index of sitemaps"])
def test_a_page_is_named_in_many_ways(way: str, files: dict[str, str], tmp_path: Path) -> None:
    paths = list(PAGES)
    answers: dict[str, str | Reply] = {**PAGES}
    given: list[str] = []
    with index(answers) as (server, base_url):
        if way == "address":
            given = [f"{base_url}{paths[0]}", f"https://kernelindex.com{paths[1]}"]
        elif way == "id":
            given = [run_id("3483"), run_id("27772")]
        elif way == "list":
            (tmp_path / "list.txt").write_text(f"# runs\n{base_url}{paths[0]}\n\n{files['27772']}\n")
            given = [str(tmp_path / "list.txt")]
        elif way == "sitemap":
            answers["/sitemap.xml"] = sitemap("", "/docs", "/operations/gone", *paths)
        elif way == "operations":
            answers["/sitemap.xml"] = sitemap("", "/docs", "/operations/rope")
            answers["/operations/rope"] = "".join(f'<p><a href="{path}">a run</a></p>' for path in paths)
        else:
            answers["/sitemap.xml"] = sitemap("/sitemap/0.xml")
            answers["/sitemap/0.xml"] = sitemap(*paths)
        pages = [word for one in given for word in ("--page", one)]
        code, _, words = kix("sync", "kernelindex", *pages, "--base-url", base_url, home=tmp_path / "home")
    assert (code, "2 run pages" in words) == (0, True), words
    assert ask(tmp_path / "home", "SELECT page FROM published_runs ORDER BY 1") == [
        (run_id("3483"),), (run_id("27772"),),
    ]  # fmt: skip
    assert not [one.path for one in server.requests if one.path.startswith("/api")]


def test_a_page_is_asked_for_once_and_revalidated_later(tmp_path: Path) -> None:
    answers: dict[str, str | Reply] = {**PAGES}
    page = f"/runs/{run_id('3483')}"
    with index(answers) as (server, base_url):
        arguments = ("sync", "kernelindex", "--base-url", base_url, "--page", run_id("3483"), "--json")
        kix(*arguments, "--page", f"{base_url}{page}", home=tmp_path)
        assert [one.path for one in server.requests] == ["/robots.txt", page]
        answers[page] = Reply(304, HTML)
        report = json.loads(kix(*arguments, home=tmp_path)[1])
    assert (report["not_modified"], report["inserted"]["published_runs"]) == (1, 0)
    assert ask(tmp_path, "SELECT version, first_seen_sync, last_seen_sync FROM published_runs") == [(1, 1, 2)]


def test_a_useless_stored_page_is_not_confirmed_for_ever(tmp_path: Path) -> None:
    page = f"/runs/{run_id('3483')}"
    with index({}) as (server, base_url):
        arguments = ("sync", "kernelindex", "--base-url", base_url, "--page", run_id("3483"))
        server.answer = lambda _path, _n: Reply(200, HTML, PAGES[page].encode()[:5000])
        assert kix(*arguments, home=tmp_path)[0] == 3

        def whole(_path: str, n: int) -> Reply:
            conditional = "if-none-match" in server.requests[-1].headers
            return Reply(304, HTML) if n == 2 and not conditional else Reply(200, HTML, PAGES[page].encode())

        server.answer = whole
        assert kix(*arguments, home=tmp_path)[0] == 0


def test_offline_reads_the_archive(tmp_path: Path) -> None:
    with index({**PAGES, "/sitemap.xml": sitemap(*PAGES)}) as (_, base_url):
        arguments = ("sync", "kernelindex", "--base-url", base_url)
        assert kix(*arguments, home=tmp_path)[0] == 0
        (tmp_path / "warehouse.duckdb").unlink()
    assert kix(*arguments, "--offline", home=tmp_path)[0] == 0
    assert len(ask(tmp_path, "FROM published_runs")) == 2


# -- what is not asked


def test_a_page_that_robots_forbids_is_told_and_not_read(tmp_path: Path) -> None:
    robots = ROBOTS + f"Disallow: /runs/{run_id('27772')}\n"
    with index({**PAGES, "/sitemap.xml": sitemap(*PAGES)}, robots) as (server, base_url):
        code, out, _ = kix("sync", "kernelindex", "--base-url", base_url, "--json", home=tmp_path)
    report = json.loads(out)
    assert (code, report["status"]) == (3, "partial")
    assert [(one["locator"], one["reason"]) for one in report["rejects"]] == [
        (f"{base_url}/runs/{run_id('27772')}", "robots.txt forbids it")
    ]
    assert f"/runs/{run_id('27772')}" not in {one.path for one in server.requests}
    assert ask(tmp_path, "SELECT external_id FROM published_runs") == [("3483",)]


@pytest.mark.parametrize("robots", [ROBOTS, "User-agent: *\nAllow: /\n"])
def test_the_api_is_never_asked(robots: str, tmp_path: Path) -> None:
    moved = Reply(302, {"Location": "/api/v1/runs/1"})
    linked = sitemap("/api/v1/runs", f"/runs/{run_id('3483')}", "/runs/moved")
    with index({**PAGES, "/sitemap.xml": linked, "/runs/moved": moved}, robots) as (server, base_url):
        code, out, _ = kix("sync", "kernelindex", "--base-url", base_url, "--json", home=tmp_path)
        pages = [
            f"{base_url}/api/v1/runs/1",
            f"{base_url}/runs/../api/v1",
            f"{base_url}/",
            "https://other.example/runs/1",
        ]
        given = [word for one in pages for word in ("--page", one)]
        named, told, _ = kix("sync", "kernelindex", "--base-url", base_url, *given, "--json", home=tmp_path)
    assert (code, named) == (3, 3)
    assert len(json.loads(out)["rejects"]) == 1
    assert {one["locator"] for one in json.loads(told)["rejects"]} == set(pages)
    assert not [one.path for one in server.requests if "api" in one.path]


@pytest.mark.parametrize("path", ["/api", "/api/v1", "/API/v1", "//api/v1", "/%61pi/v1", "/runs/../api/v1", "/./api/"])
def test_closed_paths_are_closed_however_they_are_spelled(path: str, tmp_path: Path) -> None:
    async def refused(base_url: str) -> str:
        with Archive(tmp_path / "archive.sqlite") as archive:
            async with Client(POLICY, archive, 1, user_agent="kix", base_url=base_url) as client:
                with pytest.raises(GiveUp) as error:
                    await client(base_url + path)
                return error.value.reason

    with index({}) as (server, base_url):
        assert "never asked" in asyncio.run(refused(base_url))
        assert server.requests == []


def test_the_pace_is_one_request_a_second_and_it_is_off_by_default(tmp_path: Path) -> None:
    assert isinstance(POLICY, SourcePolicy)
    assert (POLICY.requests_per_s, POLICY.connections) == (1.0, 1)
    code, _, words = kix("sync", home=tmp_path)
    assert (code, "no source is enabled" in words) == (2, True)


# -- what goes wrong


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("sync", "sol-execbench", "--page", "abcdef01"), 2, "kernelindex"),
        (("sync", "kernelindex", "--page", "nowhere.html"), 2, "nowhere.html"),
        (("sync", "kernelindex", "--page", ""), 2, "no file"),
        (("sync", "kernelindex", "--page", "x\x00y"), 2, "no file"),
        (("sync", "kernelindex", "--kernel", "rope"), 1, "--page"),
        (("sync", "kernelindex", "--offline"), 1, "not in the archive"),
        (("audit",), 1, "kix sync"),
    ],
)
def test_wrong_usage_is_told(arguments: tuple[str, ...], code: int, word: str, tmp_path: Path) -> None:
    found, _, words = kix(*arguments, home=tmp_path)
    assert (found, word in words) == (code, True), words


@pytest.mark.parametrize(
    "answer", [Reply(200, {"Content-Type": "application/json"}, b"{}"), Reply(404), Reply(200, HTML, b"<p>no page</p>")]
)
def test_an_answer_that_is_no_page_is_a_reject(answer: Reply, tmp_path: Path) -> None:
    with index({**PAGES, f"/runs/{run_id('3483')}": answer, "/sitemap.xml": sitemap(*PAGES)}) as (_, base_url):
        code, out, _ = kix("sync", "kernelindex", "--base-url", base_url, "--json", home=tmp_path)
    assert code == 3
    assert [one["locator"] for one in json.loads(out)["rejects"]] == [f"{base_url}/runs/{run_id('3483')}"]
    assert ask(tmp_path, "SELECT external_id FROM published_runs") == [("27772",)]


@pytest.mark.parametrize("text", ["<urlset></urlset>", "no sitemap", sitemap("/docs")])
def test_a_sitemap_that_leads_nowhere_fails(text: str, tmp_path: Path) -> None:
    with index({"/sitemap.xml": text}) as (_, base_url):
        code, _, words = kix("sync", "kernelindex", "--base-url", base_url, home=tmp_path)
    assert (code, "leads to no run page" in words) == (1, True)


def test_a_limit_is_kept(tmp_path: Path) -> None:
    with index({**PAGES, "/sitemap.xml": sitemap(*PAGES)}) as (server, base_url):
        assert kix("sync", "kernelindex", "--base-url", base_url, "--limit", "1", home=tmp_path)[0] == 0
    assert len([one for one in server.requests if one.path.startswith("/runs/")]) == 1


def test_hostile_pages_end_in_a_reject(tmp_path: Path) -> None:
    file = tmp_path / "deep.html"
    file.write_text("<div>" * 300_000)
    begun = time.monotonic()
    code, out, _ = kix("sync", "kernelindex", "--page", str(file), "--json", home=tmp_path / "home")
    assert code == 3
    assert "deep" in json.loads(out)["rejects"][0]["reason"]
    assert time.monotonic() - begun < 20


# -- the audit


def test_an_audit_that_compared_nothing_is_no_success(files: dict[str, str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    kix("sync", "kernelindex", "--page", files["3483"], home=home)
    code, out, words = kix("audit", home=home)
    assert (code, "never read here" in out, "nothing could be compared" in words) == (1, True, True)


@pytest.mark.replay
def test_the_audit_of_the_published_pages(replay_home: Path, files: dict[str, str], tmp_path: Path) -> None:
    home = Path(shutil.copytree(replay_home, tmp_path / "home"))
    pages = [word for file in files.values() for word in ("--page", file)]
    code, _, words = kix("sync", "kernelindex", *pages, home=home)
    assert (code, "2 equal" in words) == (0, True)
    code, out, _ = kix("audit", home=home)
    assert (code, "0 differs" in out, "8 of at least 8 there" in out) == (0, True, True)
    code, out, _ = kix("audit", "--json", home=home)
    found = json.loads(out)
    assert (code, found["differs"], found["counts"]["equal"]) == (0, False, 2)

    Path(files["3483"]).write_text(run_page("3483").replace("0/16 cases", "3/16 cases"), encoding="utf-8")
    kix("sync", "kernelindex", "--page", files["3483"], home=home)
    code, out, _ = kix("audit", home=home)
    assert (code, "3/16 cases" in out, "1 equal" in out) == (1, True, True)


@pytest.mark.replay
def test_after_the_whole_index_was_read_a_better_run_that_is_only_here_counts(
    replay_home: Path, tmp_path: Path, expected: Any
) -> None:
    home = Path(shutil.copytree(replay_home, tmp_path / "home"))
    with index({**PAGES, "/sitemap.xml": sitemap(*PAGES)}) as (_, base_url):
        assert kix("sync", "kernelindex", "--base-url", base_url, home=home)[0] == 0
    ranks = expected("expected_ranks.csv")
    better = set()
    for name in ("3483", "27772"):
        (shown,) = [row for row in ranks if row["submission_id"] == name]
        cohort = [row for row in ranks if row["comparison_key"] == shown["comparison_key"]]
        better |= {row["submission_id"] for row in cohort if int(row["latency_ns"]) < int(shown["latency_ns"])}
    code, out, _ = kix("audit", "--json", home=home)
    only_here = [row for row in json.loads(out)["rows"] if row["state"] == "only here"]
    assert {row["external_id"] for row in only_here if row["counts"]} == better
    assert code == 1
