"""A server on loopback that plays a folder of recorded answers as the leaderboard's API.

The folder holds `kernels.json`, `kernels/<id>.json` and `submissions/<id>.json`, as the bundled sample does. Items are
sent as the file spells them, byte for byte: a client is tested on `1.10`, not on what this server makes of it.
"""

import contextlib
import functools
import gzip
import hashlib
import itertools
import json
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

API = "/benchmarks/sol-execbench/api"
compact = functools.partial(json.dumps, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Request:
    """A request that was answered; header names are in lower case."""

    path: str
    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Reply:
    """An answer, sent as it is: neither compressed nor revalidated.

    `pause_s` is waited before each piece of the body, of `chunk` bytes (None: all of it). `truncate` announces the
    whole body, sends half and hangs up. A body that is an iterable of pieces may be endless: it has no Content-Length.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Iterable[bytes] = b""
    pause_s: float = 0
    chunk: int | None = None
    truncate: bool = False

    def pieces(self) -> Iterable[bytes]:
        if not isinstance(self.body, bytes):
            return self.body
        sent = self.body[: len(self.body) // 2] if self.truncate else self.body
        size = self.chunk or len(sent) or 1
        return (sent[start : start + size] for start in range(0, len(sent), size))


class BoardServer(contextlib.AbstractContextManager["BoardServer"]):
    """The API over `folder`, at `base_url`, until `close()` or the end of its `with` block; `requests` is what it did.

    Tests may set, at any time: `max_limit`; `robots` (text, or a Reply); `bodies` (path below the API → the JSON sent
    for it); `answer`, called as answer(path with query, n) for the n-th request other than for robots.txt: its Reply is
    sent in place of the usual one, None leaves that.
    """

    def __init__(self, folder: Path, *, max_limit: int = 50) -> None:
        self.max_limit = max_limit
        self.robots: str | Reply = "User-agent: *\nDisallow:\n"
        self.answer: Callable[[str, int], Reply | None] | None = None
        self.bodies = {f"/kernels/{file.stem}": file.read_bytes() for file in folder.glob("kernels/*.json")}
        self.bodies["/kernels"] = (folder / "kernels.json").read_bytes()
        self.requests: list[Request] = []
        files = sorted(folder.glob("submissions/*.json"), key=lambda file: int(file.stem))
        self._listings = {int(file.stem): _item_texts(file.read_text(encoding="utf-8")) for file in files}
        self._numbers = itertools.count(1)
        self._server = _Server(self)
        self.base_url = f"http://127.0.0.1:{self._server.server_port}{API}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening, and end every answer that is still under way."""
        self._server.shutdown()
        self._thread.join()
        self._server.closing.set()
        for connection, thread in list(self._server.connections.items()):
            with contextlib.suppress(OSError):  # the client was faster
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(5)
        self._server.server_close()

    def edit(self, kernel_id: int, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
        """Later answers list what `change` makes of a kernel's items; an item it leaves alone keeps its own text.

        The kernel's `submission_count` in `/kernels` follows.
        """
        texts = self._listings[kernel_id]
        spelled = {compact(json.loads(text)): text for text in texts}
        items = [compact(item) for item in change([json.loads(text) for text in texts])]
        self._listings[kernel_id] = [spelled.get(item, item) for item in items]
        index = json.loads(self.bodies["/kernels"])
        for kernel in index["data"]["kernels"]:
            if kernel["id"] == kernel_id and len(items) != len(texts):
                kernel["submission_count"] = len(items)
                self.bodies["/kernels"] = compact(index).encode()

    def reply_to(self, path: str, headers: Mapping[str, str]) -> Reply:
        """What a request is answered; it is added to `requests`."""
        if urlsplit(path).path == "/robots.txt":
            plain = {"Content-Type": "text/plain; charset=utf-8"}
            reply = Reply(200, plain, self.robots.encode()) if isinstance(self.robots, str) else self.robots
        else:
            n = next(self._numbers)
            reply = (self.answer and self.answer(path, n)) or self._usual_reply(path, headers)
        self.requests.append(Request(path, reply.status, headers))
        return reply

    def _usual_reply(self, path: str, headers: Mapping[str, str]) -> Reply:
        url = urlsplit(path)
        below = url.path.removeprefix(API)
        if url.path == API + "/submissions":
            body = self._page(dict(parse_qsl(url.query)))
        elif url.path != below and below in self.bodies:
            body = self.bodies[below]
        else:
            return Reply(404, {"Content-Type": "application/json"}, b'{"detail":"Not Found"}')
        tag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
        sent = {"Content-Type": "application/json", "ETag": tag, "Vary": "Accept-Encoding"}
        if tag in headers.get("if-none-match", ""):
            return Reply(304, sent)
        if "gzip" in headers.get("accept-encoding", ""):
            return Reply(200, sent | {"Content-Encoding": "gzip"}, gzip.compress(body, mtime=0))
        return Reply(200, sent, body)

    def _page(self, query: Mapping[str, str]) -> bytes:
        offset, limit = int(query.get("offset", 0)), min(int(query.get("limit", 20)), self.max_limit)
        texts = [text for listing in self._listings.values() for text in listing]
        for name in query.keys() - {"offset", "limit"}:  # any other parameter is a filter
            texts = [text for text in texts if str(json.loads(text).get(name)) == query[name]]
        page = ",".join(texts[offset : offset + limit])
        return f'{{"data":{{"submissions":[{page}],"total":{len(texts)},"offset":{offset},"limit":{limit}}}}}'.encode()


def _item_texts(text: str) -> list[str]:
    """The items of a JSON list of objects, as the list spells them."""
    decoder, texts, end = json.JSONDecoder(), [], 0
    while (start := text.find("{", end)) >= 0:
        _, end = decoder.raw_decode(text, start)
        texts.append(text[start:end])
    return texts


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes

    def do_GET(self) -> None:
        reply = self.server.board.reply_to(self.path, {name.lower(): value for name, value in self.headers.items()})
        whole = isinstance(reply.body, bytes) and not reply.truncate
        head = {} if whole else {"Connection": "close"}
        if isinstance(reply.body, bytes) and reply.status != 304:
            head["Content-Length"] = str(len(reply.body))
        self.send_response(reply.status)
        for name, value in (head | dict(reply.headers)).items():
            self.send_header(name, value)
        self.end_headers()
        for piece in reply.pieces():
            if self.server.closing.wait(reply.pause_s):
                break
            self.wfile.write(piece)

    def log_message(self, *args: object) -> None: ...


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, board: BoardServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.board = board
        self.closing = threading.Event()
        self.connections: dict[Any, threading.Thread] = {}

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        self.connections[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.connections.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a client that went away is no news
            super().handle_error(request, client_address)
