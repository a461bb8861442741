import gzip
import http.client
import itertools
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from board_server import BoardServer, Reply

SAMPLE = Path(__file__).parents[1] / "scrapers" / "sol_execbench" / "sample"
KERNEL = 1  # a listing of more than one page
LISTING = f"/submissions?kernel_id={KERNEL}"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture
def board() -> Iterator[BoardServer]:
    with BoardServer(SAMPLE, max_limit=50) as board:
        yield board


def get(url: str, **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with OPENER.open(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code, answer.headers, answer.read()


def pages(board: BoardServer, limit: int) -> Iterator[bytes]:
    offset, total = 0, 1
    while offset < total:
        _, _, body = get(f"{board.base_url}{LISTING}&offset={offset}&limit={limit}")
        page = json.loads(body)["data"]
        assert page["offset"] == offset
        offset, total = offset + len(page["submissions"]), page["total"]
        yield body


@pytest.mark.parametrize(("limit", "expected"), [(20, 20), (50, 50), (500, 50)])
def test_pages_add_up_to_the_total_whatever_is_asked(board, limit, expected):
    read = [json.loads(body)["data"] for body in pages(board, limit)]
    listed = json.loads((SAMPLE / "submissions" / f"{KERNEL}.json").read_bytes())

    assert [page["limit"] for page in read] == [expected] * len(read)
    assert [item for page in read for item in page["submissions"]] == listed
    assert {page["total"] for page in read} == {len(listed)}


def test_without_a_limit_a_page_has_20_items(board):
    assert len(json.loads(get(board.base_url + LISTING)[2])["data"]["submissions"]) == 20


def test_items_are_sent_byte_for_byte(board):
    lines = (SAMPLE / "submissions" / f"{KERNEL}.json").read_bytes().splitlines()[1:-1]
    sent = b"".join(pages(board, 50))

    assert b'"latency_ms":1.7e-2' in sent
    assert all(line.removesuffix(b",") in sent for line in lines)


def test_definitions_and_index_are_sent_byte_for_byte(board):
    for path in ("/kernels", f"/kernels/{KERNEL}"):
        status, headers, body = get(board.base_url + path)
        assert (status, headers["Content-Type"], body) == (
            200,
            "application/json",
            (SAMPLE / f"{path[1:]}.json").read_bytes(),
        )


def test_a_filter_keeps_what_matches(board):
    page = json.loads(get(f"{board.base_url}/submissions?kernel_id=8&gpu_type=H200")[2])["data"]
    assert {(item["kernel_id"], item["gpu_type"]) for item in page["submissions"]} == {(8, "H200")}
    assert page["total"] == len(page["submissions"])


def test_an_unchanged_answer_is_304_and_has_no_body(board):
    url = board.base_url + LISTING
    tag = get(url)[1]["ETag"]
    assert get(url, If_None_Match=tag)[::2] == (304, b"")
    board.edit(KERNEL, lambda items: items[1:])
    assert get(url, If_None_Match=tag)[0] == 200


def test_gzip_is_sent_to_those_who_take_it(board):
    _, headers, body = get(board.base_url + "/kernels", Accept_Encoding="gzip")
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == (SAMPLE / "kernels.json").read_bytes()


def test_an_edit_changes_one_item_and_leaves_the_text_of_the_others(board):
    def disqualify_the_newest(items):
        return [items[0] | {"is_disqualified": True}, *items[1:]]

    before = get(f"{board.base_url}{LISTING}&limit=50")[2]
    board.edit(KERNEL, disqualify_the_newest)
    after = get(f"{board.base_url}{LISTING}&limit=50")[2]

    assert json.loads(after)["data"]["submissions"][0]["is_disqualified"] is True
    assert before.partition(b"},{")[2] == after.partition(b"},{")[2]


def test_an_edit_that_removes_items_is_counted_in_the_index(board):
    board.edit(KERNEL, lambda items: items[:7])
    kernels = json.loads(get(board.base_url + "/kernels")[2])["data"]["kernels"]
    assert [kernel["submission_count"] for kernel in kernels if kernel["id"] == KERNEL] == [7]


def test_requests_are_noted_and_robots_txt_is_not_counted(board):
    board.robots = "User-agent: *\nDisallow: /x\n"
    seen = []
    board.answer = lambda path, n: seen.append((n, path))
    root = board.base_url.removesuffix("/benchmarks/sol-execbench/api")

    assert get(root + "/robots.txt", User_Agent="tester")[2] == b"User-agent: *\nDisallow: /x\n"
    assert get(board.base_url + "/nothing")[0] == 404
    assert [(n, path.rpartition("/")[2]) for n, path in seen] == [(1, "nothing")]
    assert [(request.path, request.status) for request in board.requests] == [
        ("/robots.txt", 200),
        ("/benchmarks/sol-execbench/api/nothing", 404),
    ]
    assert board.requests[0].headers["user-agent"] == "tester"


def test_a_tests_own_answer_goes_before_the_usual_one(board):
    board.answer = lambda path, n: Reply(429, {"Retry-After": "3"}, b"slow down") if n == 1 else None
    status, headers, body = get(board.base_url + "/kernels")
    assert (status, headers["Retry-After"], body) == (429, "3", b"slow down")
    assert get(board.base_url + "/kernels")[0] == 200


def test_a_cut_body_is_shorter_than_announced(board):
    board.answer = lambda path, n: Reply(200, body=b"0123456789", truncate=True)
    with pytest.raises(http.client.IncompleteRead) as caught:
        get(board.base_url + "/kernels")
    assert (caught.value.partial, caught.value.expected) == (b"01234", 5)


def test_a_dripping_body_takes_its_time(board):
    board.answer = lambda path, n: Reply(200, body=b"0123456789", chunk=4, pause_s=0.05)
    started = time.monotonic()
    assert get(board.base_url + "/kernels")[2] == b"0123456789"
    assert time.monotonic() - started >= 0.15


def test_closing_ends_an_endless_body():
    board = BoardServer(SAMPLE)
    board.answer = lambda path, n: Reply(200, body=itertools.repeat(b" " * 1024), pause_s=0.01)
    with OPENER.open(board.base_url + "/kernels", timeout=10) as answer:
        assert answer.read(1024) == b" " * 1024
        board.close()
        assert len(answer.read()) < 1 << 20
    with pytest.raises(urllib.error.URLError):
        get(board.base_url + "/kernels")
