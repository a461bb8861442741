-- New runs, in the order in which big tables are kept.
INSERT INTO runs
SELECT r.comparability_family, r.comparison_key, r.run_digest, getvariable('source'), r.external_id, r.kernel,
    r.operation_digest, r.workload_digest, r.implementation_digest, r.protocol_digest, r.environment_digest, r.status,
    r.primary_metric, r.primary_statistic, r.primary_unit, r.primary_value, r.observed_at, r.evidence, r.profile,
    r.manifest, getvariable('sync_id'), r.primary_low, r.primary_high
FROM stage_runs r SEMI JOIN new_runs USING (place)
ORDER BY r.comparability_family, r.comparison_key, r.primary_value, r.run_digest;

INSERT INTO reviews
SELECT getvariable('source'), s.subject, s.reason, s.detail, getvariable('sync_id')
FROM stage_reviews s SEMI JOIN runs ON runs.run_digest = s.subject
ANTI JOIN reviews USING (subject, reason);

-- One name, two definitions: both are kept, and a person decides.
INSERT INTO reviews
SELECT DISTINCT getvariable('source'), o.operation_digest, 'AMBIGUOUS_SLUG',
    format('{} names {} too', o.slug, e.operation_digest), getvariable('sync_id')
FROM operation_specs o JOIN operation_specs e
    ON e.source = o.source AND e.slug = o.slug AND e.operation_digest <> o.operation_digest
WHERE o.first_seen_sync = getvariable('sync_id') AND o.source = getvariable('source')
    AND (e.first_seen_sync < o.first_seen_sync OR e.operation_digest < o.operation_digest);
