-- Who has another name since, and which run each new state is tied to.
INSERT INTO submission_renames
SELECT getvariable('source'), external_id, username, getvariable('sync_id')
FROM staged_states
WHERE NOT is_new AND known_as <> username;

INSERT INTO submission_runs
SELECT getvariable('source'), external_id, version, run_digest, getvariable('sync_id') FROM new_ties;
