-- States that are tied to a run for the first time, and of those runs the ones that are not there yet.
CREATE OR REPLACE VIEW staging.new_ties AS
SELECT external_id, version, run_digest
FROM staged_states
ANTI JOIN (SELECT external_id, version FROM submission_runs WHERE source = getvariable('source'))
    USING (external_id, version)
WHERE run_digest IS NOT NULL;

CREATE OR REPLACE TABLE staging.new_runs AS
SELECT place, implementation_digest
FROM stage_runs SEMI JOIN new_ties USING (run_digest) ANTI JOIN runs USING (run_digest);
