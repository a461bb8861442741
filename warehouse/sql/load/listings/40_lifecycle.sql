-- What became of earlier runs, seen from the listings that changed. Events are added only where the latest event says
-- otherwise; absence counts only from a complete listing.
INSERT INTO lifecycle
WITH touched AS (
    SELECT kernel FROM listings
    WHERE sync_id = getvariable('sync_id') AND source = getvariable('source') AND entries_sync = sync_id
), earlier_runs AS (
    SELECT run_digest, external_id FROM runs
    WHERE source = getvariable('source') AND first_seen_sync < getvariable('sync_id')
        AND (kernel IN (SELECT kernel FROM touched) OR external_id IN (SELECT external_id FROM staged_states))
), versions AS (
    SELECT * FROM submission_versions SEMI JOIN earlier_runs USING (external_id) WHERE source = getvariable('source')
), now_is AS (
    SELECT v.* , l.run_digest
    FROM versions v
    LEFT JOIN submission_runs l
        ON l.source = v.source AND l.external_id = v.external_id AND l.version = v.version
    QUALIFY row_number() OVER (PARTITION BY v.external_id ORDER BY v.version DESC) = 1
), was AS (
    SELECT l.run_digest, v.*
    FROM submission_runs l JOIN versions v
        ON v.source = l.source AND v.external_id = l.external_id AND v.version = l.version
    QUALIFY row_number() OVER (PARTITION BY l.run_digest ORDER BY v.version DESC) = 1
), last_complete AS (
    SELECT kernel, max(sync_id) AS sync_id FROM listings SEMI JOIN touched USING (kernel)
    WHERE source = getvariable('source') AND complete
    GROUP BY kernel
), present AS (
    SELECT DISTINCT e.kernel, e.external_id
    FROM listings g
    LEFT JOIN last_complete c USING (kernel)
    JOIN listing_entries e ON e.source = g.source AND e.kernel = g.kernel AND e.sync_id = g.entries_sync
    WHERE g.source = getvariable('source') AND g.sync_id >= coalesce(c.sync_id, 0)
        AND g.kernel IN (SELECT kernel FROM touched)
), implied AS (
    SELECT r.run_digest,
        CASE
            WHEN n.run_digest = r.run_digest THEN if(p.external_id IS NULL, 'withdrawn', 'active')
            WHEN n.run_digest IS NOT NULL THEN 'superseded'
            WHEN n.is_disqualified THEN 'retracted'
            -- A result that only waits for its kernel's definition says nothing yet.
            WHEN n.status = 'COMPLETED' AND n.is_correct AND TRY_CAST(n.latency_ms AS DOUBLE) > 0 THEN NULL
            ELSE 'retracted'
        END AS state,
        CASE
            WHEN n.run_digest = r.run_digest THEN
                if(p.external_id IS NULL, 'gone from a complete listing', 'listed again as it was')
            WHEN n.run_digest IS NOT NULL THEN concat('changed upstream: ', concat_ws(', ',
                if(w.latency_ms IS DISTINCT FROM n.latency_ms,
                    format('latency_ms {} → {}', w.latency_ms, n.latency_ms), NULL),
                if(w.sol_score IS DISTINCT FROM n.sol_score,
                    format('sol_score {} → {}', w.sol_score, n.sol_score), NULL),
                if(w.stack_version IS DISTINCT FROM n.stack_version,
                    format('stack {} → {}', w.stack_version, n.stack_version), NULL),
                if(w.gpu_type <> n.gpu_type, format('GPU {} → {}', w.gpu_type, n.gpu_type), NULL),
                'see the payloads of its versions'))
            WHEN n.is_disqualified THEN coalesce(n.disqualification_reason, 'disqualified, no reason given')
            WHEN n.status = 'COMPLETED' AND n.is_correct AND n.latency_ms IS NOT NULL THEN
                format('changed upstream to what could not be used: latency_ms {}', n.latency_ms)
            ELSE format('the source now says status {}, correct {}', n.status, coalesce(n.is_correct::VARCHAR, 'unknown'))
        END AS reason,
        CASE WHEN n.run_digest <> r.run_digest THEN n.run_digest END AS by_run_digest
    FROM earlier_runs r
    JOIN now_is n USING (external_id)
    LEFT JOIN was w ON w.run_digest = r.run_digest
    LEFT JOIN present p ON p.external_id = r.external_id AND p.kernel = n.kernel
), known AS (
    SELECT run_digest, if(event = 'reinstated', 'active', event) AS state, by_run_digest
    FROM run_states SEMI JOIN earlier_runs USING (run_digest)
)
SELECT i.run_digest, if(i.state = 'active', 'reinstated', i.state), i.reason, getvariable('started_at'),
    getvariable('sync_id'), i.by_run_digest
FROM implied i
LEFT JOIN known k USING (run_digest)
WHERE i.state IS NOT NULL
    AND (coalesce(k.state, 'active') <> i.state OR k.by_run_digest IS DISTINCT FROM i.by_run_digest)
ORDER BY i.run_digest;
