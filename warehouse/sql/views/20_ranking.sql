-- Policy ranking-v1: who ranks, and in which order. Runs are ranked only inside a cohort.

CREATE OR REPLACE VIEW ineligible AS
SELECT run_digest, status_code AS reason FROM (
    SELECT run_digest, 'STATUS_' || upper(status) AS status_code FROM runs WHERE status <> 'passed'
)
UNION ALL SELECT run_digest, 'MISSING_PRIMARY_METRIC' FROM runs WHERE primary_value IS NULL
UNION ALL SELECT run_digest, if(event = 'superseded', 'SUPERSEDED', 'RETRACTED') FROM run_states
    WHERE event <> 'reinstated'
UNION ALL SELECT subject, reason FROM reviews WHERE reason = 'BELOW_SPEED_OF_LIGHT';
COMMENT ON VIEW ineligible IS 'Why runs do not rank under ranking-v1: one row for each run and reason. A run without a row ranks.';
COMMENT ON COLUMN ineligible.run_digest IS 'The run.';
COMMENT ON COLUMN ineligible.reason IS 'STATUS_…, MISSING_PRIMARY_METRIC, RETRACTED (also when withdrawn), SUPERSEDED or BELOW_SPEED_OF_LIGHT.';

CREATE OR REPLACE VIEW leaderboard AS
WITH eligible AS (
    SELECT comparability_family, comparison_key, run_digest, external_id, source, kernel, implementation_digest,
        protocol_digest, environment_digest, primary_value, primary_unit, observed_at, evidence
    FROM runs ANTI JOIN ineligible USING (run_digest)
), cohort AS (
    SELECT comparability_family, comparison_key, count(*) AS cohort_size, min(primary_value) AS best
    FROM eligible GROUP BY ALL
), names AS (
    SELECT source, external_id, arg_max(username, first_seen_sync) AS username FROM (
        SELECT source, external_id, username, first_seen_sync FROM submission_versions WHERE version > 1
        UNION ALL SELECT source, external_id, username, first_seen_sync FROM submission_renames
    ) GROUP BY ALL
)
SELECT e.comparability_family, e.comparison_key,
    dense_rank() OVER same_cohort AS rank,
    count(*) OVER (PARTITION BY e.comparability_family, e.comparison_key, e.primary_value) > 1 AS tied,
    c.cohort_size, e.run_digest, e.external_id, e.source, e.kernel,
    coalesce(n.username, i.project) AS project,
    v.product, p.stack_version, e.primary_value, e.primary_unit,
    e.primary_value / nullif(c.best, 0) AS relative_to_best,
    e.observed_at,
    row_number() OVER (PARTITION BY e.comparability_family, e.comparison_key ORDER BY e.primary_value,
        list_position(['replicated', 'verified', 'reproducible', 'reported'], e.evidence), e.observed_at DESC,
        TRY_CAST(e.external_id AS BIGINT), e.external_id) AS place,
    'ranking-v1' AS policy
FROM eligible e
JOIN cohort c USING (comparability_family, comparison_key)
JOIN implementations i USING (implementation_digest)
JOIN protocols p ON p.digest = protocol_digest
JOIN environments v ON v.digest = environment_digest
LEFT JOIN names n ON n.source = e.source AND n.external_id = e.external_id
WINDOW same_cohort AS (PARTITION BY e.comparability_family, e.comparison_key ORDER BY e.primary_value);
COMMENT ON VIEW leaderboard IS 'The ranked runs of every cohort under policy ranking-v1. Ranks and values mean something only within one comparison_key: never order across keys.';
COMMENT ON COLUMN leaderboard.comparability_family IS 'The partition.';
COMMENT ON COLUMN leaderboard.comparison_key IS 'The cohort.';
COMMENT ON COLUMN leaderboard.rank IS 'Dense rank by primary value, best first; equal values share it.';
COMMENT ON COLUMN leaderboard.tied IS 'Whether another run shares the rank.';
COMMENT ON COLUMN leaderboard.cohort_size IS 'Number of ranked runs in the cohort.';
COMMENT ON COLUMN leaderboard.run_digest IS 'The run.';
COMMENT ON COLUMN leaderboard.external_id IS 'The source''s bare id of the submission.';
COMMENT ON COLUMN leaderboard.source IS 'Slug of the source.';
COMMENT ON COLUMN leaderboard.kernel IS 'The source''s name of the kernel.';
COMMENT ON COLUMN leaderboard.project IS 'The submitter''s name, the latest known.';
COMMENT ON COLUMN leaderboard.product IS 'Hardware product.';
COMMENT ON COLUMN leaderboard.stack_version IS 'Version of the harness, text.';
COMMENT ON COLUMN leaderboard.primary_value IS 'The value that ranks, in primary_unit; lower is better.';
COMMENT ON COLUMN leaderboard.primary_unit IS 'Its unit, e.g. ns.';
COMMENT ON COLUMN leaderboard.relative_to_best IS 'primary_value over the cohort''s best: 1 for the leader, 2 for twice the time.';
COMMENT ON COLUMN leaderboard.observed_at IS 'When the source says it was measured, UTC.';
COMMENT ON COLUMN leaderboard.place IS 'Order of presentation, ties included: higher evidence, newer observation, id. Not a claim.';
COMMENT ON COLUMN leaderboard.policy IS 'The ranking policy and its version.';

CREATE OR REPLACE VIEW cohorts AS
SELECT r.comparability_family, r.comparison_key, any_value(r.kernel) AS kernel, any_value(o.slug) AS operation,
    any_value(w.external_id) AS workload, any_value(v.product) AS product, any_value(p.stack_version) AS stack_version,
    count(*) AS runs, min(r.observed_at) AS first_observed_at, max(r.observed_at) AS last_observed_at
FROM runs r
JOIN operations o USING (operation_digest)
JOIN workloads w USING (workload_digest)
JOIN protocols p ON p.digest = protocol_digest
JOIN environments v ON v.digest = environment_digest
GROUP BY r.comparability_family, r.comparison_key;
COMMENT ON VIEW cohorts IS 'The groups inside which runs are comparable: one operation, workload, protocol, environment and metric each.';
COMMENT ON COLUMN cohorts.comparability_family IS 'The partition.';
COMMENT ON COLUMN cohorts.comparison_key IS 'The cohort.';
COMMENT ON COLUMN cohorts.kernel IS 'The source''s name of the kernel.';
COMMENT ON COLUMN cohorts.operation IS 'Slug of the operation.';
COMMENT ON COLUMN cohorts.workload IS 'The source''s id of the workload.';
COMMENT ON COLUMN cohorts.product IS 'Hardware product.';
COMMENT ON COLUMN cohorts.stack_version IS 'Version of the harness, text.';
COMMENT ON COLUMN cohorts.runs IS 'Number of runs, ranked or not.';
COMMENT ON COLUMN cohorts.first_observed_at IS 'Earliest observation, UTC.';
COMMENT ON COLUMN cohorts.last_observed_at IS 'Latest observation, UTC.';

CREATE OR REPLACE VIEW families AS
SELECT r.comparability_family, r.source, p.notes, count(DISTINCT r.comparison_key) AS cohorts, count(*) AS runs,
    min(r.observed_at) AS first_observed_at, max(r.observed_at) AS last_observed_at
FROM runs r
LEFT JOIN (SELECT comparability_family, any_value(notes) AS notes FROM protocols GROUP BY ALL) p
    USING (comparability_family)
GROUP BY ALL;
COMMENT ON VIEW families IS 'The partitions of the warehouse: runs of different families are never compared. Each has a schema of its name.';
COMMENT ON COLUMN families.comparability_family IS 'The partition, and the name of its schema.';
COMMENT ON COLUMN families.source IS 'Slug of the source.';
COMMENT ON COLUMN families.notes IS 'What the protocol says about comparing its results.';
COMMENT ON COLUMN families.cohorts IS 'Number of cohorts.';
COMMENT ON COLUMN families.runs IS 'Number of runs, ranked or not.';
COMMENT ON COLUMN families.first_observed_at IS 'Earliest observation, UTC.';
COMMENT ON COLUMN families.last_observed_at IS 'Latest observation, UTC.';
