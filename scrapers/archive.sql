-- The archive: every body under its digest, every fetch, every sync and what it concluded, and what people said. Rows are
-- added; a sync's row alone is closed once. The file also brings an archive of an earlier schema up to date.
CREATE TABLE IF NOT EXISTS bodies (
    body_digest TEXT PRIMARY KEY,      -- sha256: and 64 hex digits, of the bytes after decompression
    size_bytes  INTEGER NOT NULL,
    zstd        BLOB NOT NULL          -- the bytes, as one Zstandard frame
);

CREATE TABLE IF NOT EXISTS syncs (
    sync_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    source      TEXT NOT NULL,
    base_url    TEXT NOT NULL,
    scope       TEXT NOT NULL,         -- JSON: kernels, tag, limit, mode
    started_at  TEXT NOT NULL,         -- UTC, ISO 8601
    finished_at TEXT,                  -- null while it runs, or when it was interrupted
    status      TEXT NOT NULL,         -- running, complete, partial, failed, interrupted, dry-run
    kix_version TEXT NOT NULL,
    report      TEXT                   -- JSON, the report as it was printed
);

CREATE TABLE IF NOT EXISTS fetches (
    fetch_id      INTEGER PRIMARY KEY,
    sync_id       INTEGER NOT NULL REFERENCES syncs,
    url           TEXT NOT NULL,
    status        INTEGER,             -- null when no answer came
    fetched_at    TEXT NOT NULL,
    via           TEXT NOT NULL,       -- network, revalidated, archive
    etag          TEXT,
    last_modified TEXT,
    media_type    TEXT,
    body_digest   TEXT REFERENCES bodies,
    size_bytes    INTEGER,
    error         TEXT
);

CREATE TABLE IF NOT EXISTS readings (
    sync_id INTEGER PRIMARY KEY REFERENCES syncs,
    zstd    BLOB NOT NULL              -- JSON: which answers the sync made what of, as one Zstandard frame
);

CREATE TABLE IF NOT EXISTS verdicts (
    verdict_id INTEGER PRIMARY KEY,
    subject    TEXT NOT NULL,          -- digest of what was reviewed
    verdict    TEXT NOT NULL,          -- accept, hold
    reason     TEXT NOT NULL,
    by_name    TEXT NOT NULL,
    decided_at TEXT NOT NULL,          -- UTC, ISO 8601
    after_sync INTEGER NOT NULL        -- the latest sync at that time
);

CREATE TABLE IF NOT EXISTS notes (
    note_id    INTEGER PRIMARY KEY,
    run_digest TEXT NOT NULL,
    kind       TEXT NOT NULL,          -- note, reproduction
    note       TEXT NOT NULL,
    by_name    TEXT NOT NULL,
    written_at TEXT NOT NULL           -- UTC, ISO 8601
);

CREATE INDEX IF NOT EXISTS fetches_by_url ON fetches (url, fetch_id);
CREATE INDEX IF NOT EXISTS fetches_by_sync ON fetches (sync_id);

PRAGMA application_id = 0x6b697861; -- "kixa"
PRAGMA user_version = 2;
