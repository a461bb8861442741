"""What fuzzing begins with: sound inputs of each target, so that not all time goes into finding their outline."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import zstandard
from run_page import manifest_text, run_page

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "scrapers" / "sol_execbench" / "sample"
_DETAIL = (SAMPLE / "kernels" / "1.json").read_bytes()
_ITEMS = json.loads((SAMPLE / "submissions" / "1.json").read_text(encoding="utf-8"))
_BODY = zstandard.compress(b'{"data": {}}')
_VALUES = [
    b"null",
    b"-1",
    b'"text"',
    b"1e400",
    b"[1, {}]",
    b'{"a": null}',
    b"0.0123",
    b"true",
    b'"1.5"',
    b"12345678901234567890",
]

SEEDS: dict[str, list[bytes]] = {
    "board": [_DETAIL + b"\x00" + json.dumps({"data": {"submissions": _ITEMS[:3], "total": 3}}).encode()],
    "submission": [json.dumps(one).encode() for one in _ITEMS[:6]],
    "submission_field": [bytes([place]) + value for place, value in enumerate(_VALUES * 2)],
    "kernel_field": [bytes([place * 7]) + value for place, value in enumerate(_VALUES * 2)],
    "kernel": [json.dumps(json.loads(_DETAIL)["data"]).encode()],
    "run_page": [run_page("3483").encode(), b"<!doctype html><html><body><a href='/runs/a'>x</a></body></html>"],
    "axis": [b"a * (hidden_size // 2) - b % 7", b"((a+1))", b"9223372036854775807+1"],
    "number": [b"0.018580", b"1.2e-05", b"0.008 ms", b"12 \xc2\xb5s", b"2026-05-21T22:05:09.698Z", b"-0", b"1e400"],
    "manifest": [json.dumps(one).encode() for one in json.loads(manifest_text("3483")).values()],
    "record": [manifest_text("3483").encode()],
    "robots": [b"User-agent: *\nDisallow: /api\nCrawl-delay: 1.5\nAllow: /api/*$\nRequest-rate: 1/5s 1230-1500\n"],
    "retry_after": [b"120", b"Wed, 21 Oct 2026 07:28:00 GMT", b"Wed, 21 Oct 2026 07:28:00 +2359", b"1" * 400],
    "gzip_body": [gzip.compress(b"a" * 5000), gzip.compress(b"") + b"x"],
    "stored_body": [len(b'{"data": {}}').to_bytes(4, "little") + _BODY],
    "name": ["µ \u202e\x1b[31m\u200b/../CON".encode(), b"sol_execbench_leaderboard", b"/var/lib/x y/z"],
}
