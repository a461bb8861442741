-- What this sync listed. A listing that is unchanged refers to the lines of an earlier one. One whose lines could not all
-- be used is not complete: what stands on it unread is not gone.
INSERT INTO listings
WITH lines AS (SELECT kernel, count(*) AS lines FROM staged_states GROUP BY kernel)
SELECT getvariable('sync_id'), getvariable('source'), kernel,
    complete AND (entries_sync IS NOT NULL OR coalesce(lines, 0) = listed),
    body_digest, definition_digest, listed,
    clean AND (entries_sync IS NOT NULL OR coalesce(lines, 0) = listed),
    coalesce(entries_sync, getvariable('sync_id'))
FROM stage_listings LEFT JOIN lines USING (kernel)
ORDER BY kernel;

INSERT INTO listing_entries
SELECT getvariable('sync_id'), getvariable('source'), s.kernel, s.external_id, s.version
FROM staged_states s
ORDER BY s.kernel, s.external_id;
