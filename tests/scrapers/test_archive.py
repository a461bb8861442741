"""The archive on a real file. Bodies are compared with hashlib and zstandard, rows are read with sqlite3 alone."""

import asyncio
import contextlib
import hashlib
import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import astuple
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import zstandard
from conftest import TESTS
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapers.archive import Archive, FetchRecord, Offline, SyncRecord
from scrapers.contract import Entry, Index, Part, Reading, Scope
from scrapers.errors import ArchiveDamaged, GiveUp, SyncFailed

NOW = datetime(2026, 11, 2, 12, 0, 0, 123456, tzinfo=UTC)
URL = "https://example.org/api/kernels"
TEXT = b'{"data":{"kernels":[' + b'{"id":1,"name":"sample"},' * 400 + b"]}}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive.sqlite"


@pytest.fixture
def archive(path: Path) -> Iterator[Archive]:
    with Archive(path) as archive:
        yield archive


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    """One archive for many examples."""
    with Archive(tmp_path_factory.mktemp("lasting") / "archive.sqlite") as archive:
        yield archive


def digest(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()


def rows(path: Path, query: str, *values: object) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(query, values).fetchall()


def change(path: Path, statement: str, *values: object) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")  # tests lose no power
        db.execute(statement, values)


def begin(archive: Archive, now: datetime = NOW, **changes) -> SyncRecord:
    asked = {"source": "a", "base_url": "https://a.example", "scope": Scope(), "mode": "normal", "version": "1.0"}
    return archive.open_sync(**{**asked, "now": now, **changes})


def note(archive: Archive, sync_id: int, body: bytes, url: str = URL, **changes) -> str:
    stored = archive.store(body)
    fields = {"status": 200, "fetched_at": NOW, "via": "network", "media_type": "application/json", **changes}
    archive.record(sync_id, FetchRecord(url, body_digest=stored, size_bytes=len(body), **fields))
    return stored


# -- bodies


@settings(deadline=None)
@given(body=st.binary(max_size=5000))
def test_a_body_comes_back_as_it_was(lasting, body):
    stored = lasting.store(body)
    assert stored == digest(body)
    assert lasting.holds(stored)
    assert lasting.body(stored) == body


@pytest.mark.parametrize("body", [b"", b"\0", TEXT, random.Random(3).randbytes(1 << 20), bytes(5 << 20)], ids=len)
def test_a_body_is_there_after_reopening(path, body):
    with Archive(path) as archive:
        archive.store(body)
    with Archive(path) as archive:
        assert archive.body(digest(body)) == body


def test_a_body_is_one_zstandard_frame_under_its_digest(path, archive):
    archive.store(TEXT)
    ((name, size, blob),) = rows(path, "SELECT body_digest, size_bytes, zstd FROM bodies")
    assert (name, size) == (digest(TEXT), len(TEXT))
    assert len(blob) < len(TEXT) / 10
    assert zstandard.ZstdDecompressor().decompress(blob) == TEXT


def test_a_body_that_is_there_is_not_kept_twice(path, archive):
    assert archive.store(TEXT) == archive.store(TEXT) == digest(TEXT)
    assert rows(path, "SELECT count(*) FROM bodies") == [(1,)]


def test_a_missing_body_is_damage(archive):
    absent = digest(b"absent")
    assert not archive.holds(absent)
    with pytest.raises(ArchiveDamaged, match=absent):
        archive.body(absent)


SIZES = [b"", b"x", TEXT[:259], TEXT, random.Random(1).randbytes(300), random.Random(2).randbytes(70_000)]


@pytest.mark.parametrize("body", SIZES, ids=len)
def test_a_flipped_bit_at_the_start_of_a_stored_body_is_damage(path, archive, body):
    """The frame's header says how large the body is: it must not be believed."""
    stored = archive.store(body)
    ((blob,),) = rows(path, "SELECT zstd FROM bodies")
    for place in range(min(len(blob), 18)):
        for bit in range(8):
            spoilt = bytearray(blob)
            spoilt[place] ^= 1 << bit
            change(path, "UPDATE bodies SET zstd = ?", bytes(spoilt))
            assert damaged_or_the_same(archive, stored, body)


@settings(deadline=None)
@given(data=st.data())
def test_a_flipped_byte_anywhere_in_a_stored_body_is_damage(lasting, data):
    body = data.draw(st.binary(max_size=300) | st.sampled_from([TEXT]))
    stored = lasting.store(body)
    ((blob,),) = rows(lasting.path, "SELECT zstd FROM bodies WHERE body_digest = ?", stored)
    spoilt = bytearray(blob)
    spoilt[data.draw(st.integers(0, len(blob) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        change(lasting.path, "UPDATE bodies SET zstd = ? WHERE body_digest = ?", bytes(spoilt), stored)
        assert damaged_or_the_same(lasting, stored, body)
    finally:
        change(lasting.path, "UPDATE bodies SET zstd = ? WHERE body_digest = ?", blob, stored)


def damaged_or_the_same(archive: Archive, stored: str, body: bytes) -> bool:
    """A bit that means nothing to the decompressor may be flipped; other bytes may never come of it."""
    try:
        return archive.body(stored) == body
    except ArchiveDamaged as error:
        return stored in str(error)


@pytest.mark.parametrize("spoilt", [b"", b"\x28", TEXT, zstandard.compress(b"another"), zstandard.compress(TEXT)[:-1]])
def test_other_bytes_in_place_of_a_body_are_damage(path, archive, spoilt):
    stored = archive.store(TEXT)
    change(path, "UPDATE bodies SET zstd = ?", spoilt)
    with pytest.raises(ArchiveDamaged, match=stored):
        archive.body(stored)


@pytest.mark.parametrize("size", [2**50, 2**63 - 1])
def test_a_body_that_asks_for_more_memory_than_there_is_is_damage(path, archive, size):
    stored = archive.store(TEXT)
    # RFC 8878, 3.1.1: magic number, a descriptor for a size of eight bytes in a single segment, an empty last block.
    frame = b"\x28\xb5\x2f\xfd\xe0" + size.to_bytes(8, "little") + b"\x01\x00\x00"
    change(path, "UPDATE bodies SET size_bytes = ?, zstd = ?", size, frame)
    with pytest.raises(ArchiveDamaged, match=stored):
        archive.body(stored)


def test_a_damaged_answer_is_not_handed_out(path, archive):
    sync = begin(archive)
    stored = note(archive, sync.sync_id, TEXT)
    change(path, "DELETE FROM bodies")
    with pytest.raises(ArchiveDamaged, match=stored):
        archive.held(URL)


# -- what was acknowledged stays


WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from scrapers.archive import Archive, FetchRecord
from scrapers.contract import Entry, Index, Part, Reading, Scope

with Archive(Path(sys.argv[1])) as archive:
    now = datetime.now(UTC)
    sync = archive.open_sync("a", "https://a.example", Scope(), "normal", now, "1.0")
    for n in range(1_000_000):
        digest = archive.store(b"body %d " % n * 500)
        archive.record(sync.sync_id, FetchRecord(f"https://a.example/{n}", 200, now, "network", body_digest=digest))
        print(n, digest, flush=True)
"""


@pytest.mark.parametrize("acknowledged", [1, 57, 400])
def test_a_kill_loses_nothing_that_was_acknowledged(path, acknowledged):
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        lines = [writer.stdout.readline() for _ in range(acknowledged)]
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.read().splitlines()
    written = [line.split() for line in lines if line.count("sha256:") == 1 and len(line.split()[1]) == 71]
    assert len(written) >= acknowledged

    with Archive(path) as archive:
        kept = {url: body for _, url, _, _, _, _, _, body, _, _ in archive.fetches(1)}
        for n, stored in written:
            assert kept[f"https://a.example/{n}"] == stored
            assert archive.body(stored) == f"body {n} ".encode() * 500
        (sync,) = archive.syncs()
        assert (sync.status, sync.finished_at) == ("running", None)
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


def test_after_a_checkpoint_the_file_alone_is_whole(path, archive, tmp_path):
    stored = note(archive, begin(archive).sync_id, TEXT)
    archive.checkpoint()
    copy = tmp_path / "copy" / "archive.sqlite"
    copy.parent.mkdir()
    shutil.copy(path, copy)
    with Archive(copy) as copied:
        assert copied.body(stored) == TEXT
        assert copied.held(URL).body == TEXT


def test_readers_see_what_is_committed_while_it_is_written(path, archive):
    sync = begin(archive)
    with Archive(path, read_only=True) as early, Archive(path, read_only=True) as late:
        assert not early.holds(digest(TEXT))
        under_way = early.syncs()  # a reader that takes its time
        assert next(under_way).sync_id == sync.sync_id
        for n in range(50):
            note(archive, sync.sync_id, b"%d" % n, f"{URL}/{n}")
            assert late.body(digest(b"%d" % n)) == b"%d" % n
        assert len(late.fetches(sync.sync_id)) == 50
        assert list(under_way) == []
        assert early.held(f"{URL}/49").body == b"49"


def test_a_reader_writes_nothing(path, archive):
    archive.store(TEXT)
    with Archive(path, read_only=True) as reader, pytest.raises(SyncFailed, match="readonly"):
        reader.store(b"another")
    assert not archive.holds(digest(b"another"))


# -- files that are no archive of ours


def test_a_newer_schema_is_refused_in_clear_words(path):
    with Archive(path) as archive:
        archive.store(TEXT)
    change(path, "PRAGMA user_version = 99")
    for read_only in (False, True):
        with pytest.raises(SyncFailed, match="newer kix") as caught:
            Archive(path, read_only=read_only)
        assert "99" in str(caught.value)
        assert str(path) in str(caught.value)
    assert rows(path, "SELECT count(*) FROM bodies") == [(1,)]


@pytest.mark.parametrize(
    "content", [b"not a database\n", b"x" * 20_000, b"SQLite format 3\0" + b"\xff" * 5000], ids=len
)
def test_what_is_no_database_is_refused_and_left_alone(path, content):
    path.write_bytes(content)
    for read_only in (False, True):
        with pytest.raises(SyncFailed, match="archive") as caught:
            Archive(path, read_only=read_only)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_another_programs_database_is_refused_and_left_alone(path):
    change(path, "CREATE TABLE precious (x)")
    with pytest.raises(SyncFailed, match="archive"):
        Archive(path)
    assert rows(path, "SELECT name FROM sqlite_master") == [("precious",)]


def test_a_folder_is_refused(path):
    path.mkdir()
    with pytest.raises(SyncFailed, match="archive"):
        Archive(path)


def test_a_reader_does_not_make_a_missing_archive(path):
    with pytest.raises(SyncFailed, match="archive"):
        Archive(path, read_only=True)
    assert not path.exists()


def test_an_empty_file_holds_nothing_and_is_made_an_archive(path):
    path.touch()
    with pytest.raises(SyncFailed, match="archive"), Archive(path, read_only=True) as reader:
        list(reader.syncs())
    with Archive(path) as archive:
        assert archive.body(archive.store(TEXT)) == TEXT


@pytest.mark.parametrize("name", ["a b.sqlite", "a?b#c.sqlite", "100%25.sqlite", "архив.sqlite"])
def test_any_path_will_do(tmp_path, name):
    with Archive(tmp_path / name) as archive:
        archive.store(TEXT)
    assert (tmp_path / name).exists()
    with Archive(tmp_path / name, read_only=True) as archive:
        assert archive.body(digest(TEXT)) == TEXT


# -- syncs


SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize("later", [timedelta(0), SECOND, HOUR - SECOND])
def test_a_sync_that_was_interrupted_lately_is_resumed(path, later):
    with Archive(path) as archive:
        first = begin(archive)
    with Archive(path) as archive:
        again = begin(archive, NOW + later)
        assert (first.resumed, again.resumed) == (False, True)
        assert (again.sync_id, again.started_at) == (first.sync_id, NOW)
        assert len(list(archive.syncs())) == 1


def test_an_interruption_counts_from_when_it_happened(archive):
    """The issue: resumed when *interrupted* less than an hour ago. What a long sync held last was fetched just now."""
    first = begin(archive)
    note(archive, first.sync_id, TEXT, fetched_at=NOW + timedelta(minutes=85))
    assert begin(archive, NOW + timedelta(minutes=90)).sync_id == first.sync_id


@pytest.mark.parametrize(
    ("later", "changes"),
    [
        (HOUR + SECOND, {}),
        (timedelta(days=400), {}),
        (-SECOND, {}),  # the clock jumped
        (-timedelta(days=1), {}),
        (SECOND, {"base_url": "https://b.example"}),
        (SECOND, {"scope": Scope(kernels=("x",))}),
        (SECOND, {"scope": Scope(tag="L1")}),
        (SECOND, {"scope": Scope(limit=1)}),
        (SECOND, {"mode": "full"}),
        (SECOND, {"version": "1.1"}),
    ],
)
def test_any_other_sync_is_a_new_one(archive, later, changes):
    first = begin(archive)
    again = begin(archive, NOW + later, **changes)
    assert again.sync_id > first.sync_id
    assert not again.resumed
    assert [sync.status for sync in archive.syncs()] == ["interrupted", "running"]


def test_an_interrupted_sync_is_not_resumed_past_another(archive):
    begin(archive)
    begin(archive, NOW + SECOND, mode="full")
    third = begin(archive, NOW + 2 * SECOND)
    assert (third.sync_id, third.resumed) == (3, False)


@pytest.mark.parametrize("status", ["complete", "partial", "failed", "dry-run"])
def test_a_sync_that_ended_is_not_resumed(archive, status):
    first = begin(archive)
    archive.close_sync(first.sync_id, status, NOW + SECOND, {"über": [1]})
    assert begin(archive, NOW + 2 * SECOND).sync_id > first.sync_id


def test_sources_do_not_interrupt_each_other(archive):
    begin(archive, source="a")
    begin(archive, source="b")
    assert begin(archive, NOW + SECOND, source="a").resumed
    assert [(sync.source, sync.status) for sync in archive.syncs()] == [("a", "running"), ("b", "running")]
    assert [sync.source for sync in archive.syncs("b")] == ["b"]


def test_a_sync_that_another_source_overtook_is_not_resumed(archive):
    """What it brings would come later than its number says."""
    begin(archive, source="a")
    other = begin(archive, source="b")
    archive.close_sync(other.sync_id, "failed", NOW + SECOND, {})
    assert begin(archive, NOW + SECOND, source="a").resumed
    other = begin(archive, NOW + SECOND, source="b")
    archive.close_sync(other.sync_id, "complete", NOW + SECOND, {})
    again = begin(archive, NOW + 2 * SECOND, source="a")
    assert (again.sync_id, again.resumed) == (4, False)


def test_how_a_sync_ended_is_written_down(path, archive):
    sync = begin(archive)
    archive.close_sync(sync.sync_id, "partial", NOW + SECOND, {"rejects": ["Łukasz"]})
    ((status, finished, report),) = rows(path, "SELECT status, finished_at, report FROM syncs")
    assert status == "partial"
    assert datetime.fromisoformat(finished) == NOW + SECOND
    assert json.loads(report) == {"rejects": ["Łukasz"]}
    (read,) = archive.syncs()
    assert (read.started_at, read.finished_at, read.status) == (NOW, NOW + SECOND, "partial")


# -- fetches


def test_a_fetch_is_written_down_whole(path, archive):
    sync = begin(archive)
    note(archive, sync.sync_id, TEXT, etag='W/"1"', last_modified="Mon, 02 Nov 2026 11:00:00 GMT")
    archive.record(sync.sync_id, FetchRecord(URL, None, NOW, "network", error="broken transfer"))
    columns = "sync_id, url, status, fetched_at, via, etag, last_modified, media_type, body_digest, size_bytes, error"
    assert rows(path, f"SELECT {columns} FROM fetches ORDER BY fetch_id") == [
        (sync.sync_id, URL, 200, NOW.isoformat(), "network", 'W/"1"', "Mon, 02 Nov 2026 11:00:00 GMT",
         "application/json", digest(TEXT), len(TEXT), None),
        (sync.sync_id, URL, None, NOW.isoformat(), "network", None, None, None, None, None, "broken transfer"),
    ]  # fmt: skip


def test_the_newest_sound_answer_is_held(archive):
    first, second = begin(archive).sync_id, begin(archive, mode="full").sync_id
    note(archive, first, b"old")
    note(archive, second, b"new", fetched_at=NOW + SECOND)
    archive.record(second, FetchRecord(URL, 503, NOW + 2 * SECOND, "network", error="status 503"))
    archive.record(second, FetchRecord(URL, None, NOW + 3 * SECOND, "network", error="broken transfer"))

    newest = archive.held(URL)
    assert (newest.body, newest.body_digest, newest.via) == (b"new", digest(b"new"), "archive")
    assert (newest.url, newest.status, newest.media_type) == (URL, 200, "application/json")
    assert newest.fetched_at == NOW + SECOND
    assert archive.held(URL, first).body == b"old"
    assert archive.held(URL, 99) is None
    assert archive.held(URL + "/other") is None


def test_times_are_held_in_utc(archive):
    sync = begin(archive)
    note(archive, sync.sync_id, TEXT, fetched_at=NOW.astimezone(timezone(timedelta(hours=5, minutes=30))))
    held = archive.held(URL).fetched_at
    assert held == NOW
    assert held.utcoffset() == timedelta(0)


def test_an_answer_is_revalidated_with_its_own_tag(archive):
    sync = begin(archive).sync_id
    assert archive.validators(URL) is None
    note(archive, sync, b"none")
    assert archive.validators(URL) is None  # neither tag nor date
    note(archive, sync, b"old", etag='"1"')
    note(archive, sync, b"new", etag='"2"', last_modified="Mon, 02 Nov 2026 11:00:00 GMT")
    archive.record(sync, FetchRecord(URL, 404, NOW, "network", etag='"404"', error="status 404"))
    found = archive.validators(URL)
    assert (found.etag, found.last_modified) == ('"2"', "Mon, 02 Nov 2026 11:00:00 GMT")
    assert (found.media_type, found.body_digest) == ("application/json", digest(b"new"))


# -- without the network


def offline(archive: Archive, sync_id: int, url: str = URL, **options):
    return asyncio.run(Offline(archive, sync_id)(url, **options))


def test_offline_answers_from_the_archive(archive):
    first, second = begin(archive).sync_id, begin(archive, mode="offline").sync_id
    note(archive, first, b"old")
    note(archive, first, b"new")
    for again in (False, True):
        capture = offline(archive, second, again=again)
        assert (capture.body, capture.fetched_at, capture.via) == (b"new", NOW, "archive")
    noted = [
        (url, status, at, via, body, size) for _, url, status, at, via, _, _, body, size, _ in archive.fetches(second)
    ]
    assert set(noted) == {(URL, 200, NOW.isoformat(), "archive", digest(b"new"), 3)}


def test_offline_gives_up_what_was_never_fetched(archive):
    with pytest.raises(GiveUp, match="not in the archive"):
        offline(archive, begin(archive).sync_id)


def test_after_an_offline_sync_answers_are_still_revalidated(archive):
    first, second = begin(archive).sync_id, begin(archive, mode="offline").sync_id
    note(archive, first, TEXT, etag='"1"')
    offline(archive, second)
    found = archive.validators(URL)
    assert found is not None
    assert (found.etag, found.body_digest) == ('"1"', digest(TEXT))


# -- what a sync concluded


def reading(sync: int = 1) -> Reading:
    pages = tuple(digest(b"%d" % n) for n in range(40))
    part = Part("a_kernel", f"{URL}/{sync}", "7", digest(b"definition"), pages, complete=True, workloads=3, listed=9)
    return Reading(Scope(kernels=("a_kernel",)), Index((Entry("a_kernel", URL, "7", 9),), 1), (part,))


def test_a_reading_comes_back_as_it_was(path, archive):
    sync = begin(archive).sync_id
    archive.keep_reading(sync, reading(1))
    archive.keep_reading(sync, reading(2))  # resumed, it concluded anew
    assert archive.reading(sync) == reading(2)
    assert rows(path, "SELECT count(*) FROM readings") == [(1,)]


def test_a_flipped_bit_in_a_reading_is_damage_or_means_nothing(path, archive):
    """Its header says how large it is, and must not be believed."""
    sync = begin(archive).sync_id
    archive.keep_reading(sync, reading())
    ((packed,),) = rows(path, "SELECT zstd FROM readings")
    told = 0
    for place in (*range(12), len(packed) // 2, len(packed) - 1):
        for bit in range(8):
            spoilt = bytearray(packed)
            spoilt[place] ^= 1 << bit
            change(path, "UPDATE readings SET zstd = ?", bytes(spoilt))
            try:
                archive.reading(sync)
            except ArchiveDamaged as error:
                told += f"sync {sync}" in str(error)
    assert told > 50


@pytest.mark.parametrize("spoilt", [b"", b"\x28\xb5", TEXT, zstandard.compress(b"{}"), zstandard.compress(TEXT)[:-9]])
def test_what_is_no_reading_is_damage(path, archive, spoilt):
    sync = begin(archive).sync_id
    archive.keep_reading(sync, reading())
    change(path, "UPDATE readings SET zstd = ?", spoilt)
    with pytest.raises(ArchiveDamaged, match=f"sync {sync}"):
        archive.reading(sync)


def test_a_missing_reading_is_damage(archive):
    with pytest.raises(ArchiveDamaged, match="sync 7"):
        archive.reading(7)


@pytest.mark.parametrize("time", ["yesterday", "", "2026-13-01T00:00:00+00:00", 7, b"\0"])
def test_a_time_that_is_none_is_damage(path, archive, time):
    sync = begin(archive).sync_id
    note(archive, sync, TEXT)
    archive.add_verdict(digest(TEXT), "accept", "reason", "Ada", NOW)
    archive.add_note(digest(TEXT), "note", "text", "Ada", NOW)
    for table, column in (
        ("syncs", "started_at"),
        ("fetches", "fetched_at"),
        ("verdicts", "decided_at"),
        ("notes", "written_at"),
    ):
        change(path, f"UPDATE {table} SET {column} = ?", time)
    for read in (lambda: list(archive.syncs()), lambda: archive.held(URL), archive.verdicts, archive.notes):
        with pytest.raises(ArchiveDamaged, match="time"):
            read()


def test_bytes_that_are_no_text_are_damage(path, archive):
    sync = begin(archive).sync_id
    note(archive, sync, TEXT)
    change(path, "UPDATE fetches SET url = CAST(x'68ff' AS TEXT)")
    with pytest.raises(ArchiveDamaged, match="UTF-8"):
        archive.fetches(sync)


# -- what people said


def test_what_people_said_is_kept_in_order(archive):
    assert (archive.verdicts(), archive.notes()) == ([], [])
    archive.add_verdict("sha256:aa", "accept", "first\nline", "Ada", NOW)
    sync = begin(archive).sync_id
    archive.add_verdict("sha256:aa", "hold", "second", "Grace", NOW + SECOND)
    archive.add_note(
        "sha256:bb", "reproduction", "Łukasz: 1.17 ms", "Ada", NOW.astimezone(timezone(timedelta(hours=2)))
    )
    assert [astuple(one) for one in archive.verdicts()] == [
        (1, "sha256:aa", "accept", "first\nline", "Ada", NOW, 0),
        (2, "sha256:aa", "hold", "second", "Grace", NOW + SECOND, sync),
    ]
    assert [astuple(one) for one in archive.notes()] == [
        (1, "sha256:bb", "reproduction", "Łukasz: 1.17 ms", "Ada", NOW)
    ]


# -- an archive of an earlier schema

SCHEMA_1 = TESTS / "fixtures" / "archive-schema-1.sql"


@pytest.fixture
def earlier(path):
    """An archive as the first kix made it: one sync, two answers, and one that was interrupted."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(SCHEMA_1.read_text(encoding="utf-8"))
        body = ("INSERT INTO bodies VALUES (?, ?, ?)", (digest(TEXT), len(TEXT), zstandard.compress(TEXT)))
        db.execute(*body)
        sync = "INSERT INTO syncs VALUES (?, 'a', 'https://a.example', '{}', ?, ?, ?, '0.1.0', ?)"
        db.execute(sync, (4, NOW.isoformat(), (NOW + SECOND).isoformat(), "complete", "{}"))
        db.execute(sync, (9, NOW.isoformat(), None, "running", None))
        fetch = "INSERT INTO fetches VALUES (?, 4, ?, 200, ?, 'network', ?, NULL, 'application/json', ?, ?, NULL)"
        db.execute(fetch, (3, URL, NOW.isoformat(), '"1"', digest(TEXT), len(TEXT)))
        db.execute(fetch, (5, URL + "/2", NOW.isoformat(), None, digest(TEXT), len(TEXT)))
    return path


def everything(path):
    tables = ("bodies", "syncs", "fetches", "sqlite_sequence")
    return {table: rows(path, f"SELECT * FROM {table} ORDER BY 1") for table in tables}


def test_an_archive_of_the_first_schema_is_brought_up_to_date_and_loses_nothing(earlier):
    before = everything(earlier)
    with Archive(earlier, read_only=True) as archive:  # to read it changes nothing
        assert archive.body(digest(TEXT)) == TEXT
        assert [one.sync_id for one in archive.syncs()] == [4, 9]
    assert rows(earlier, "PRAGMA user_version") == [(1,)]
    with Archive(earlier) as archive:
        assert everything(earlier) == before
        assert rows(earlier, "PRAGMA user_version") == [(2,)]
        assert archive.held(URL).body == TEXT
        assert archive.validators(URL).etag == '"1"'
        assert (archive.verdicts(), archive.notes()) == ([], [])
        with pytest.raises(ArchiveDamaged, match="sync 4"):
            archive.reading(4)
        archive.add_verdict("sha256:aa", "accept", "reason", "Ada", NOW)
        archive.keep_reading(9, reading())
        assert begin(archive, NOW + 2 * HOUR).sync_id == 10
    with Archive(earlier) as archive:  # once more finds nothing to do
        assert archive.reading(9) == reading()
        assert [one.after_sync for one in archive.verdicts()] == [9]
        assert archive.damage() == []


def shape(path):
    """Tables, columns and indices, without the words beside them."""
    return {
        table: (rows(path, f"PRAGMA table_info({table})"), rows(path, f"PRAGMA index_list({table})"))
        for (table,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
    }


def test_an_archive_brought_up_to_date_is_shaped_as_a_new_one(earlier, tmp_path):
    for name in (earlier, tmp_path / "new.sqlite"):
        Archive(name).close()
    assert shape(earlier) == shape(tmp_path / "new.sqlite")
