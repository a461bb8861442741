-- What this sync listed. A listing that is unchanged refers to the lines of an earlier one.
INSERT INTO listings
SELECT getvariable('sync_id'), getvariable('source'), kernel, complete, body_digest, definition_digest, listed, clean,
    coalesce(entries_sync, getvariable('sync_id'))
FROM stage_listings
ORDER BY kernel;

INSERT INTO listing_entries
SELECT getvariable('sync_id'), getvariable('source'), s.kernel, s.external_id, s.version
FROM staged_states s
ORDER BY s.kernel, s.external_id;
