-- The record events are those that runs and lifecycle give; each leads on from the one before; the last leader ranks first.
WITH anew AS MATERIALIZED (FROM record_events_of(NULL)), differing AS (
    (FROM record_events EXCEPT ALL FROM anew) UNION ALL (FROM anew EXCEPT ALL FROM record_events)
)
SELECT 'record event that does not follow' AS subject, concat(comparison_key, ' event ', number) AS detail FROM differing
UNION ALL SELECT 'record holder that does not rank first', r.run_digest
FROM records r LEFT JOIN leaderboard l USING (run_digest) WHERE l.rank IS DISTINCT FROM 1
UNION ALL SELECT 'cohort with ranked runs and no record', comparison_key
FROM (SELECT DISTINCT comparison_key FROM leaderboard) ANTI JOIN records USING (comparison_key);
