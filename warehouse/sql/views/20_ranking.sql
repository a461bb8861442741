-- Policy ranking-v1: who ranks, and in which order. Runs are ranked only inside a cohort.

CREATE OR REPLACE MACRO eligibility_as_of(until_sync) AS TABLE
WITH reasons AS (
    SELECT run_digest, 'STATUS_' || upper(status) AS reason, 'the run did not pass' AS detail
    FROM runs WHERE status <> 'passed'
    UNION ALL SELECT run_digest, 'MISSING_PRIMARY_METRIC', 'it states no figure that could rank'
    FROM runs WHERE primary_value IS NULL
    UNION ALL SELECT run_digest, if(event = 'superseded', 'SUPERSEDED', 'RETRACTED'), concat(event, ': ', reason)
    FROM run_states_as_of(until_sync) WHERE event <> 'reinstated'
    UNION ALL SELECT subject, reason, detail
    FROM reviews ANTI JOIN (
        SELECT subject FROM verdicts WHERE after_sync <= until_sync
        GROUP BY subject HAVING arg_max(verdict, verdict_id) = 'accept'
    ) USING (subject)
    WHERE reason = 'BELOW_SPEED_OF_LIGHT' AND first_seen_sync <= until_sync
)
SELECT r.comparability_family, r.comparison_key, r.run_digest, w.reason, w.detail, 'ranking-v1' AS policy
FROM runs r JOIN reasons w USING (run_digest)
WHERE r.first_seen_sync <= until_sync;
COMMENT ON MACRO TABLE eligibility_as_of IS 'The view eligibility as it was after a sync.';

CREATE OR REPLACE VIEW eligibility AS FROM eligibility_as_of(9223372036854775807);
COMMENT ON VIEW eligibility IS 'Why runs do not rank under ranking-v1: one row for each run that does not and each reason. A run without a row ranks. Not for counting what failed: failed submissions never become runs (see submissions).';
COMMENT ON COLUMN eligibility.comparability_family IS 'The partition.';
COMMENT ON COLUMN eligibility.comparison_key IS 'The cohort.';
COMMENT ON COLUMN eligibility.run_digest IS 'The run.';
COMMENT ON COLUMN eligibility.reason IS 'STATUS_…, MISSING_PRIMARY_METRIC, RETRACTED (also when withdrawn), SUPERSEDED, or BELOW_SPEED_OF_LIGHT (held for doubt until a person accepts it).';
COMMENT ON COLUMN eligibility.detail IS 'In words.';
COMMENT ON COLUMN eligibility.policy IS 'The ranking policy and its version.';

CREATE OR REPLACE MACRO later_names_as_of(until_sync) AS TABLE
SELECT source, external_id, arg_max(username, first_seen_sync) AS username FROM (
    SELECT source, external_id, username, first_seen_sync FROM submission_versions WHERE version > 1
    UNION ALL SELECT source, external_id, username, first_seen_sync FROM submission_renames
) WHERE first_seen_sync <= until_sync GROUP BY ALL;
COMMENT ON MACRO TABLE later_names_as_of IS 'Names of submitters that may differ from the one their implementation was first seen under, as they were after a sync.';

-- Chains of runs that tie, in cohorts where the source states intervals. Best value first, a run joins the chain when it
-- ties with every member: equal values, or overlapping intervals. Per chain this keeps the highest low and the lowest
-- high of the members with a smaller value and, apart, of those with the same value.
CREATE OR REPLACE MACRO tie_chains_as_of(until_sync) AS TABLE
WITH RECURSIVE candidates AS (
    SELECT comparison_key, run_digest, primary_value AS value, primary_low AS low, primary_high AS high,
        row_number() OVER (PARTITION BY comparison_key ORDER BY primary_value, run_digest) AS place
    FROM runs ANTI JOIN eligibility_as_of(until_sync) USING (run_digest)
    WHERE profile = 'strict' AND first_seen_sync <= until_sync
), walk AS (
    SELECT comparison_key, run_digest, place, 1 AS chain, value, false AS open, -1e999 AS below_low, 1e999 AS below_high,
        coalesce(low, 1e999) AS same_low, coalesce(high, -1e999) AS same_high
    FROM candidates WHERE place = 1
    UNION ALL
    SELECT comparison_key, run_digest, place, if(joins, chain, chain + 1), value, joins AND (grows OR open),
        CASE WHEN NOT joins THEN -1e999 WHEN grows THEN greatest(below_low, same_low) ELSE below_low END,
        CASE WHEN NOT joins THEN 1e999 WHEN grows THEN least(below_high, same_high) ELSE below_high END,
        if(joins AND NOT grows, greatest(same_low, low), low), if(joins AND NOT grows, least(same_high, high), high)
    FROM (
        SELECT c.comparison_key, c.run_digest, c.place, c.value, coalesce(c.low, 1e999) AS low,
            coalesce(c.high, -1e999) AS high, w.chain, w.open, w.below_low, w.below_high, w.same_low, w.same_high,
            c.value > w.value AS grows,
            if(c.value > w.value,
                coalesce(c.high, -1e999) >= greatest(w.below_low, w.same_low)
                    AND coalesce(c.low, 1e999) <= least(w.below_high, w.same_high),
                NOT w.open OR (coalesce(c.high, -1e999) >= w.below_low AND coalesce(c.low, 1e999) <= w.below_high)
            ) AS joins
        FROM walk w JOIN candidates c ON c.comparison_key = w.comparison_key AND c.place = w.place + 1
    )
)
SELECT run_digest, chain FROM walk;
COMMENT ON MACRO TABLE tie_chains_as_of IS 'Ranks of the runs of strict cohorts as they were after a sync: runs whose stated intervals all overlap share one.';

CREATE OR REPLACE MACRO standings_of(until_sync, keys) AS TABLE
WITH eligible AS (
    SELECT comparability_family, comparison_key, run_digest, external_id, source, kernel, implementation_digest,
        protocol_digest, environment_digest, primary_value, primary_unit, observed_at, evidence, profile
    FROM runs ANTI JOIN eligibility_as_of(until_sync) USING (run_digest)
    WHERE first_seen_sync <= until_sync AND (keys IS NULL OR comparison_key IN (SELECT unnest(keys)))
), cohort AS (
    SELECT comparability_family, comparison_key, count(*) AS cohort_size, min(primary_value) AS best
    FROM eligible GROUP BY ALL
), ranked AS (
    SELECT e.*, coalesce(t.chain, dense_rank() OVER (PARTITION BY comparison_key ORDER BY primary_value)) AS rank
    FROM eligible e LEFT JOIN tie_chains_as_of(until_sync) t USING (run_digest)
)
SELECT e.comparability_family, e.comparison_key, e.rank,
    count(*) OVER (PARTITION BY e.comparison_key, e.rank) > 1 AS tied,
    c.cohort_size, e.run_digest, e.external_id, e.source, e.kernel,
    coalesce(n.username, i.project) AS project,
    v.product, p.stack_version, e.primary_value, e.primary_unit,
    e.primary_value / nullif(c.best, 0) AS relative_to_best,
    e.observed_at, e.profile,
    row_number() OVER (PARTITION BY e.comparison_key ORDER BY e.rank,
        list_position(['replicated', 'verified', 'reproducible', 'reported'], e.evidence), e.observed_at DESC,
        TRY_CAST(e.external_id AS BIGINT), e.external_id) AS place,
    'ranking-v1' AS policy
FROM ranked e
JOIN cohort c USING (comparability_family, comparison_key)
JOIN implementations i USING (implementation_digest)
JOIN protocols p ON p.digest = protocol_digest
JOIN environments v ON v.digest = environment_digest
LEFT JOIN later_names_as_of(until_sync) n ON n.source = e.source AND n.external_id = e.external_id;
COMMENT ON MACRO TABLE standings_of IS 'Derives the standings of the given cohorts (a list of comparison keys; NULL: of all) as they were after a sync.';

CREATE OR REPLACE MACRO leaderboard_as_of(until_sync) AS TABLE FROM standings_of(until_sync, NULL);
COMMENT ON MACRO TABLE leaderboard_as_of IS 'The view leaderboard as it was after a sync, with what people had decided before the next one.';

CREATE OR REPLACE VIEW leaderboard AS FROM standings;
COMMENT ON VIEW leaderboard IS 'The ranked runs of every cohort under policy ranking-v1. Ranks and values mean something only within one comparison_key: never order across keys.';
COMMENT ON COLUMN leaderboard.comparability_family IS 'The partition.';
COMMENT ON COLUMN leaderboard.comparison_key IS 'The cohort.';
COMMENT ON COLUMN leaderboard.rank IS 'Dense rank by primary value, best first; runs that tie share it.';
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
COMMENT ON COLUMN leaderboard.profile IS 'source-native (the source''s own aggregate: equal values tie) or strict (overlapping stated intervals tie).';
COMMENT ON COLUMN leaderboard.place IS 'Order of presentation, ties included: higher evidence, newer observation, id. Not a claim.';
COMMENT ON COLUMN leaderboard.policy IS 'The ranking policy and its version.';
