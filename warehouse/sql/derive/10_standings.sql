-- The standings and record events of the cohorts in which something changed, anew. Keeps who led before, to tell what is
-- new.
CREATE OR REPLACE TEMP TABLE touched AS
SELECT DISTINCT comparison_key FROM runs
WHERE getvariable('touched_all') OR first_seen_sync = getvariable('touched_sync')
    OR run_digest IN (SELECT unnest(getvariable('touched_runs')))
    OR run_digest IN (SELECT run_digest FROM lifecycle WHERE sync_id = getvariable('touched_sync'))
    OR run_digest IN (SELECT subject FROM reviews WHERE first_seen_sync = getvariable('touched_sync'))
    OR (source, external_id) IN ( -- who may have another name now
        SELECT (source, external_id) FROM submission_versions
        WHERE first_seen_sync = getvariable('touched_sync') AND version > 1
        UNION ALL SELECT (source, external_id) FROM submission_renames
        WHERE first_seen_sync = getvariable('touched_sync')
    );

CREATE OR REPLACE TEMP TABLE led_before AS
SELECT comparison_key, run_digest, primary_value FROM record_events SEMI JOIN touched USING (comparison_key)
QUALIFY row_number() OVER (PARTITION BY comparison_key ORDER BY number DESC) = 1;

DELETE FROM record_events WHERE comparison_key IN (SELECT comparison_key FROM touched);

INSERT INTO record_events
FROM record_events_of((SELECT coalesce(list(comparison_key), []) FROM touched));

UPDATE ordered_rows
SET rows_ordered = rows_ordered - (SELECT count(*) FROM standings SEMI JOIN touched USING (comparison_key))
WHERE table_name = 'standings';

DELETE FROM standings WHERE comparison_key IN (SELECT comparison_key FROM touched);

INSERT INTO standings
FROM standings_of(9223372036854775807, (SELECT coalesce(list(comparison_key), []) FROM touched))
ORDER BY comparability_family, comparison_key, place;
