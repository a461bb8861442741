-- Following who took whose place among the latest states ends, at a run that is no longer superseded.
WITH RECURSIVE follows AS (
    SELECT run_digest AS start, by_run_digest AS now, 1 AS steps FROM run_states WHERE event = 'superseded'
    UNION ALL
    SELECT f.start, s.by_run_digest, f.steps + 1
    FROM follows f JOIN run_states s ON s.run_digest = f.now AND s.event = 'superseded'
    WHERE f.steps < 1000 AND f.now <> f.start
)
SELECT 'superseded in a circle' AS subject, start AS detail FROM follows WHERE now = start
UNION ALL SELECT 'superseded by a run of another submission', s.run_digest
FROM run_states s JOIN runs r USING (run_digest) JOIN runs b ON b.run_digest = s.by_run_digest
WHERE s.event = 'superseded' AND (r.source, r.external_id) <> (b.source, b.external_id);
