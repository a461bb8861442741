-- Who led when. The macro derives the time line of cohorts from runs and lifecycle; the table record_events keeps it.
--
-- A run counts over spans of time: from its observation (one that supersedes another: from that moment) until it falls,
-- and again from its return. Falls and returns happen at syncs, so a cohort's time divides into a few epochs that begin
-- with them. At the beginning of an epoch the best of all spans leads (the seed, all changes of that instant together);
-- within one, only a strictly lower value takes the lead.
CREATE OR REPLACE MACRO record_events_of(keys) AS TABLE
WITH counted AS (
    SELECT comparability_family, comparison_key, run_digest, kernel, source, external_id, observed_at, primary_value,
        primary_unit, first_seen_sync, TRY_CAST(external_id AS BIGINT) AS id_number
    FROM runs ANTI JOIN (
        SELECT run_digest FROM eligibility WHERE reason NOT IN ('SUPERSEDED', 'RETRACTED')
    ) USING (run_digest)
    WHERE keys IS NULL OR comparison_key IN (SELECT unnest(keys))
), changes AS (
    SELECT run_digest, event = 'reinstated' AS counts, if(event = 'superseded', 'supersession', 'retraction') AS fall,
        sync_id, max("at") OVER (PARTITION BY run_digest ORDER BY sync_id) AS "at"
    FROM lifecycle SEMI JOIN counted USING (run_digest)
), superseding AS (
    SELECT by_run_digest AS run_digest, sync_id, min("at") AS "at"
    FROM lifecycle WHERE event = 'superseded' GROUP BY ALL
), moved AS ( -- the others were observed once, and count since
    SELECT run_digest FROM changes UNION SELECT run_digest FROM superseding
), turns AS (
    SELECT c.run_digest, 0 AS turn, true AS counts, NULL AS fall, 'new_run' AS rise, c.first_seen_sync AS sync_id,
        coalesce(s."at", c.observed_at) AS "at", s."at" IS NULL AS plain
    FROM counted c SEMI JOIN moved USING (run_digest)
    LEFT JOIN superseding s ON s.run_digest = c.run_digest AND s.sync_id = c.first_seen_sync
    UNION ALL SELECT run_digest, sync_id, counts, fall, 'reinstatement', sync_id, "at", false FROM changes
), flips AS (
    SELECT * FROM turns
    QUALIFY counts IS DISTINCT FROM lag(counts) OVER (PARTITION BY run_digest ORDER BY turn)
), spans AS (
    SELECT run_digest, observed_at AS begins, true AS plain, 'new_run' AS rise, first_seen_sync AS sync_id,
        NULL::TIMESTAMPTZ AS ends, NULL::VARCHAR AS fall, NULL::BIGINT AS fall_sync, true AS counts
    FROM counted ANTI JOIN moved USING (run_digest)
    UNION ALL BY NAME
    SELECT run_digest, "at" AS begins, plain, rise, sync_id,
        lead("at") OVER same_run AS ends, lead(fall) OVER same_run AS fall, lead(sync_id) OVER same_run AS fall_sync,
        counts
    FROM flips
    WINDOW same_run AS (PARTITION BY run_digest ORDER BY turn)
    QUALIFY counts AND (ends IS NULL OR begins < ends)
), placed AS (
    SELECT c.*, s.begins, s.plain, s.rise, s.sync_id, s.ends, s.fall, s.fall_sync,
        {'value': c.primary_value, 'begins': s.begins, 'plain': s.plain, 'id_number': c.id_number,
            'external_id': c.external_id, 'run_digest': c.run_digest} AS merit
    FROM spans s JOIN counted c USING (run_digest)
), epochs AS (
    SELECT comparison_key, "at", row_number() OVER (PARTITION BY comparison_key ORDER BY "at") AS epoch FROM (
        SELECT DISTINCT comparison_key, ends AS "at" FROM placed WHERE ends IS NOT NULL
        UNION SELECT comparison_key, begins FROM placed WHERE NOT plain
    )
), seeds AS (
    SELECT e.comparison_key, e.epoch, e."at", min(p.merit).run_digest AS run_digest,
        min(p.merit).value AS primary_value
    FROM epochs e LEFT JOIN placed p
        ON p.comparison_key = e.comparison_key AND (p.ends IS NULL OR p.ends > e."at")
        AND (p.begins < e."at" OR (p.begins = e."at" AND NOT p.plain))
    GROUP BY ALL
), claims AS (
    SELECT comparison_key, epoch, "at", true AS seed, NULL AS id_number, NULL AS external_id, run_digest, primary_value
    FROM seeds
    UNION ALL
    SELECT p.comparison_key, coalesce(e.epoch, 0), p.begins, false, p.id_number, p.external_id, p.run_digest,
        p.primary_value
    FROM placed p ASOF LEFT JOIN epochs e ON e.comparison_key = p.comparison_key AND p.begins >= e."at"
    WHERE p.plain
), leads AS (
    SELECT * FROM claims
    QUALIFY seed OR coalesce(primary_value < min(primary_value) OVER (
        PARTITION BY comparison_key, epoch ORDER BY seed DESC, "at", id_number, external_id, run_digest
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), true)
), takeovers AS (
    SELECT *, lag(run_digest) OVER in_time AS previous_run_digest
    FROM leads
    WINDOW in_time AS (PARTITION BY comparison_key ORDER BY epoch, seed DESC, "at", id_number, external_id, run_digest)
    QUALIFY run_digest IS DISTINCT FROM previous_run_digest
), cohort AS (
    SELECT comparison_key, any_value(comparability_family) AS comparability_family, any_value(kernel) AS kernel,
        any_value(source) AS source, any_value(primary_unit) AS primary_unit
    FROM counted GROUP BY comparison_key
)
SELECT c.comparability_family, t.comparison_key,
    row_number() OVER (PARTITION BY t.comparison_key
        ORDER BY t.epoch, t.seed DESC, t."at", t.id_number, t.external_id, t.run_digest)::INTEGER AS number,
    t."at", t.run_digest, t.previous_run_digest,
    CASE
        WHEN NOT t.seed THEN 'new_run'
        WHEN risen.rise = 'reinstatement' THEN 'reinstatement'
        ELSE coalesce(fallen.fall, 'new_run')
    END AS cause,
    coalesce(leader.kernel, c.kernel) AS kernel, c.source, leader.external_id, t.primary_value, c.primary_unit,
    greatest(if(t.seed, risen.sync_id, leader.first_seen_sync), fallen.fall_sync) AS sync_id,
    'ranking-v1' AS policy
FROM takeovers t
JOIN cohort c USING (comparison_key)
LEFT JOIN counted leader ON leader.run_digest = t.run_digest
LEFT JOIN spans risen ON t.seed AND risen.run_digest = t.run_digest AND risen.begins = t."at" AND NOT risen.plain
LEFT JOIN spans fallen ON t.seed AND fallen.run_digest = t.previous_run_digest AND fallen.ends = t."at"
ORDER BY c.comparability_family, t.comparison_key, number;
COMMENT ON MACRO TABLE record_events_of IS 'Derives the record events of the given cohorts (a list of comparison keys; NULL: of all) anew.';

CREATE OR REPLACE VIEW records AS
WITH latest AS (
    SELECT comparison_key, max(number) AS number FROM record_events GROUP BY comparison_key
)
SELECT e.comparability_family, e.comparison_key, e.kernel, s.product, s.stack_version, e.run_digest, e.source,
    e.external_id, s.project, e.primary_value, e.primary_unit, e."at" AS since, e.cause, e.policy
FROM record_events e
JOIN latest USING (comparison_key, number)
JOIN standings s ON s.rank = 1 AND s.comparison_key = e.comparison_key AND s.run_digest = e.run_digest;
COMMENT ON VIEW records IS 'Who leads each cohort now, and since when. Of equal values the earliest leads, so a tie has one record holder and several runs of rank 1. Never compare across comparison keys.';
COMMENT ON COLUMN records.comparability_family IS 'The partition.';
COMMENT ON COLUMN records.comparison_key IS 'The cohort.';
COMMENT ON COLUMN records.kernel IS 'The source''s name of the kernel.';
COMMENT ON COLUMN records.product IS 'Hardware product.';
COMMENT ON COLUMN records.stack_version IS 'Version of the harness, text.';
COMMENT ON COLUMN records.run_digest IS 'The run that leads.';
COMMENT ON COLUMN records.source IS 'Slug of the source.';
COMMENT ON COLUMN records.external_id IS 'The source''s bare id of the submission.';
COMMENT ON COLUMN records.project IS 'The submitter''s name, the latest known.';
COMMENT ON COLUMN records.primary_value IS 'The record, in primary_unit.';
COMMENT ON COLUMN records.primary_unit IS 'Its unit, e.g. ns.';
COMMENT ON COLUMN records.since IS 'Since when it leads, UTC.';
COMMENT ON COLUMN records.cause IS 'How it came to lead: new_run, supersession, retraction, reinstatement.';
COMMENT ON COLUMN records.policy IS 'The ranking policy and its version.';

CREATE OR REPLACE VIEW progress AS
SELECT comparability_family, comparison_key, kernel, "at", primary_value AS best_value, primary_unit AS unit, run_digest,
    primary_value / lag(primary_value) OVER (PARTITION BY comparison_key ORDER BY number) AS relative_to_previous, cause
FROM record_events;
COMMENT ON VIEW progress IS 'How the best value of each cohort moved: a step line in time. It rises where a leader fell. Not for comparing cohorts.';
COMMENT ON COLUMN progress.comparability_family IS 'The partition.';
COMMENT ON COLUMN progress.comparison_key IS 'The cohort.';
COMMENT ON COLUMN progress.kernel IS 'The source''s name of the kernel.';
COMMENT ON COLUMN progress."at" IS 'From when, UTC.';
COMMENT ON COLUMN progress.best_value IS 'The best value from then on, in unit; null when nobody leads.';
COMMENT ON COLUMN progress.unit IS 'Unit of best_value, e.g. ns.';
COMMENT ON COLUMN progress.run_digest IS 'The run that leads; null when nobody does.';
COMMENT ON COLUMN progress.relative_to_previous IS 'best_value over the one before: 0.5 for half the time; null for the first.';
COMMENT ON COLUMN progress.cause IS 'new_run, supersession, retraction or reinstatement.';
