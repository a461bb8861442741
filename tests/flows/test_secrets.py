"""No password and no token, given or sent, is said, stored or published: all of the home is searched for them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import zstandard
from board_server import API, BoardServer, Reply
from click.testing import CliRunner
from conftest import SAMPLE

from flows.cli import main
from flows.registry import SOURCES
from flows.settings import Settings
from flows.sync import Request, sync
from scrapers.contract import Scope
from scrapers.errors import SyncFailed

SECRET = "hunter2-s3cret"


@pytest.fixture
def board() -> Iterator[BoardServer]:
    with BoardServer(SAMPLE) as board:
        yield board


def kix(*arguments: str, home: Path) -> tuple[int, str]:
    done = CliRunner().invoke(main, [*arguments, "--home", str(home)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def files_with_the_secret(folder: Path) -> list[str]:
    """Search the files as they are, and what is packed in them."""
    found = [path.name for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    for path in folder.rglob("*.sqlite"):
        found += [f"{path.name}: {value!r}" for value in sqlite_values(path) if SECRET.encode() in value]
    for path in folder.rglob("*.duckdb"):
        found += [f"{path.name}: {row}" for row in duckdb_rows(path) if SECRET in row]
    return found


def sqlite_values(path: Path) -> Iterator[bytes]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in db.execute(f"SELECT * FROM {table}"):
                for value in row:
                    packed = isinstance(value, bytes)
                    yield zstandard.ZstdDecompressor().stream_reader(value).read() if packed else str(value).encode()


def duckdb_rows(path: Path) -> Iterator[str]:
    with duckdb.connect(path, read_only=True) as db:
        for schema, table in db.execute("SELECT schema_name, table_name FROM duckdb_tables()").fetchall():
            yield from map(str, db.execute(f'SELECT * FROM "{schema}"."{table}"').fetchall())


def test_the_search_finds_what_is_kept(board: BoardServer, tmp_path: Path) -> None:
    kix("sync", "sol-execbench", "--base-url", board.base_url, "--limit", "1", home=tmp_path)
    assert any(b'"workloads"' in value for value in sqlite_values(tmp_path / "archive.sqlite"))
    assert any(board.base_url in row for row in duckdb_rows(tmp_path / "warehouse.duckdb"))


BASE_URLS = [
    "https://user:{secret}@127.0.0.1:1/api",
    "https://{secret}@127.0.0.1:1/api",
    "http://user:{secret}@[::1/api",
    "ftp://user:{secret}@127.0.0.1",
    "user:{secret}@127.0.0.1",
    "https://127.0.0.1:1/api?token={secret}",
    "https://127.0.0.1:1/api#{secret}",
]


@pytest.mark.parametrize("url", BASE_URLS)
def test_a_base_url_with_a_secret_is_wrong_usage_and_is_not_repeated(tmp_path: Path, url: str) -> None:
    code, said = kix("sync", "sol-execbench", "--base-url", url.format(secret=SECRET), home=tmp_path)
    assert code == 2
    assert "base-url" in said
    assert SECRET not in said
    assert files_with_the_secret(tmp_path) == []


@pytest.mark.parametrize("url", BASE_URLS)
def test_so_it_is_in_the_environment_and_in_the_homes_file(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = json.dumps({"sol-execbench": url.format(secret=SECRET)})
    monkeypatch.setenv("KIX_BASE_URLS", given)
    code, said = kix("sync", "sol-execbench", home=tmp_path)
    assert (code, "base_urls" in said, SECRET in said) == (2, True, False)
    monkeypatch.delenv("KIX_BASE_URLS")
    (tmp_path / "kix.toml").write_text(f'[base_urls]\nsol-execbench = "{url.format(secret=SECRET)}"\n')
    code, said = kix("sync", "sol-execbench", home=tmp_path)
    assert (code, "base_urls" in said, SECRET in said) == (2, True, False)


@pytest.mark.parametrize("given", [f'["{SECRET}"]', f'{{"sol-execbench": ["{SECRET}"]}}', f"{{{SECRET}"])
def test_a_setting_of_another_shape_is_not_repeated_either(
    tmp_path: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIX_BASE_URLS", given)
    code, said = kix("status", home=tmp_path)
    assert (code, "base_urls" in said, SECRET in said) == (2, True, False)


@pytest.mark.parametrize("page", ["https://user:{secret}@kernelindex.com/runs/1", "user:{secret}@kernelindex.com"])
def test_a_page_with_credentials_is_wrong_usage(tmp_path: Path, page: str) -> None:
    code, said = kix("sync", "kernelindex", "--page", page.format(secret=SECRET), home=tmp_path)
    assert code == 2
    assert SECRET not in said
    assert files_with_the_secret(tmp_path) == []


def test_the_query_of_a_page_is_not_kept(tmp_path: Path) -> None:
    page = f"https://elsewhere.example/runs/1?token={SECRET}"
    code, said = kix("sync", "kernelindex", "--page", page, "--base-url", "http://127.0.0.1:9", home=tmp_path)
    assert code != 0
    assert SECRET not in said
    assert files_with_the_secret(tmp_path) == []


def test_a_request_from_a_program_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    request = Request(Scope(), f"https://user:{SECRET}@127.0.0.1:1/api")
    with pytest.raises(SyncFailed) as caught:
        asyncio.run(sync(SOURCES["sol-execbench"], request, Settings(home=tmp_path)))
    assert SECRET not in str(caught.value)
    assert files_with_the_secret(tmp_path) == []


LOCATIONS = [
    "http://user:{secret}@{own}{api}/kernels/1",  # our own origin, with credentials
    "https://user:{secret}@elsewhere.example/x",
    "//user:{secret}@127.0.0.1:1/x",
    "http:\\\\user:{secret}@127.0.0.1/x",
    "https://elsewhere.example/x?X-Amz-Signature={secret}",
    "https://elsewhere.example/x#access_token={secret}",
    "http://user:{secret}@[::1/x",
    "http://user:{secret}@ℝ℀/x",  # a name that the standard library refuses, and quotes
    "http://user:{secret}@127.0.0.1:port/x",
]


@pytest.mark.parametrize("location", LOCATIONS)
def test_a_secret_in_a_redirect_is_neither_told_nor_kept(
    board: BoardServer, tmp_path: Path, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIX_LOG", "json")
    own = board.base_url.removeprefix("http://").removesuffix(API)
    target = location.format(secret=SECRET, own=own, api=API)
    header = {"Location": target.encode().decode("latin-1")}
    board.answer = lambda path, n: Reply(302, header) if "/kernels/" in path else None
    report = tmp_path / "report.json"
    command = ["sync", "sol-execbench", "--base-url", board.base_url, "--limit", "1", "--report", str(report), "--json"]
    code, said = kix(*command, home=tmp_path / "home")
    assert code == 3
    reason = json.loads(report.read_text(encoding="utf-8"))["rejects"][0]["reason"]
    # A backslash is part of a path for us: that one leads to another page of our own, and so on.
    assert ("redirects" if "\\" in location else "redirected to") in reason
    assert "request.failed" in said
    assert SECRET not in said
    assert files_with_the_secret(tmp_path) == []
    assert not [request for request in board.requests if "authorization" in request.headers]


def test_a_followed_redirect_keeps_nothing_of_its_query(board: BoardServer, tmp_path: Path) -> None:
    def answer(path: str, n: int) -> Reply | None:
        moved = "/kernels/" in path and "sig=" not in path
        return Reply(302, {"Location": f"{path}?sig={SECRET}"}) if moved else None

    board.answer = answer
    code, said = kix("sync", "sol-execbench", "--base-url", board.base_url, "--limit", "1", home=tmp_path)
    assert code == 0, said
    assert [request for request in board.requests if SECRET in request.path]
    assert SECRET not in said
    assert files_with_the_secret(tmp_path) == []


@pytest.mark.parametrize(
    "trouble", [Reply(500), Reply(200, {}, b"[]" * 9, truncate=True), Reply(200, {"Content-Encoding": "br"})]
)
def test_trouble_behind_a_redirect_is_told_without_its_query(
    board: BoardServer, tmp_path: Path, trouble: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(path: str, n: int) -> Reply | None:
        if "/kernels/" not in path:
            return None
        return trouble if "sig=" in path else Reply(302, {"Location": f"{path}?sig={SECRET}"})

    board.answer = answer
    monkeypatch.setenv("KIX_LOG", "text")
    monkeypatch.setenv("KIX_ATTEMPTS", "2")
    code, said = kix("sync", "sol-execbench", "--base-url", board.base_url, "--limit", "1", home=tmp_path)
    assert (code, "request.failed" in said) == (3, True), said
    assert [request for request in board.requests if SECRET in request.path]
    assert SECRET not in said
    assert files_with_the_secret(tmp_path) == []
