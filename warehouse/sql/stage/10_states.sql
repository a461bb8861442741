-- States of submissions as staged, each at its first place: a state that differs from the latest one opens a version.
CREATE OR REPLACE TABLE staging.staged_states AS
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
