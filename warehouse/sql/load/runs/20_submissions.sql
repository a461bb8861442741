-- Which run each new state is tied to, and who has another name since.
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
