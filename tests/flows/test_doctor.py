"""`kix doctor`: a sound home is well; what is wrong is named with what to do about it, however broken the home is."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from told import in_archive, kix, prints, writing

from flows.doctor import examine
from flows.lock import holding
from warehouse.connection import published_path


def look(home: Path) -> dict[str, tuple[str, str]]:
    """State and words of the worst that is said of each thing."""
    code, out, words = kix("doctor", "--json", home=home)
    said = json.loads(out)
    found: dict[str, tuple[str, str]] = {}
    for one in said["findings"]:
        worse = ("ok", "warning", "broken").index(one["state"])
        if one["what"] not in found or worse > ("ok", "warning", "broken").index(found[one["what"]][0]):
            found[one["what"]] = (one["state"], f"{one['value']} → {one['remedy']}")
        assert one["remedy"] or one["state"] == "ok", one  # what is not well comes with what to do
    broken = any(state == "broken" for state, _ in found.values())
    assert (code, said["well"]) == ((1, False) if broken else (0, True)), words
    return found


def test_a_sound_home_is_well_and_is_left_as_it_is(sample_home: Path) -> None:
    before = prints(sample_home)
    found = look(sample_home)
    assert {what for what, (state, _) in found.items() if state != "ok"} == set()
    assert list(found) == [
        "home", "disk", "lock", "versions", "settings", "archive", "warehouse", "history", "clock", "prefect", "files",
    ]  # fmt: skip
    assert prints(sample_home) == before
    code, out, _ = kix("doctor", home=sample_home)
    assert (code, out.count("\n")) == (0, len(found))


def test_a_look_needs_neither_prefect_nor_polars(sample_home: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom flows.doctor import examine\n"
        "assert [one.state for one in examine(Path(sys.argv[1]))]\n"
        "print([name for name in ('prefect', 'polars', 'httpx', 'bs4') if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(sample_home)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def cut(path: Path, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))


def zero_a_page(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:8192] = bytes(4096)
    path.write_bytes(data)


def other_warehouse(home: Path, change: Callable[[Path], None]) -> None:
    path = published_path(home)
    path.chmod(0o644)
    change(path)


def newer(home: Path) -> None:
    with writing(home) as db:
        db.execute("INSERT INTO schema_migrations VALUES (9999, '9999_later', now())")


TROUBLE: dict[str, tuple[Callable[[Path], object], str, str, str]] = {
    "archive cut short": (lambda home: cut(home / "archive.sqlite", 0.5), "archive", "broken", "restore"),
    "archive with a page of zeros": (lambda home: zero_a_page(home / "archive.sqlite"), "archive", "broken", "restore"),
    "archive that is text": (lambda home: (home / "archive.sqlite").write_text("no"), "archive", "broken", "restore"),
    "archive gone": (lambda home: (home / "archive.sqlite").unlink(), "history", "broken", "restore archive.sqlite"),
    "archive empty": (lambda home: (home / "archive.sqlite").write_bytes(b""), "archive", "broken", "restore"),
    "archive of another history": (
        lambda home: in_archive(home, "UPDATE syncs SET sync_id = sync_id + 7"), "history", "broken", "lacks sync 1",
    ),
    "a body of other bytes": (
        lambda home: in_archive(home, "UPDATE bodies SET zstd = x'28b52ffd'"), "archive", "broken", "sha256:",
    ),
    "warehouse cut short": (
        lambda home: other_warehouse(home, lambda path: cut(path, 0.4)), "warehouse", "broken", "kix rebuild",
    ),
    "warehouse that is text": (
        lambda home: other_warehouse(home, lambda path: path.write_text("no")), "warehouse", "broken", "kix rebuild",
    ),
    "warehouse of a newer kix": (newer, "warehouse", "broken", "newer kix"),
    "warehouse gone": (lambda home: published_path(home).unlink(), "history", "warning", "kix rebuild"),
    "a clock that was ahead": (
        lambda home: in_archive(home, "UPDATE fetches SET fetched_at = '2199-01-01T00:00:00+00:00' WHERE fetch_id = 1"),
        "clock", "broken", "2199-01-01",
    ),
    "a misspelt setting in the file": (
        lambda home: (home / "kix.toml").write_text("surces = []"), "settings", "broken", "surces",
    ),
    "a file of somebody else": (lambda home: (home / "thesis.odt").touch(), "files", "warning", "thesis.odt"),
    "what a kill left": (
        lambda home: (home / "warehouse.working.duckdb").touch(), "files", "warning", "warehouse.working.duckdb",
    ),
    "no home": (shutil.rmtree, "home", "warning", "kix sync"),
}  # fmt: skip


@pytest.mark.parametrize("trouble", TROUBLE)
def test_trouble_is_named_with_its_remedy(trouble: str, short: Path) -> None:
    for path in short.glob("archive.sqlite-*"):
        path.unlink()
    do, what, state, words = TROUBLE[trouble]
    do(short)
    found = look(short)
    assert found[what][0] == state, found
    assert words in found[what][1]


def test_an_archive_of_another_schema_is_named(short: Path) -> None:
    for version, state, words in ((1, "warning", "backup"), (9, "broken", "newer kix")):
        with closing(sqlite3.connect(short / "archive.sqlite")) as db:
            db.execute(f"PRAGMA user_version = {version}")
        assert look(short)["archive"][0] == state
        assert words in look(short)["archive"][1]


def test_a_home_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    first, *_, last = examine(tmp_path / "home")
    assert (first.what, first.state, last.what) == ("home", "broken", "files")
    assert "--home" in first.remedy


def test_a_variable_that_is_no_setting_is_named(sample_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIX_CONTCT", "me@example.org")
    assert look(sample_home)["settings"] == (
        "warning",
        "KIX_CONTCT is no setting: it does nothing → is KIX_CONTACT meant?",
    )


def test_who_works_on_the_home_is_named(short: Path) -> None:
    with holding(short, "kix sync elsewhere", 1):
        state, words = look(short)["lock"]
    assert (state, "`kix sync elsewhere`" in words) == ("ok", True)


def test_a_full_disk_is_named(sample_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(sample_home)
    for free, state in ((1_000, "broken"), (100_000_000, "warning")):
        monkeypatch.setattr(shutil, "disk_usage", lambda _path, free=free: usage._replace(free=free))
        assert look(sample_home)["disk"][0] == state
        assert "make room" in look(sample_home)["disk"][1]


class _Health(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/api/health" else 404)
        self.end_headers()
        self.wfile.write(b"true")

    def log_message(self, *args: object) -> None: ...


def test_a_prefect_server_is_asked_for_its_health(sample_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with HTTPServer(("127.0.0.1", 0), _Health) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{server.server_port}/api")
        assert look(sample_home)["prefect"][0] == "ok"
        monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{server.server_port}")
        assert look(sample_home)["prefect"][0] == "broken"
        server.shutdown()
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{server.server_port}/api")
    state, words = look(sample_home)["prefect"]
    assert (state, "PREFECT_API_URL" in words) == ("broken", True)


def test_what_is_broken_has_the_code_of_its_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other_warehouse(home, lambda path: path.write_bytes(b"no database" * 1000))
    monkeypatch.setenv("KIX_ATTEMPTS", "many")
    _, out, _ = kix("doctor", "--json", home=home)
    codes = {one["what"]: one["code"] for one in json.loads(out)["findings"] if one["state"] == "broken"}
    assert (codes["warehouse"], codes["settings"]) == ("warehouse-unreadable", "setting")
    _, shown, _ = kix("doctor", home=home)
    (line,) = [line for line in shown.splitlines() if line.startswith("broken   settings")]
    assert line.endswith(" [setting]")
