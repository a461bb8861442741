-- The board from above: its cohorts, families and submitters, and how fresh it is.

CREATE OR REPLACE VIEW cohorts AS
WITH grouped AS (
    SELECT comparability_family, comparison_key, any_value(kernel) AS kernel, any_value(operation_digest) AS operation_digest,
        any_value(workload_digest) AS workload_digest, any_value(protocol_digest) AS protocol_digest,
        any_value(environment_digest) AS environment_digest, count(*) AS runs, min(observed_at) AS first_observed_at,
        max(observed_at) AS last_observed_at
    FROM runs GROUP BY comparability_family, comparison_key
), leads AS (
    SELECT comparison_key, primary_value, primary_unit FROM record_events
    QUALIFY row_number() OVER (PARTITION BY comparison_key ORDER BY number DESC) = 1
), floors AS (
    SELECT suite_digest AS workload_digest, min(speed_of_light_ns) AS floor_ns FROM workload_bounds GROUP BY ALL
    UNION ALL SELECT workload_digest, min(speed_of_light_ns) FROM workload_bounds
    WHERE workload_digest IS NOT NULL GROUP BY ALL
)
SELECT g.comparability_family, g.comparison_key, g.kernel, o.slug AS operation, w.external_id AS workload, v.product,
    p.stack_version, g.runs, g.first_observed_at, g.last_observed_at, l.primary_value AS best_value,
    l.primary_unit AS unit, f.floor_ns, if(l.primary_unit = 'ns', l.primary_value / nullif(f.floor_ns, 0), NULL) AS best_over_floor
FROM grouped g
JOIN operations o USING (operation_digest)
JOIN workloads w USING (workload_digest)
JOIN protocols p ON p.digest = g.protocol_digest
JOIN environments v ON v.digest = g.environment_digest
LEFT JOIN leads l USING (comparison_key)
LEFT JOIN floors f USING (workload_digest);
COMMENT ON VIEW cohorts IS 'The groups inside which runs are comparable: one operation, workload, protocol, environment and metric each. Not for ranking kernels by best_value: each is another task.';
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
COMMENT ON COLUMN cohorts.best_value IS 'The record, in unit; null when nobody leads.';
COMMENT ON COLUMN cohorts.unit IS 'Unit of best_value, e.g. ns.';
COMMENT ON COLUMN cohorts.floor_ns IS 'The least time that the source''s speed of light allows, nanoseconds. Of a suite it is that of its fastest case: a floor under the suite''s value, which may lie far above what the suite as a whole allows. Null where no bound is published.';
COMMENT ON COLUMN cohorts.best_over_floor IS 'best_value over floor_ns: how far above the floor, not a share of the speed of light. Null without a floor.';

CREATE OR REPLACE VIEW families AS
SELECT r.comparability_family, r.source, p.notes, count(DISTINCT r.comparison_key) AS cohorts, count(*) AS runs,
    min(r.observed_at) AS first_observed_at, max(r.observed_at) AS last_observed_at
FROM runs r
LEFT JOIN (SELECT comparability_family, any_value(notes) AS notes FROM protocols GROUP BY ALL) p
    USING (comparability_family)
GROUP BY ALL;
COMMENT ON VIEW families IS 'The partitions of the warehouse: runs of different families are never compared. Each has a schema of its name. Not for comparing families by their counts.';
COMMENT ON COLUMN families.comparability_family IS 'The partition, and the name of its schema.';
COMMENT ON COLUMN families.source IS 'Slug of the source.';
COMMENT ON COLUMN families.notes IS 'What the protocol says about comparing its results.';
COMMENT ON COLUMN families.cohorts IS 'Number of cohorts.';
COMMENT ON COLUMN families.runs IS 'Number of runs, ranked or not.';
COMMENT ON COLUMN families.first_observed_at IS 'Earliest observation, UTC.';
COMMENT ON COLUMN families.last_observed_at IS 'Latest observation, UTC.';

CREATE OR REPLACE VIEW submitters AS
WITH held AS (
    SELECT comparability_family, source, project, count(*) AS records_held FROM records GROUP BY ALL
)
SELECT l.comparability_family, l.source, l.project, any_value(coalesce(h.records_held, 0)) AS records_held,
    count(DISTINCT l.comparison_key) AS boards_entered, count(*) AS ranked_runs,
    count(*) FILTER (l.rank = 1) AS first_ranks, min(l.relative_to_best) AS best_relative,
    median(l.relative_to_best) AS median_relative, min(l.observed_at) AS first_observed_at,
    max(l.observed_at) AS last_observed_at
FROM leaderboard l LEFT JOIN held h USING (comparability_family, source, project)
GROUP BY l.comparability_family, l.source, l.project;
COMMENT ON VIEW submitters IS 'Who submits to a family''s boards, by the latest known name: two people of one name are one row. Counts of boards, not a ranking of people: boards differ in size and age.';
COMMENT ON COLUMN submitters.comparability_family IS 'The partition.';
COMMENT ON COLUMN submitters.source IS 'Slug of the source.';
COMMENT ON COLUMN submitters.project IS 'The submitter''s name, the latest known.';
COMMENT ON COLUMN submitters.records_held IS 'Cohorts that they lead (of equal values the earliest leads).';
COMMENT ON COLUMN submitters.boards_entered IS 'Cohorts with a ranked run of theirs.';
COMMENT ON COLUMN submitters.ranked_runs IS 'Their ranked runs.';
COMMENT ON COLUMN submitters.first_ranks IS 'Their runs of rank 1, ties included.';
COMMENT ON COLUMN submitters.best_relative IS 'Their best value over its cohort''s best: 1 where they lead.';
COMMENT ON COLUMN submitters.median_relative IS 'Median over their ranked runs of the value over its cohort''s best.';
COMMENT ON COLUMN submitters.first_observed_at IS 'Their earliest ranked observation, UTC.';
COMMENT ON COLUMN submitters.last_observed_at IS 'Their latest ranked observation, UTC.';

CREATE OR REPLACE VIEW freshness AS
SELECT l.source, l.kernel, arg_max(l.listed, l.sync_id) AS listed, arg_max(l.complete, l.sync_id) AS complete,
    max(s.finished_at) AS last_read_at, max(s.finished_at) FILTER (l.complete) AS last_complete_at,
    max(s.finished_at) FILTER (l.entries_sync = l.sync_id) AS last_changed_at,
    any_value(r.newest_observed_at) AS newest_observed_at
FROM listings l
JOIN syncs s USING (sync_id)
LEFT JOIN (SELECT source, kernel, max(observed_at) AS newest_observed_at FROM runs GROUP BY ALL) r
    ON r.source = l.source AND r.kernel = l.kernel
GROUP BY l.source, l.kernel;
COMMENT ON VIEW freshness IS 'How fresh what we know of each kernel is. A board that did not change is fresh when it was read lately. Not a measure of how active a board is.';
COMMENT ON COLUMN freshness.source IS 'Slug of the source.';
COMMENT ON COLUMN freshness.kernel IS 'The source''s name of the kernel.';
COMMENT ON COLUMN freshness.listed IS 'Submissions on its latest listing.';
COMMENT ON COLUMN freshness.complete IS 'Whether the latest listing closed.';
COMMENT ON COLUMN freshness.last_read_at IS 'When a sync last read its listing, UTC.';
COMMENT ON COLUMN freshness.last_complete_at IS 'When a listing of it last closed, UTC; null when none did.';
COMMENT ON COLUMN freshness.last_changed_at IS 'When its listing last differed from the one before, UTC.';
COMMENT ON COLUMN freshness.newest_observed_at IS 'Newest result, UTC; null without results.';
