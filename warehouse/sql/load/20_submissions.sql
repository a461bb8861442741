-- States of submissions: a state that differs from the latest one opens a version.
CREATE OR REPLACE TEMP TABLE staged_states AS
WITH latest AS (
    SELECT external_id, max(version) AS version, arg_max(state_digest, version) AS state_digest,
        arg_max(username, version) AS username
    FROM submission_versions SEMI JOIN stage_submissions USING (external_id)
    WHERE source = getvariable('source')
    GROUP BY external_id
), renamed AS (
    SELECT external_id, arg_max(username, first_seen_sync) AS username, max(first_seen_sync) AS since
    FROM submission_renames SEMI JOIN stage_submissions USING (external_id)
    WHERE source = getvariable('source')
    GROUP BY external_id
), opened AS (
    SELECT external_id, max(first_seen_sync) AS since
    FROM submission_versions SEMI JOIN stage_submissions USING (external_id)
    WHERE source = getvariable('source')
    GROUP BY external_id
)
SELECT s.place, s.external_id, s.kernel, s.username, s.run_digest,
    l.state_digest IS DISTINCT FROM s.state_digest AS is_new,
    coalesce(l.version, 0) + CASE WHEN l.state_digest IS DISTINCT FROM s.state_digest THEN 1 ELSE 0 END AS version,
    CASE WHEN r.since > o.since THEN r.username ELSE l.username END AS known_as
FROM stage_submissions s
LEFT JOIN latest l USING (external_id)
LEFT JOIN renamed r USING (external_id)
LEFT JOIN opened o USING (external_id)
WHERE s.place IN (SELECT min(place) FROM stage_submissions GROUP BY external_id);

INSERT INTO submission_versions
SELECT getvariable('source'), s.external_id, t.version, s.kernel, s.username, s.status, s.is_correct,
    s.is_disqualified, s.disqualification_reason, s.latency_ms, s.sol_score, s.gpu_type, s.stack_version,
    s.submitted_at, s.finished_at, s.payload, s.state_digest, s.body_digest, getvariable('sync_id')
FROM stage_submissions s JOIN staged_states t USING (place)
WHERE t.is_new
ORDER BY s.kernel, s.external_id;

INSERT INTO submission_renames
SELECT getvariable('source'), external_id, username, getvariable('sync_id')
FROM staged_states
WHERE NOT is_new AND known_as <> username;

INSERT INTO submission_runs
SELECT getvariable('source'), t.external_id, t.version, t.run_digest, getvariable('sync_id')
FROM staged_states t
ANTI JOIN (SELECT external_id, version FROM submission_runs WHERE source = getvariable('source'))
    USING (external_id, version)
WHERE t.run_digest IS NOT NULL;
