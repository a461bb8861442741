-- The archive: every body under its digest, every fetch, every sync. Rows are added; a sync's row alone is closed once.
CREATE TABLE bodies (
    body_digest TEXT PRIMARY KEY,      -- sha256: and 64 hex digits, of the bytes after decompression
    size_bytes  INTEGER NOT NULL,
    zstd        BLOB NOT NULL          -- the bytes, as one Zstandard frame
);

CREATE TABLE syncs (
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

CREATE TABLE fetches (
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

CREATE INDEX fetches_by_url ON fetches (url, fetch_id);
CREATE INDEX fetches_by_sync ON fetches (sync_id);

PRAGMA application_id = 0x6b697861; -- "kixa"
PRAGMA user_version = 1;
