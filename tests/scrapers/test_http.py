"""The client against a real server on loopback. Expected values: the sample's files, hashlib, gzip, and the RFCs."""

import asyncio
import contextlib
import functools
import gzip
import hashlib
import itertools
import os
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from importlib.metadata import version
from pathlib import Path

import pytest
from board_server import API, BoardServer, Reply

from flows.settings import Settings
from flows.sync import user_agent
from scrapers.archive import Archive
from scrapers.bounds import Limits, retry_after_s
from scrapers.contract import Capture, Scope, SourcePolicy
from scrapers.errors import GiveUp, NoSuchAnswer
from scrapers.http import Client, paced

SAMPLE = Path(__file__).parents[2] / "scrapers" / "sol_execbench" / "sample"
KERNELS = (SAMPLE / "kernels.json").read_bytes()
POLICY = SourcePolicy("test", "Test", "https://127.0.0.1", frozenset({"127.0.0.1"}), "", "")
AGENT = "kix/1.2.3 (+https://example.org/kix)"
NOW = datetime(2026, 11, 2, 12, 0, 0, tzinfo=UTC)
MIB = 1 << 20
# The bound on a wait bounds the back-off too: these are quick.
QUICK = Limits(attempts=3, retry_s=10, wait_max_s=0.02, answer_s=5, read_s=3, connect_s=3)
ONCE = Limits(attempts=1, answer_s=5, read_s=3, connect_s=3)
PATIENT = Limits(attempts=3, retry_s=10, wait_max_s=2, answer_s=5, read_s=3, connect_s=3)
JSON = {"Content-Type": "application/json"}


SYNCS = itertools.count(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample without its listings, which take longer to read than most of the tests."""
    folder = tmp_path_factory.mktemp("board")
    shutil.copytree(SAMPLE / "kernels", folder / "kernels")
    shutil.copy(SAMPLE / "kernels.json", folder)
    return folder


@pytest.fixture
def board(folder: Path) -> Iterator[BoardServer]:
    with BoardServer(folder) as board:
        yield board


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.sqlite") as archive:
        yield archive


@pytest.fixture
def canary() -> Iterator[socket.socket]:
    """A listening socket: a connection to it waits to be accepted, whoever made it."""
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.setblocking(False)
        yield canary


def port_of(canary: socket.socket) -> int:
    return canary.getsockname()[1]


def was_contacted(canary: socket.socket) -> bool:
    try:
        connection, _ = canary.accept()
    except BlockingIOError:
        return False
    connection.close()
    return True


def run(archive: Archive, work: Callable, *, policy: SourcePolicy = POLICY, limits: Limits = QUICK, **options):
    """What `work(client)` returns, with a client for a sync of its own; nothing here may take longer than 20 s."""
    sync_id = archive.open_sync("test", f"test {next(SYNCS)}", Scope(), "normal", NOW, "test").sync_id

    async def within() -> object:
        async with asyncio.timeout(20):
            client = Client(policy, archive, sync_id, **{"user_agent": AGENT, "limits": limits, **options})
            async with client:
                return await work(client)

    return asyncio.run(within())


def fetch(archive: Archive, url: str, **options) -> Capture:
    return run(archive, lambda client: client(url), **options)


def fetch_from(board: BoardServer, archive: Archive, path: str = "/kernels", **options) -> Capture:
    return fetch(archive, board.base_url + path, base_url=board.base_url, **options)


def refusal(board: BoardServer, archive: Archive, path: str = "/kernels", **options) -> str:
    with pytest.raises(GiveUp) as caught:
        fetch_from(board, archive, path, **options)
    return caught.value.reason


def asked(board: BoardServer) -> list[str]:
    """The paths that were asked for, but for robots.txt, below the API."""
    return [request.path.removeprefix(API) for request in board.requests if request.path != "/robots.txt"]


def origin(board: BoardServer) -> str:
    return board.base_url.removesuffix(API)


def stored_bodies(archive: Archive) -> set[str]:
    with contextlib.closing(sqlite3.connect(archive.path)) as db:
        return {digest for (digest,) in db.execute("SELECT body_digest FROM bodies")}


def digest(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()


def first_then_usual(*replies: Reply) -> Callable[[str, int], Reply | None]:
    return lambda path, n: replies[n - 1] if n <= len(replies) else None


# -- the answer, and what is written down of it


def test_an_answer_is_the_body_and_is_in_the_archive(board, archive):
    before = datetime.now(UTC)
    capture = fetch_from(board, archive)

    assert (capture.url, capture.status, capture.media_type, capture.via) == (
        f"{board.base_url}/kernels",
        200,
        "application/json",
        "network",
    )
    assert (capture.body, capture.body_digest) == (KERNELS, digest(KERNELS))
    assert before <= capture.fetched_at <= datetime.now(UTC)
    assert archive.body(digest(KERNELS)) == KERNELS


def test_every_fetch_is_written_down(board, archive):
    board.answer = lambda path, n: {"/a": Reply(503), "/b": Reply(404)}.get(path.removeprefix(API)) if n < 3 else None

    async def work(client: Client) -> None:
        for path in ("/a", "/b", "/kernels"):
            with contextlib.suppress(GiveUp):
                await client(board.base_url + path)

    run(archive, work, base_url=board.base_url, limits=ONCE, now=lambda: NOW)

    robots = b"User-agent: *\nDisallow:\n"
    tag = f'W/"{hashlib.sha256(KERNELS).hexdigest()[:32]}"'
    with contextlib.closing(sqlite3.connect(archive.path)) as db:
        rows = db.execute(
            "SELECT sync_id, url, status, fetched_at, etag, body_digest, size_bytes, error IS NULL FROM fetches"
        ).fetchall()
    at = NOW.isoformat()
    assert rows == [
        (1, origin(board) + "/robots.txt", 200, at, None, digest(robots), len(robots), 1),
        (1, board.base_url + "/a", 503, at, None, None, None, 0),
        (1, board.base_url + "/b", 404, at, None, None, None, 0),
        (1, board.base_url + "/kernels", 200, at, tag, digest(KERNELS), len(KERNELS), 1),
    ]


def test_a_broken_transfer_is_written_down_too(board, archive):
    board.answer = lambda path, n: Reply(200, JSON, KERNELS, truncate=True)
    refusal(board, archive)
    noted = [(status, body, bool(error)) for _, url, status, *_, body, _, error in archive.fetches(1) if API in url]
    assert noted == [(None, None, True)] * QUICK.attempts


def test_a_page_that_nobody_can_read_is_kept_all_the_same(board, archive):
    page = b"<html>are you a robot?</html>"
    board.answer = lambda path, n: Reply(200, {"Content-Type": "text/html; charset=UTF-8"}, page)
    capture = fetch_from(board, archive)
    assert (capture.media_type, capture.body, archive.body(digest(page))) == ("text/html", page, page)


def test_traffic_counts_requests_and_the_bytes_as_they_came(board, archive):
    squeezed = gzip.compress(KERNELS)
    board.robots = Reply(404)
    board.answer = lambda path, n: Reply(200, JSON | {"Content-Encoding": "gzip"}, squeezed)

    async def work(client: Client) -> tuple[int, int]:
        await client(board.base_url + "/kernels")
        return client.traffic.requests, client.traffic.bytes

    assert run(archive, work, base_url=board.base_url) == (2, len(squeezed))


# -- what is asked at all: hosts


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",  # https only
        "http://127.0.0.1/",
        "https://127.0.0.1:{port}/",  # another port
        "https://127.0.0.1:80/",
        "https://localhost:{port}/",  # other hosts
        "https://localhost/",
        "https://127.0.0.1.example.org/",
        "https://example.org/127.0.0.1",
        "https://[::1]/",
        "https://127.0.0.2/",
        "https://user:secret@127.0.0.1/",  # credentials
        "https://user@127.0.0.1/",
        "https://127.0.0.1@localhost:{port}/",
        "https://127.0.0.1\\@localhost:{port}/",
        "ftp://127.0.0.1/",
        "file:///etc/hostname",
        "//127.0.0.1/",
        "127.0.0.1",
        "",
        "https://127.0.0.1:99999/",  # no addresses at all
        "https://127.0.0.1:port/",
        "https://[::1/",
    ],
)
def test_what_the_policy_does_not_name_is_not_asked(archive, canary, url):
    async def work(client: Client) -> int:
        with pytest.raises(GiveUp):
            await client(url.format(port=port_of(canary)))
        return client.traffic.requests

    assert run(archive, work) == 0
    assert not was_contacted(canary)
    assert archive.fetches(1) == []


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{other}/",
        "http://localhost:{own}/",
        "https://127.0.0.1:{own}/",
        "http://127.0.0.1/",
        "https://127.0.0.1/",  # the policy's own
        "http://user:secret@127.0.0.1:{own}/",
    ],
)
def test_a_base_url_allows_its_own_origin_only(board, archive, canary, url):
    url = url.format(own=origin(board).rpartition(":")[2], other=port_of(canary))
    with pytest.raises(GiveUp):
        fetch(archive, url, base_url=board.base_url)
    assert board.requests == []
    assert not was_contacted(canary)


# -- redirects


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (301, "{origin}" + API + "/kernels"),
        (302, "kernels"),
        (303, API + "/kernels"),
        (307, API + "/kernels"),
        (308, "{origin}/x/.." + API + "/kernels#top"),
    ],
)
def test_a_redirect_within_the_origin_is_followed(board, archive, status, location):
    board.answer = first_then_usual(Reply(status, {"Location": location.format(origin=origin(board))}, b"moved"))
    capture = fetch_from(board, archive, "/old")
    assert (capture.url, capture.body) == (board.base_url + "/old", KERNELS)
    assert asked(board) == ["/old", "/kernels"]


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/",
        "//127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://0.0.0.0:{port}/",
        "https://127.0.0.1:{port}/",
        "http://{own}@127.0.0.1:{port}/",
        "http://169.254.169.254/latest/meta-data/",
        "file:///etc/hostname",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:port/",
        "http://[::1",
        "/control\x01character",
    ],
)
def test_a_redirect_elsewhere_is_refused_and_never_followed(board, archive, canary, location):
    location = location.format(port=port_of(canary), own=origin(board).removeprefix("http://"))
    board.answer = lambda path, n: Reply(302, {"Location": location})
    with pytest.raises(GiveUp) as caught:
        fetch_from(board, archive)
    assert caught.value.locator == board.base_url + "/kernels"
    assert not was_contacted(canary)
    assert asked(board) == ["/kernels"]


@pytest.mark.parametrize("redirects", [0, 1, 3])
def test_a_loop_of_redirects_ends(board, archive, redirects):
    board.answer = lambda path, n: Reply(302, {"Location": f"{API}/{n}"})
    refusal(board, archive, limits=Limits(attempts=3, redirects=redirects, wait_max_s=0.02))
    assert len(asked(board)) == redirects + 1


def test_a_redirect_to_nowhere_ends(board, archive):
    board.answer = lambda path, n: Reply(302)
    refusal(board, archive)
    assert len(asked(board)) <= QUICK.redirects + 1


def test_a_redirect_leads_to_nothing_that_robots_forbid(board, archive):
    board.robots = f"User-agent: *\nDisallow: {API}/private\n"
    board.answer = lambda path, n: Reply(302, {"Location": f"{API}/private/1"})
    assert "robots" in refusal(board, archive)
    assert asked(board) == ["/kernels"]


# -- robots.txt (RFC 9309)


@pytest.mark.parametrize(
    "rules",
    [
        "User-agent: *\nDisallow: /\n",
        "User-agent: *\nDisallow: /benchmarks/\n",
        "User-agent: *\r\nDisallow: /*/api/kernels$\r\n",
        "User-agent: *\nDisallow:\n\nUser-agent: kix\nDisallow: /\n",
        "User-agent: *\nDisallow:\n\nUser-agent: KIX\nDisallow: /\n",
        "User-agent: other\nUser-agent: kix\nDisallow: /\n",
        "\ufeffUser-agent: *\nDisallow: /\n",  # a byte order mark is no part of the first line
        # Who is asking is told by the product token; the contact must not choose the group (RFC 9309 §2.2.1).
        "User-agent: *\nDisallow: /\n\nUser-agent: example\nDisallow:\n",
        pytest.param("# filler\n" * 50_000 + "User-agent: *\nDisallow: /\n", id="rules at the end of 450 kB"),
    ],
)
def test_what_robots_forbid_is_not_asked(board, archive, rules):
    board.robots = Reply(200, {"Content-Type": "text/plain"}, rules.encode())
    assert "robots" in refusal(board, archive)
    assert [request.path for request in board.requests] == ["/robots.txt"]


@pytest.mark.parametrize(
    "rules",
    [
        "",
        "User-agent: *\nDisallow:\n",
        "User-agent: other\nDisallow: /\n",
        "User-agent: *\nDisallow: /\n\nUser-agent: kix\nAllow: /\n",
        f"User-agent: *\nDisallow: /\nAllow: {API}/\n",
        f"User-agent: *\nDisallow: {API}/kernels/1\n",
    ],
)
def test_what_robots_allow_is_asked(board, archive, rules):
    board.robots = rules
    assert fetch_from(board, archive).body == KERNELS


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_without_robots_everything_may_be_asked(board, archive, status):
    board.robots = Reply(status, {"Content-Type": "text/html"}, b"Disallow: /")
    assert fetch_from(board, archive).body == KERNELS


def test_a_robots_txt_beyond_the_bound_forbids_everything(board, archive):
    board.robots = "#" * 10_001
    assert "10,001 bytes of rules" in refusal(board, archive, limits=Limits(attempts=1, robots_bytes=10_000))
    assert asked(board) == []
    assert fetch_from(board, archive, limits=Limits(attempts=1, robots_bytes=10_001)).body == KERNELS


def test_a_missing_robots_txt_is_missing_in_any_coding(board, archive):
    board.robots = Reply(404, {"Content-Encoding": "br"}, b"\x0b\x02\x80not found\x03")
    assert fetch_from(board, archive).body == KERNELS


@pytest.mark.parametrize("status", [500, 503])
def test_with_unreachable_robots_nothing_is_asked(board, archive, status):
    board.robots = Reply(status)
    assert "robots.txt cannot be read" in refusal(board, archive)
    assert [request.path for request in board.requests] == ["/robots.txt"] * QUICK.attempts


def test_with_a_cut_robots_txt_nothing_is_asked(board, archive):
    board.robots = Reply(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /\n", truncate=True)
    refusal(board, archive)
    assert asked(board) == []


def test_robots_that_come_late_are_obeyed(folder, archive):
    late = iter([Reply(503), Reply(200, {}, b"User-agent: *\nDisallow: /\n")])

    class Late(BoardServer):
        def reply_to(self, path, headers):
            if path == "/robots.txt":
                self.robots = next(late)
            return super().reply_to(path, headers)

    with Late(folder) as board:
        assert "forbids" in refusal(board, archive)
        assert asked(board) == []


def test_robots_that_redirect_within_the_origin_are_obeyed(board, archive):
    board.robots = Reply(301, {"Location": "/rules.txt"})
    board.answer = lambda path, n: Reply(200, {}, f"User-agent: *\nDisallow: {API}/kernels\n".encode())
    assert "forbids" in refusal(board, archive)
    assert [request.path for request in board.requests] == ["/robots.txt", "/rules.txt"]


def test_robots_that_redirect_elsewhere_forbid_everything(board, archive, canary):
    board.robots = Reply(302, {"Location": f"http://127.0.0.1:{port_of(canary)}/robots.txt"})
    assert "robots.txt cannot be read" in refusal(board, archive)
    assert asked(board) == []
    assert not was_contacted(canary)


def test_robots_are_asked_once_for_all(board, archive):
    async def work(client: Client) -> None:
        await asyncio.gather(*(client(f"{board.base_url}/kernels/{n}") for n in (1, 2, 3, 5, 6, 8)))

    run(archive, work, base_url=board.base_url)
    paths = [request.path for request in board.requests]
    assert (paths[0], paths.count("/robots.txt"), len(paths)) == ("/robots.txt", 1, 7)


# -- pace


def moments(board: BoardServer) -> list[float]:
    """The times at which later requests come, but for robots.txt."""
    seen: list[float] = []
    board.answer = lambda path, n: seen.append(time.monotonic())
    return seen


def gaps(seen: list[float]) -> list[float]:
    return [after - before for before, after in itertools.pairwise(sorted(seen))]


async def three(client: Client, base_url: str) -> None:
    await asyncio.gather(*(client(f"{base_url}/kernels/{n}") for n in (1, 2, 3)))


def test_a_crawl_delay_is_kept(board, archive):
    board.robots = "User-agent: *\nCrawl-delay: 0.3\nDisallow:\n"
    seen = moments(board)
    run(archive, lambda client: three(client, board.base_url), base_url=board.base_url)
    assert len(seen) == 3
    assert min(gaps(seen)) > 0.2  # less what the way to the server may take


def test_loopback_is_unpaced(board, archive):
    seen = moments(board)
    slow = paced(POLICY, None, 0.1)
    run(archive, lambda client: three(client, board.base_url), policy=slow, base_url=board.base_url)
    assert max(gaps(seen)) < 2


@pytest.mark.parametrize(("crawl_delay", "at_least"), [("0.05", 0.15), ("0.4", 0.3)])
def test_other_hosts_are_paced_by_the_larger_of_their_delay_and_ours(board, archive, crawl_delay, at_least):
    base_url = board.base_url.replace("127.0.0.1", "0.0.0.0")  # this machine too, and not a loopback address
    board.robots = f"User-agent: *\nCrawl-delay: {crawl_delay}\nDisallow:\n"
    seen = moments(board)
    run(archive, lambda client: three(client, base_url), policy=paced(POLICY, None, 4), base_url=base_url)
    assert len(seen) == 3
    assert min(gaps(seen)) > at_least  # 0.25 and 0.4, less what the way to the server may take


@pytest.mark.parametrize("crawl_delay", ["61", "86400", "1e300"])
def test_a_crawl_delay_beyond_the_bound_is_no_delay_to_be_kept_so_nothing_is_asked(board, archive, crawl_delay):
    board.robots = f"User-agent: *\nCrawl-delay: {crawl_delay}\nDisallow:\n"
    said = refusal(board, archive, limits=Limits(crawl_delay_s=60))
    for word in ("between two requests", "60 s", "KIX_MAX_CRAWL_DELAY_S"):
        assert word in said
    assert asked(board) == []


@pytest.mark.parametrize("crawl_delay", ["", "soon", "-5", "nan", "inf", "9" * 400, "0", "1,5", "\u0661"])
def test_a_crawl_delay_that_is_none_keeps_nobody_waiting(board, archive, crawl_delay):
    board.robots = f"User-agent: *\nCrawl-delay: {crawl_delay}\nDisallow:\n"
    assert fetch_from(board, archive).body == KERNELS


def test_the_operators_pace_goes_before_the_sources():
    assert (POLICY.connections, POLICY.requests_per_s) == (4, 10.0)
    assert paced(POLICY, None, None) == POLICY
    both = paced(POLICY, 2, 0.5)
    assert (both.connections, both.requests_per_s, both.hosts) == (2, 0.5, POLICY.hosts)
    assert paced(POLICY, 1, None).requests_per_s == 10.0


@pytest.mark.parametrize("connections", [1, 4])
def test_no_more_requests_at_once_than_connections(board, archive, connections):
    under_way, most, lock = 0, 0, threading.Lock()

    def answer(path: str, n: int) -> None:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.03)
        with lock:
            under_way -= 1

    board.answer = answer

    async def work(client: Client) -> None:
        await asyncio.gather(*(client(f"{board.base_url}/kernels?{n}") for n in range(12)))

    run(archive, work, policy=paced(POLICY, connections, None), base_url=board.base_url)
    assert most <= connections
    assert most > 1 or connections == 1


# -- bounds


@functools.cache
def gzip_bomb(mib: int) -> bytes:
    """A gzip body of `mib` MiB of zeros, made of one compressed piece over and over."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    check = zlib.crc32(b"")
    for _ in range(mib):
        check = zlib.crc32(bytes(MIB), check)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + piece * mib + b"\x03\0" + struct.pack("<II", check, mib * MIB)


def test_the_bomb_is_a_sound_gzip_body():
    assert gzip.decompress(gzip_bomb(2)) == bytes(2 * MIB)


BOMB_SCRIPT = """
import asyncio, resource, sys
from datetime import UTC, datetime
from pathlib import Path
from scrapers.archive import Archive
from scrapers.contract import Scope, SourcePolicy
from scrapers.errors import GiveUp
from scrapers.bounds import Limits
from scrapers.http import Client

async def main(base_url, path):
    policy = SourcePolicy("test", "Test", base_url, frozenset(), "", "")
    with Archive(Path(path)) as archive:
        sync = archive.open_sync("test", base_url, Scope(), "normal", datetime.now(UTC), "test")
        for expansion in (200, 10_000):
            limits = Limits(attempts=1, expansion=expansion)
            options = {"user_agent": "kix", "base_url": base_url, "limits": limits}
            async with Client(policy, archive, sync.sync_id, **options) as client:
                await client(base_url + "/kernels")
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                try:
                    await client(base_url + "/bomb")
                except GiveUp as error:
                    print(error.reason)
                print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)

asyncio.run(main(*sys.argv[1:]))
"""


def test_a_compression_bomb_does_no_harm(board, tmp_path):
    bomb = gzip_bomb(256)
    assert len(bomb) < MIB
    packed = Reply(200, JSON | {"Content-Encoding": "gzip"}, bomb)
    board.answer = lambda path, n: packed if path.endswith("/bomb") else None
    command = [sys.executable, "-c", BOMB_SCRIPT, board.base_url, str(tmp_path / "a.sqlite")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    reason, kib, second_reason, second_kib = done.stdout.splitlines()
    assert "larger than the bound" in reason
    assert "larger than the bound" in second_reason
    assert int(kib) + int(second_kib) < 80 * 1024  # the default bound on a body is 32 MiB


def test_the_ratio_is_bounded_below_the_bound_on_bytes(board, archive):
    body = bytes(2 * MIB)
    board.answer = lambda path, n: Reply(200, JSON | {"Content-Encoding": "gzip"}, gzip.compress(body))
    assert "larger than the bound" in refusal(board, archive, limits=Limits(attempts=1, expansion=200))
    assert fetch_from(board, archive, limits=Limits(attempts=1, expansion=2000)).body == body


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_body_as_large_as_the_bound_is_taken_and_no_larger_one(board, archive, coding):
    body = os.urandom(100_000)
    sent = gzip.compress(body) if coding == "gzip" else body
    board.answer = lambda path, n: Reply(200, JSON | {"Content-Encoding": coding}, sent)
    assert fetch_from(board, archive, limits=Limits(attempts=1, body_bytes=100_000)).body == body
    assert "larger than the bound" in refusal(board, archive, limits=Limits(attempts=3, body_bytes=99_999))
    assert len(asked(board)) == 2  # and it is not tried again


def endless(start: bytes, ever_after: bytes) -> Callable[[], Iterator[bytes]]:
    return lambda: itertools.chain([start], itertools.repeat(ever_after))


GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
GZIP_HEAD_WITH_NAME = b"\x1f\x8b\x08\x08\0\0\0\0\0\xff"
ENDLESS = {
    "identity": ("identity", endless(b"", bytes(64_000))),
    "gzip": ("gzip", endless(GZIP_HEAD, b"\0\xff\xff\0\0" + bytes(65_535))),  # stored blocks
    "gzip that says nothing": ("gzip", endless(GZIP_HEAD, b"\0\0\0\xff\xff" * 12_800)),  # stored blocks of no bytes
    "gzip with a name without end": ("gzip", endless(GZIP_HEAD_WITH_NAME, b"n" * 64_000)),
    "gzip and something after it": ("gzip", endless(gzip.compress(b"{}"), bytes(64_000))),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_endless_body_ends_at_the_bound_on_bytes(board, archive, kind):
    coding, pieces = ENDLESS[kind]
    sent = 0

    def counted() -> Iterator[bytes]:
        nonlocal sent
        for piece in pieces():
            sent += len(piece)
            yield piece

    board.answer = lambda path, n: Reply(200, JSON | {"Content-Encoding": coding}, counted(), pause_s=0.005)
    refusal(board, archive, limits=Limits(attempts=1, body_bytes=MIB, answer_s=2))
    assert sent < 8 * MIB  # the bound, and what the system buffers of a connection
    assert digest(b"{}") not in stored_bodies(archive)


def test_an_answer_that_drips_ends_in_time(board, archive):
    board.answer = lambda path, n: Reply(200, JSON, itertools.repeat(b" "), pause_s=0.05)
    started = time.monotonic()
    assert "0.4 s" in refusal(board, archive, limits=Limits(attempts=1, answer_s=0.4, read_s=5))
    assert 0.4 <= time.monotonic() - started < 2


def test_headers_that_never_come_end_in_time(board, archive):
    hold = threading.Event()
    board.answer = lambda path, n: Reply(200) if hold.wait(3) else None
    started = time.monotonic()
    refusal(board, archive, limits=Limits(attempts=1, answer_s=5, read_s=0.3))
    hold.set()
    assert 0.3 <= time.monotonic() - started < 2


def test_trying_again_ends_in_time(board, archive):
    board.answer = lambda path, n: Reply(503)
    started = time.monotonic()
    refusal(board, archive, limits=Limits(attempts=1000, retry_s=0.5, wait_max_s=0.05))
    assert time.monotonic() - started < 2


# -- broken transfers


@contextlib.contextmanager
def raw_server(*answers: bytes) -> Iterator[str]:
    """Sends each connection the next of `answers` as it is and hangs up; the last one ever after. No robots.txt."""
    pieces = itertools.chain(answers, itertools.repeat(answers[-1]))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, contextlib.suppress(OSError):
                        asked_for = connection.recv(65536)
                        robots = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                        connection.sendall(robots if b"/robots.txt" in asked_for else next(pieces))

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
PACKED = gzip.compress(b'{"data":' + KERNELS + b"}", mtime=0)
WHOLE = HEAD + b"Content-Length: 12\r\n\r\n" + b'{"data":"x"}'
BROKEN = {
    "shorter than announced": HEAD + b"Content-Length: 12\r\n\r\n" + b'{"data"',
    "cut between chunks": HEAD + b'Transfer-Encoding: chunked\r\n\r\n8\r\n{"data":\r\n',
    "cut within a chunk": HEAD + b'Transfer-Encoding: chunked\r\n\r\n8\r\n{"da',
    "cut gzip": HEAD + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + PACKED[: len(PACKED) // 2],
    "cut before the check sum": HEAD + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + PACKED[:-8],
    "another check sum": HEAD + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + PACKED[:-8] + bytes(8),
    "not gzip": HEAD + b'Content-Encoding: gzip\r\nConnection: close\r\n\r\n{"data":"x"}',
    "cut headers": HEAD,
    "nothing": b"",
    "not HTTP": b"SSH-2.0-OpenSSH\r\n",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_answer_is_asked_again_and_then_whole(archive, kind):
    with raw_server(BROKEN[kind], WHOLE) as base_url:
        assert fetch(archive, base_url + "/x", base_url=base_url).body == b'{"data":"x"}'
    assert stored_bodies(archive) == {digest(b'{"data":"x"}')}


@pytest.mark.parametrize("kind", BROKEN)
def test_never_half_a_document(archive, kind):
    with raw_server(BROKEN[kind]) as base_url, pytest.raises(GiveUp):
        fetch(archive, base_url + "/x", base_url=base_url)
    assert stored_bodies(archive) == set()


def test_a_cut_body_is_asked_again_and_then_whole(board, archive):
    board.answer = first_then_usual(Reply(200, JSON, KERNELS, truncate=True))
    assert fetch_from(board, archive).body == KERNELS
    assert asked(board) == ["/kernels", "/kernels"]


def test_a_server_that_is_gone_is_given_up(archive, canary):
    base_url = f"http://127.0.0.1:{port_of(canary)}"
    canary.close()
    with pytest.raises(GiveUp, match=r"robots.txt cannot be read"):
        fetch(archive, base_url + "/x", base_url=base_url)


# -- connections that are kept

NO_ROBOTS = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
FORGED = HEAD + b"Content-Length: 14\r\n\r\n" + b'{"data":"bad"}'


@contextlib.contextmanager
def keeping_server(answer: Callable[[socket.socket], None]) -> Iterator[tuple[str, list[int]]]:
    """Has no rules for robots and keeps its connections; `answer` is given each other request's. Yields where, and how
    many requests came on each connection."""
    requests: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve(connection: socket.socket, number: int) -> None:
            with connection, contextlib.suppress(OSError):
                while asked_for := connection.recv(65536):
                    requests[number] += 1
                    if b"robots" in asked_for:
                        connection.sendall(NO_ROBOTS)
                    else:
                        answer(connection)

        def take() -> None:
            with contextlib.suppress(OSError):
                for number in itertools.count():
                    connection, _ = server.accept()
                    requests.append(0)
                    threading.Thread(target=serve, args=(connection, number), daemon=True).start()

        threading.Thread(target=take, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", requests


async def a_moment_later(client: Client, base_url: str, *paths: str) -> list[bytes]:
    bodies = []
    for path in paths:
        bodies.append((await client(base_url + path)).body)
        await asyncio.sleep(0.1)
    return bodies


def errors(archive: Archive) -> list[str]:
    return [error for *_, error in archive.fetches(1) if error and "404" not in error]


def test_one_connection_takes_one_request_after_another(archive):
    with keeping_server(lambda to: to.sendall(WHOLE)) as (base_url, requests):
        run(archive, lambda client: a_moment_later(client, base_url, "/1", "/2", "/3"), base_url=base_url)
    assert requests == [4]


def test_what_nobody_asked_for_is_not_the_answer_to_the_next_request(archive):
    def answer(to: socket.socket) -> None:
        to.sendall(WHOLE)
        time.sleep(0.03)
        to.sendall(FORGED)

    with keeping_server(answer) as (base_url, requests):
        bodies = run(archive, lambda client: a_moment_later(client, base_url, "/1", "/2"), base_url=base_url)
    assert bodies == [b'{"data":"x"}'] * 2
    assert requests == [2, 1]
    assert errors(archive) == []


def test_what_pours_in_unasked_is_not_taken(archive):
    """Else it would fill the memory while nobody looks."""
    poured = itertools.count()

    def answer(to: socket.socket) -> None:
        to.sendall(WHOLE)
        time.sleep(0.05)  # the connection is at rest by now
        for _ in range(200):
            to.sendall(bytes(MIB))
            next(poured)

    async def work(client: Client) -> None:
        await client(base_url + "/1")
        await asyncio.sleep(1)

    with keeping_server(answer) as (base_url, _):
        run(archive, work, base_url=base_url)
    assert next(poured) < 20  # what the system's own buffers take


def test_a_connection_that_the_server_closed_is_not_used_again(archive):
    def answer(to: socket.socket) -> None:
        to.sendall(WHOLE)
        to.shutdown(socket.SHUT_WR)

    with keeping_server(answer) as (base_url, requests):
        bodies = run(archive, lambda client: a_moment_later(client, base_url, "/1", "/2"), base_url=base_url)
    assert bodies == [b'{"data":"x"}'] * 2
    assert requests == [2, 1]
    assert errors(archive) == []


def test_an_answer_without_length_that_ends_in_a_reset_is_no_document(archive):
    def answer(to: socket.socket) -> None:
        to.sendall(HEAD + b'\r\n{"data":')
        time.sleep(0.05)
        to.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        to.close()

    with keeping_server(answer) as (base_url, _), pytest.raises(GiveUp, match="broken transfer"):
        fetch(archive, base_url + "/x", base_url=base_url, limits=ONCE)
    assert stored_bodies(archive) == set()


def test_an_answer_without_length_ends_with_its_connection(archive):
    with raw_server(HEAD + b"\r\n" + b'{"data":"x"}') as base_url:
        assert fetch(archive, base_url + "/x", base_url=base_url).body == b'{"data":"x"}'


def test_an_informational_answer_is_not_yet_the_answer(archive):
    with raw_server(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + WHOLE) as base_url:
        assert fetch(archive, base_url + "/x", base_url=base_url).body == b'{"data":"x"}'


def test_a_coding_said_twice_is_two_codings(archive):
    twice = HEAD + b"Content-Encoding: gzip\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n{}"
    with raw_server(twice) as base_url, pytest.raises(GiveUp, match="'gzip, br'"):
        fetch(archive, base_url + "/x", base_url=base_url)


# 100 KiB is what h11 takes; the answer is 4 MiB of headers, or begins again for ever.
BOUNDLESS = {
    "a header without end": b"HTTP/1.1 200 OK\r\nX: " + b"x" * (4 * MIB),
    "headers without end": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * (4 * MIB // 6),
    "a status line without end": b"HTTP/1.1 200 " + b"O" * (4 * MIB),
    "a chunk size without end": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * (4 * MIB),
    "trailers without end": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * (4 * MIB // 6),
    "informational answers": b"HTTP/1.1 103 Early Hints\r\n\r\n" * 50_000,
}


@pytest.mark.parametrize("kind", BOUNDLESS)
def test_headers_are_bounded(archive, kind):
    with raw_server(BOUNDLESS[kind]) as base_url, pytest.raises(GiveUp, match=r"broken transfer|no whole answer"):
        fetch(archive, base_url + "/x", base_url=base_url, limits=ONCE)
    assert stored_bodies(archive) == set()


@pytest.mark.parametrize(
    "head",
    [b"Content-Length: 5\r\nContent-Length: 12\r\n", b"Content-Length: -1\r\n", b"Content-Length: 1e3\r\n", b"X\r\n"],
)
def test_headers_that_contradict_each_other_or_say_nothing_are_no_answer(archive, head):
    with raw_server(HEAD + head + b'\r\n{"data":"x"}') as base_url, pytest.raises(GiveUp, match="broken transfer"):
        fetch(archive, base_url + "/x", base_url=base_url, limits=ONCE)


# -- codings


@pytest.mark.parametrize("coding", ["br", "deflate", "zstd", "compress", "gzip, gzip", "gzip, br"])
def test_only_gzip_is_taken(board, archive, coding):
    board.answer = lambda path, n: Reply(200, JSON | {"Content-Encoding": coding}, zlib.compress(KERNELS))
    assert "coding" in refusal(board, archive)
    assert len(asked(board)) == 1
    assert digest(KERNELS) not in stored_bodies(archive)


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "x-gzip"])
def test_gzip_is_taken_by_its_names(board, archive, coding):
    board.answer = lambda path, n: Reply(200, JSON | {"Content-Encoding": coding}, gzip.compress(KERNELS))
    assert fetch_from(board, archive).body == KERNELS


def test_gzip_alone_is_asked_for(board, archive):
    fetch_from(board, archive)
    assert {request.headers["accept-encoding"] for request in board.requests} == {"gzip"}


@pytest.mark.parametrize("status", [429, 503])
def test_a_passing_refusal_in_another_coding_is_still_passing(board, archive, status):
    board.answer = first_then_usual(Reply(status, {"Content-Encoding": "br"}, b"\x0b\x02\x80busy\x03"))
    assert fetch_from(board, archive).body == KERNELS


# -- asking again


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_passing_refusal_is_asked_again(board, archive, status):
    board.answer = first_then_usual(Reply(status), Reply(status, JSON, b'{"detail":"busy"}'))
    assert fetch_from(board, archive).body == KERNELS
    assert len(asked(board)) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_final_refusal_is_not_asked_again(board, archive, status):
    board.answer = lambda path, n: Reply(status, JSON, b'{"detail":"no"}')
    with pytest.raises(NoSuchAnswer, match=str(status)):
        fetch_from(board, archive)
    assert len(asked(board)) == 1


def test_a_refusal_is_final_also_when_its_body_is_cut(board, archive):
    board.answer = lambda path, n: Reply(404, JSON, b'{"detail":"Not Found"}', truncate=True)
    with pytest.raises(NoSuchAnswer, match="404"):
        fetch_from(board, archive)
    assert len(asked(board)) == 1


def test_retry_after_is_heard_also_when_the_body_is_cut(board, archive):
    board.answer = lambda path, n: Reply(429, {"Retry-After": "60"}, b"slow down", truncate=True)
    assert "60 s" in refusal(board, archive, limits=PATIENT)
    assert len(asked(board)) == 1


@pytest.mark.parametrize("status", [202, 204, 206, 300])
def test_no_other_status_passes_for_an_answer(board, archive, status):
    board.answer = lambda path, n: Reply(status, JSON, b"" if status == 204 else b"{}")
    assert str(status) in refusal(board, archive)
    assert digest(b"{}") not in stored_bodies(archive)


def test_tries_are_bounded(board, archive):
    board.answer = lambda path, n: Reply(500)
    assert "500" in refusal(board, archive)
    assert len(asked(board)) == QUICK.attempts


@pytest.mark.parametrize(("status", "form"), [(429, "seconds"), (503, "date")])
def test_retry_after_is_waited_for_by_all(board, archive, status, form):
    value = "1" if form == "seconds" else format_datetime(NOW + timedelta(seconds=1), usegmt=True)
    seen: list[float] = []

    def answer(path: str, n: int) -> Reply | None:
        seen.append(time.monotonic())
        return Reply(status, {"Retry-After": value}) if n == 1 else None

    board.answer = answer

    async def work(client: Client) -> list[Capture]:
        first = asyncio.create_task(client(board.base_url + "/kernels"))
        while not seen:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        return await asyncio.gather(first, client(board.base_url + "/kernels/1"))

    captures = run(archive, work, base_url=board.base_url, limits=PATIENT, now=lambda: NOW)
    assert [capture.status for capture in captures] == [200, 200]
    assert len(seen) == 3
    assert min(seen[1:]) - seen[0] >= 0.98
    assert max(seen[1:]) - seen[0] < 4


@pytest.mark.parametrize("value", ["3", "86400", "9" * 400, format_datetime(NOW + timedelta(hours=1), usegmt=True)])
def test_a_longer_wait_than_ours_ends_it_with_a_reason(board, archive, value):
    board.answer = lambda path, n: Reply(429, {"Retry-After": value})
    reason = refusal(board, archive, limits=PATIENT, now=lambda: NOW)
    assert "429" in reason
    assert "2 s" in reason  # the bound
    assert len(asked(board)) == 1


@pytest.mark.parametrize("value", ["", "soon", "-5", "1.5", "Wed, 21 Oct 99999999999 07:28:00 GMT", "\xe9"])
def test_an_unreadable_retry_after_is_as_none(board, archive, value):
    board.answer = first_then_usual(Reply(429, {"Retry-After": value}))
    assert fetch_from(board, archive).body == KERNELS


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("0", 0),
        ("120", 120),
        (" 5 ", 5),
        ("\x1f5", 5),  # found by fuzzing: a space to Python's strip(), none to its float()
        ("Mon, 02 Nov 2026 12:01:30 GMT", 90),
        ("Monday, 02-Nov-26 12:01:30 GMT", 90),  # the obsolete forms of RFC 9110 §5.6.7
        ("Mon Nov  2 12:01:30 2026", 90),
        ("Mon, 02 Nov 2026 11:00:00 GMT", 0),
        ("tomorrow", None),
        ("1.5", None),
        ("-1", None),
        ("²", None),
        ("", None),
        ("-" * 5000, None),
        ("1" * 300, 1e300 / 9),
        ("1" * 400, float("inf")),
        ("Mon, 02 Nov 2026 12:01:30 +0000", 90),
        ("Mon, 02 Nov 2026 14:01:30 +0200", 90),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0),  # the forms of RFC 9110 §5.6.7, long past
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0),
        ("Sun Nov  6 08:49:37 1994", 0),
        ("Mon, 32 Nov 2026 12:01:30 GMT", None),
        ("Mon, 02 Nov 2026 12:01:30 +9999999999", None),
        ("Wed, 21 Oct 99999999999 07:28:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, expected):
    assert retry_after_s(value, NOW) == (expected if expected is None else pytest.approx(expected))


# -- revalidation


def conditions(board: BoardServer) -> list[tuple[str | None, str | None]]:
    """The conditions of the requests so far, but for robots.txt."""
    sent = [request.headers for request in board.requests if request.path != "/robots.txt"]
    return [(headers.get("if-none-match"), headers.get("if-modified-since")) for headers in sent]


def test_304_stands_for_the_stored_body(board, archive):
    first = fetch_from(board, archive)
    second = fetch_from(board, archive)
    tag = f'W/"{hashlib.sha256(KERNELS).hexdigest()[:32]}"'

    assert conditions(board) == [(None, None), (tag, None)]
    assert board.requests[-1].status == 304
    assert (second.body, second.body_digest, second.media_type) == (KERNELS, first.body_digest, "application/json")
    assert (second.status, second.via) == (304, "revalidated")
    *_, row = archive.fetches(2)
    assert row[1:3] == (board.base_url + "/kernels", 304)
    assert row[5:9] == (tag, "application/json", digest(KERNELS), len(KERNELS))


def test_304_is_counted(board, archive):
    fetch_from(board, archive)

    async def work(client: Client) -> int:
        await client(board.base_url + "/kernels")
        return client.traffic.not_modified

    assert run(archive, work, base_url=board.base_url) == 1


def test_304_without_tag_or_type_keeps_those_that_were_there(board, archive):
    board.answer = lambda path, n: Reply(200, JSON | {"ETag": '"1"'}, KERNELS) if n == 1 else Reply(304)
    captures = [fetch_from(board, archive) for _ in range(3)]
    assert conditions(board) == [(None, None), ('"1"', None), ('"1"', None)]
    assert [(capture.body, capture.media_type) for capture in captures] == [(KERNELS, "application/json")] * 3


def test_a_date_is_revalidated_as_a_date(board, archive):
    date = "Mon, 02 Nov 2026 11:00:00 GMT"
    board.answer = lambda path, n: Reply(200, JSON | {"Last-Modified": date}, KERNELS) if n == 1 else Reply(304)
    fetch_from(board, archive)
    assert fetch_from(board, archive).body == KERNELS
    assert conditions(board) == [(None, None), (None, date)]


def test_an_answer_without_tag_or_date_is_asked_for_anew(board, archive):
    board.answer = lambda path, n: Reply(200, JSON, KERNELS)
    fetch_from(board, archive)
    fetch_from(board, archive)
    assert conditions(board) == [(None, None)] * 2


def test_a_changed_answer_replaces_the_stored_one(board, archive):
    fetch_from(board, archive)
    changed = board.bodies["/kernels"] = b'{"data":{"kernels":[]}}'
    assert fetch_from(board, archive).body == changed
    assert fetch_from(board, archive).body == changed
    assert [request.status for request in board.requests if request.path != "/robots.txt"] == [200, 200, 304]
    assert archive.body(digest(KERNELS)) == KERNELS  # and both are kept


def test_304_to_a_question_without_condition_is_no_answer(board, archive):
    board.answer = lambda path, n: Reply(304, {"ETag": '"1"'})
    assert "304" in refusal(board, archive)


def test_a_full_sync_sends_no_conditions(board, archive):
    fetch_from(board, archive)
    assert fetch_from(board, archive, revalidate=False).body == KERNELS
    assert conditions(board) == [(None, None)] * 2


def test_a_refusal_does_not_forget_the_tag(board, archive):
    tag = f'W/"{hashlib.sha256(KERNELS).hexdigest()[:32]}"'
    board.answer = lambda path, n: Reply(404) if n == 2 else None
    fetch_from(board, archive)
    refusal(board, archive)
    assert fetch_from(board, archive).body == KERNELS
    assert conditions(board) == [(None, None), (tag, None), (tag, None)]


def test_a_tag_may_hold_any_byte_that_a_tag_may_hold(board, archive):
    """RFC 9110 §8.8.3: etagc may be obs-text, %x80-FF. A request must come of it, conditional or not."""
    board.answer = lambda path, n: Reply(200, JSON | {"ETag": '"\xe9"'}, KERNELS)
    fetch_from(board, archive)
    assert fetch_from(board, archive).body == KERNELS


# -- once only


def test_an_answer_is_asked_for_once_in_a_sync(board, archive):
    async def work(client: Client) -> list[Capture]:
        return [await client(board.base_url + "/kernels") for _ in range(3)]

    captures = run(archive, work, base_url=board.base_url)
    assert asked(board) == ["/kernels"]
    assert {capture.body for capture in captures} == {KERNELS}


def test_an_answer_is_asked_for_once_also_by_two_at_a_time(board, archive):
    async def work(client: Client) -> list[Capture]:
        return await asyncio.gather(*(client(board.base_url + "/kernels") for _ in range(3)))

    captures = run(archive, work, base_url=board.base_url)
    assert {capture.body for capture in captures} == {KERNELS}
    assert asked(board) == ["/kernels"]


def test_again_asks_anew(board, archive):
    async def work(client: Client) -> bytes:
        await client(board.base_url + "/kernels")
        board.bodies["/kernels"] = b'{"data":1}'
        return (await client(board.base_url + "/kernels", again=True)).body

    assert run(archive, work, base_url=board.base_url) == b'{"data":1}'
    assert asked(board) == ["/kernels"] * 2


def test_a_resumed_sync_takes_what_it_holds(board, archive):
    sync = archive.open_sync("test", "x", Scope(), "normal", NOW, "test")

    async def work(*, resumed: bool, paths: list[str]) -> list[bytes]:
        options = {"user_agent": AGENT, "base_url": board.base_url, "limits": QUICK, "resumed": resumed}
        async with Client(POLICY, archive, sync.sync_id, **options) as client:
            return [(await client(board.base_url + path)).body for path in paths]

    asyncio.run(work(resumed=False, paths=["/kernels", "/kernels/1"]))
    board.requests.clear()
    bodies = asyncio.run(work(resumed=True, paths=["/kernels", "/kernels/1", "/kernels/2"]))
    assert asked(board) == ["/kernels/2"]
    assert bodies == [(SAMPLE / name).read_bytes() for name in ("kernels.json", "kernels/1.json", "kernels/2.json")]


# -- who is asking, and what is not told


def test_no_cookie_goes_back(board, archive):
    cookie = {"Set-Cookie": "session=1; Path=/"}
    board.robots = Reply(200, cookie, b"")
    board.answer = lambda path, n: (
        Reply(302, cookie | {"Location": f"{API}/kernels"}) if n == 1 else Reply(200, JSON | cookie, KERNELS)
    )

    async def work(client: Client) -> None:
        for path in ("/old", "/kernels/1", "/kernels/2"):
            await client(board.base_url + path)

    run(archive, work, base_url=board.base_url)
    assert len(asked(board)) == 4
    assert not any("cookie" in request.headers for request in board.requests)


def test_nothing_is_taken_from_the_environment(board, archive, canary, monkeypatch, tmp_path):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        for spelled in (name, name.upper()):
            monkeypatch.setenv(spelled, f"http://127.0.0.1:{port_of(canary)}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))

    assert fetch_from(board, archive).body == KERNELS
    assert not was_contacted(canary)
    assert not any("authorization" in request.headers for request in board.requests)


def test_every_request_says_who_is_asking(board, archive):
    board.answer = first_then_usual(Reply(302, {"Location": f"{API}/kernels"}))
    fetch_from(board, archive, "/old")
    assert [request.headers["user-agent"] for request in board.requests] == [AGENT] * 3


@pytest.mark.parametrize(
    ("contact", "expected"),
    [
        ("", f"kix/{version('kix')}"),
        ("ops@example.org", f"kix/{version('kix')} (+ops@example.org)"),
        ("ops@example.org\r\nX-Evil: 1", f"kix/{version('kix')} (+ops@example.orgX-Evil: 1)"),
    ],
)
def test_the_agent_is_the_program_its_version_and_the_contact(tmp_path, contact, expected):
    assert user_agent(Settings(home=tmp_path, contact=contact)) == expected
