-- States that opened a version, in the order of listings.
INSERT INTO submission_versions
SELECT getvariable('source'), s.external_id, t.version, s.kernel, s.username, s.status, s.is_correct,
    s.is_disqualified, s.disqualification_reason, s.latency_ms, s.sol_score, s.gpu_type, s.stack_version,
    s.submitted_at, s.finished_at, s.payload, s.state_digest, s.body_digest, getvariable('sync_id')
FROM stage_submissions s JOIN staged_states t USING (place)
WHERE t.is_new
ORDER BY s.kernel, s.external_id;
