-- Standings and record events are those that runs and lifecycle give; who holds a record ranks first.
WITH ranked AS MATERIALIZED (FROM leaderboard_as_of(9223372036854775807)), misplaced AS (
    (FROM standings EXCEPT ALL FROM ranked) UNION ALL (FROM ranked EXCEPT ALL FROM standings)
), anew AS MATERIALIZED (FROM record_events_of(NULL)), differing AS (
    (FROM record_events EXCEPT ALL FROM anew) UNION ALL (FROM anew EXCEPT ALL FROM record_events)
)
SELECT 'record event that does not follow' AS subject, concat(comparison_key, ' event ', number) AS detail FROM differing
UNION ALL SELECT 'standing that does not follow', run_digest FROM misplaced
UNION ALL SELECT 'leader that is not eligible', e.run_digest
FROM (FROM record_events QUALIFY row_number() OVER (PARTITION BY comparison_key ORDER BY number DESC) = 1) e
JOIN eligibility USING (run_digest)
UNION ALL SELECT 'cohort with ranked runs and no record', comparison_key
FROM (SELECT DISTINCT comparison_key FROM leaderboard) ANTI JOIN records USING (comparison_key);
