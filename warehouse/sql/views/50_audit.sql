-- Our runs against what the public index published of them. The index keeps only the best few runs of a kernel, and
-- perhaps not every page was read: so what is only here, and a rank among other runs, is told and is no difference.

CREATE OR REPLACE VIEW published_runs AS
WITH seen AS (
    SELECT page, version, max(sync_id) AS last_seen_sync FROM published_run_sightings GROUP BY ALL
), problems AS (
    SELECT page, version,
        list(format('{}: the page says {}, its manifest {}', field, claimed, manifest_says) ORDER BY field) AS problems
    FROM published_run_problems GROUP BY ALL
)
SELECT v.page, v.version, v.version = max(v.version) OVER (PARTITION BY v.page) AS is_current,
    v.index_id, v.run_digest, v.source, v.external_id, v.kernel, v.comparability_family, v.status,
    v.primary_metric, v.primary_statistic, v.primary_unit, v.primary_value, v.observed_at, v.title, v.operation,
    v.workload, v.digest_claimed, v.comparison_key_claimed, v.value_claimed, v.unit_claimed, v.statistic_claimed,
    v.samples_claimed, v.metrics_claimed, v.source_claimed, v.external_id_claimed, v.rank_seen, v.not_eligible,
    v.profile, v.observed_on, v.published_on, v.lifecycle, v.lifecycle_notes, v.run_manifest, v.protocol_manifest,
    v.environment_manifest, v.state_digest, v.body_digest, v.first_seen_sync,
    s.last_seen_sync, coalesce(p.problems, []) AS problems
FROM published_run_versions v
LEFT JOIN seen s USING (page, version)
LEFT JOIN problems p USING (page, version);
COMMENT ON VIEW published_runs IS 'Every state ever seen of every run page of the public index: its manifests, what it says in words, and where the two differ. Ours are in runs; the view audit compares.';
COMMENT ON COLUMN published_runs.page IS 'What the page is known by: the index''s run id; where a saved page shows it cut, source:external_id, or the run digest.';
COMMENT ON COLUMN published_runs.version IS 'Number of the state, from 1.';
COMMENT ON COLUMN published_runs.is_current IS 'Whether this is the page''s latest state.';
COMMENT ON COLUMN published_runs.index_id IS 'The index''s id of the run as far as it was seen: whole, or its first digits.';
COMMENT ON COLUMN published_runs.run_digest IS 'Digest of the page''s run manifest, computed here.';
COMMENT ON COLUMN published_runs.source IS 'Slug of the source, from the manifest; null when it names none.';
COMMENT ON COLUMN published_runs.external_id IS 'The source''s bare id, from the manifest.';
COMMENT ON COLUMN published_runs.kernel IS 'The source''s name of the kernel (benchmark), from the manifest.';
COMMENT ON COLUMN published_runs.comparability_family IS 'The family of the page''s protocol manifest; unstated when it names none.';
COMMENT ON COLUMN published_runs.status IS 'passed, or how it did not, from the manifest.';
COMMENT ON COLUMN published_runs.primary_metric IS 'Metric that ranks, from the manifest.';
COMMENT ON COLUMN published_runs.primary_statistic IS 'Its statistic, from the manifest.';
COMMENT ON COLUMN published_runs.primary_unit IS 'Its unit, from the manifest.';
COMMENT ON COLUMN published_runs.primary_value IS 'Its value in primary_unit, from the manifest.';
COMMENT ON COLUMN published_runs.observed_at IS 'When it was measured, UTC, from the manifest.';
COMMENT ON COLUMN published_runs.title IS 'The page''s title: the implementation. Null here and below: the page does not say.';
COMMENT ON COLUMN published_runs.operation IS 'The operation as the page names it.';
COMMENT ON COLUMN published_runs.workload IS 'The page''s label of the workload.';
COMMENT ON COLUMN published_runs.digest_claimed IS 'The run digest as the page shows it, cut.';
COMMENT ON COLUMN published_runs.comparison_key_claimed IS 'The comparison key as the page shows it, cut.';
COMMENT ON COLUMN published_runs.value_claimed IS 'The primary value as the page shows it, in unit_claimed.';
COMMENT ON COLUMN published_runs.unit_claimed IS 'The unit that the page shows: ns, µs, ms, s, or the metric''s own.';
COMMENT ON COLUMN published_runs.statistic_claimed IS 'The statistic that the page shows.';
COMMENT ON COLUMN published_runs.samples_claimed IS 'The number of samples that the page shows.';
COMMENT ON COLUMN published_runs.metrics_claimed IS 'The page''s line of the source''s own metrics.';
COMMENT ON COLUMN published_runs.source_claimed IS 'The source as the page names it.';
COMMENT ON COLUMN published_runs.external_id_claimed IS 'The external id as the page shows it, e.g. submission/3483.';
COMMENT ON COLUMN published_runs.rank_seen IS 'The rank that the page shows, among the runs the index had that day.';
COMMENT ON COLUMN published_runs.not_eligible IS 'Why the index does not rank it, in its words.';
COMMENT ON COLUMN published_runs.profile IS 'source-native or strict.';
COMMENT ON COLUMN published_runs.observed_on IS 'The day of measurement that the page shows.';
COMMENT ON COLUMN published_runs.published_on IS 'The day of publication that the page shows.';
COMMENT ON COLUMN published_runs.lifecycle IS 'What the page''s notes say became of the run: retracted, disputed, superseded, stale; empty for nothing.';
COMMENT ON COLUMN published_runs.lifecycle_notes IS 'The notes themselves.';
COMMENT ON COLUMN published_runs.run_manifest IS 'The run manifest on the page, canonical JSON.';
COMMENT ON COLUMN published_runs.protocol_manifest IS 'The protocol manifest on the page, canonical JSON.';
COMMENT ON COLUMN published_runs.environment_manifest IS 'The environment manifest on the page, canonical JSON.';
COMMENT ON COLUMN published_runs.state_digest IS 'SHA-256 over all that the page says.';
COMMENT ON COLUMN published_runs.body_digest IS 'The archived page that this state was first read from.';
COMMENT ON COLUMN published_runs.first_seen_sync IS 'The sync that first saw this state.';
COMMENT ON COLUMN published_runs.last_seen_sync IS 'The last sync that saw the page in this state.';
COMMENT ON COLUMN published_runs.problems IS 'Where the page contradicts its own manifest, in words; empty for nowhere.';

CREATE OR REPLACE VIEW audit AS
WITH theirs AS (
    SELECT *, CASE
        WHEN list_contains(lifecycle, 'retracted') THEN 'retracted'
        WHEN list_contains(lifecycle, 'superseded') THEN 'superseded'
        WHEN list_contains(lifecycle, 'disputed') THEN 'disputed'
        ELSE 'active' END AS standing
    FROM published_runs WHERE is_current
), ours AS (
    SELECT r.*, CASE
        WHEN s.event IN ('retracted', 'withdrawn') THEN 'retracted'
        WHEN s.event = 'superseded' THEN 'superseded'
        ELSE 'active' END AS standing
    FROM runs r LEFT JOIN run_states s USING (run_digest)
    WHERE r.run_digest IN (SELECT run_digest FROM theirs)
        OR (r.source, r.external_id) IN (SELECT (source, external_id) FROM theirs)
), current_runs AS (
    SELECT source, external_id, arg_max(run_digest, version) AS run_digest
    FROM submission_runs SEMI JOIN theirs USING (source, external_id) GROUP BY ALL
), pairs AS (
    SELECT t.page, o.run_digest FROM theirs t JOIN ours o USING (run_digest)
    UNION ALL
    SELECT t.page, c.run_digest
    FROM theirs t ANTI JOIN ours o USING (run_digest)
    JOIN current_runs c ON c.source = t.source AND c.external_id = t.external_id
    WHERE t.standing <> 'superseded'
), compared AS (
    SELECT p.page, p.run_digest, t.run_digest = p.run_digest AS is_same, unnest([
        {'field': 'run_digest', 'ours': o.run_digest, 'theirs': t.run_digest},
        {'field': 'kernel', 'ours': o.kernel, 'theirs': t.kernel},
        {'field': 'status', 'ours': o.status, 'theirs': t.status},
        {'field': 'primary_value', 'ours': concat_ws(' ', regexp_replace(o.primary_value::VARCHAR, '\.0$', ''), o.primary_unit),
            'theirs': concat_ws(' ', regexp_replace(t.primary_value::VARCHAR, '\.0$', ''), t.primary_unit)},
        {'field': 'primary_statistic', 'ours': concat_ws(' ', o.primary_metric, o.primary_statistic),
            'theirs': concat_ws(' ', t.primary_metric, t.primary_statistic)},
        {'field': 'observed_at', 'ours': o.manifest->>'$.spec.observedAt', 'theirs': t.run_manifest->>'$.spec.observedAt'},
        {'field': 'comparability_family', 'ours': o.comparability_family, 'theirs': t.comparability_family},
        {'field': 'implementation_digest', 'ours': o.implementation_digest,
            'theirs': t.run_manifest->>'$.spec.implementationDigest'},
        {'field': 'workload_digest', 'ours': o.workload_digest, 'theirs': t.run_manifest->>'$.spec.workloadDigest'},
        {'field': 'protocol_digest', 'ours': o.protocol_digest, 'theirs': t.run_manifest->>'$.spec.protocolDigest'},
        {'field': 'environment_digest', 'ours': o.environment_digest,
            'theirs': t.run_manifest->>'$.spec.environmentDigest'},
        {'field': 'comparison_key', 'ours': left(o.comparison_key, length(t.comparison_key_claimed)),
            'theirs': t.comparison_key_claimed},
        {'field': 'lifecycle', 'ours': o.standing, 'theirs': t.standing}
    ], recursive := true)
    FROM pairs p JOIN theirs t USING (page) JOIN ours o ON o.run_digest = p.run_digest
), metrics AS (
    SELECT p.page, p.run_digest, concat('metric ', k.metric) AS field,
        o.manifest->>concat('$.spec.sourceNative.metrics.', k.metric) AS ours,
        t.run_manifest->>concat('$.spec.sourceNative.metrics.', k.metric) AS theirs
    FROM pairs p JOIN theirs t USING (page) JOIN ours o ON o.run_digest = p.run_digest AND o.run_digest <> t.run_digest,
        unnest(list_distinct(list_concat(json_keys(o.manifest, '$.spec.sourceNative.metrics'),
            json_keys(t.run_manifest, '$.spec.sourceNative.metrics')))) k(metric)
), fields AS (
    SELECT page, field, ours, theirs, 'ours and theirs are not the same' AS detail FROM compared
    WHERE ours IS DISTINCT FROM theirs AND NOT (field = 'comparison_key' AND theirs IS NULL)
        -- The digest is over the kernel too; under which name we list it is ours.
        AND NOT (field = 'kernel' AND is_same)
    UNION ALL SELECT page, field, ours, theirs, 'ours and theirs are not the same' FROM metrics
    WHERE ours IS DISTINCT FROM theirs
    UNION ALL SELECT t.page, concat('page: ', p.field), p.manifest_says, p.claimed, 'the page contradicts its own manifest'
    FROM published_run_problems p JOIN theirs t USING (page, version)
), cohorts_there AS (
    SELECT comparison_key_claimed AS key_start, greatest(count(*), max(rank_seen)) AS at_least,
        max(primary_value) AS slowest
    FROM theirs WHERE standing = 'active' AND regexp_full_match(comparison_key_claimed, 'sha256:[0-9a-f]{16,64}')
    GROUP BY ALL
), whole_reading AS (
    SELECT max(sync_id) AS sync_id FROM syncs
    WHERE source = 'kernelindex' AND status = 'complete' AND scope->>'$.limit' IS NULL AND scope->>'$.mode' <> 'offline'
        AND coalesce(json_array_length(scope->'$.pages'), 0) = 0
)
SELECT 'differs' AS state, true AS counts, f.field, f.ours, f.theirs, t.source, t.external_id, t.kernel, t.page,
    coalesce(p.run_digest, t.run_digest) AS run_digest, NULL::BIGINT AS our_cohort_size,
    NULL::BIGINT AS their_cohort_size, f.detail
FROM fields f JOIN theirs t USING (page) LEFT JOIN pairs p USING (page)
UNION ALL
SELECT 'equal', false, NULL, NULL, NULL, t.source, t.external_id, t.kernel, t.page, p.run_digest, NULL, NULL,
    'every field of the manifests, and what the page shows of digest, key, figures, metrics, source, id and lists'
FROM pairs p JOIN theirs t USING (page) ANTI JOIN fields f USING (page)
UNION ALL
SELECT 'only there', listed.source IS NOT NULL AND t.standing <> 'retracted', NULL, NULL, NULL, t.source, t.external_id,
    t.kernel, t.page, t.run_digest, NULL, NULL,
    CASE WHEN listed.source IS NULL THEN 'its source was never read here'
        WHEN t.standing = 'retracted' THEN 'retracted there'
        WHEN kernels.kernel IS NULL THEN 'its kernel was never read here'
        ELSE 'its kernel was read here, and it was not on the board' END
FROM theirs t ANTI JOIN pairs p USING (page)
LEFT JOIN (SELECT DISTINCT source FROM listings) listed ON listed.source = t.source
LEFT JOIN (SELECT DISTINCT source, kernel FROM listings) kernels ON kernels.source = t.source AND kernels.kernel = t.kernel
WHERE t.standing <> 'superseded'
UNION ALL
SELECT 'only here', w.sync_id IS NOT NULL AND l.primary_value < c.slowest, NULL, NULL, NULL, l.source, l.external_id,
    l.kernel, NULL, l.run_digest, l.cohort_size, c.at_least,
    CASE WHEN w.sync_id IS NULL THEN 'no such page among those read; the whole index was not'
        WHEN l.primary_value < c.slowest THEN 'better than a run that the index shows'
        ELSE 'the index keeps only the best few of a kernel' END
FROM leaderboard l
JOIN cohorts_there c ON starts_with(l.comparison_key, c.key_start)
CROSS JOIN whole_reading w
ANTI JOIN pairs p ON p.run_digest = l.run_digest
UNION ALL
SELECT 'rank differs', false, 'rank', l.rank::VARCHAR, t.rank_seen::VARCHAR, t.source, t.external_id, t.kernel, t.page,
    l.run_digest, l.cohort_size, c.at_least, format('{} of {} here, {} of at least {} there', l.rank, l.cohort_size,
        t.rank_seen, c.at_least)
FROM pairs p JOIN theirs t USING (page) JOIN leaderboard l ON l.run_digest = p.run_digest
LEFT JOIN cohorts_there c ON c.key_start = t.comparison_key_claimed
WHERE t.rank_seen <> l.rank;
COMMENT ON VIEW audit IS 'Our runs against the run pages of the public index that were read, matched by run digest, else by (source, external_id): one row a finding. What counts makes kix audit exit 1.';
COMMENT ON COLUMN audit.state IS 'equal; differs (a row for each field); only there; only here (ranked here, in a cohort of which the index shows runs); rank differs.';
COMMENT ON COLUMN audit.counts IS 'Whether it is a difference: what differs; what is only there of a source that was read here; what is only here and better than a run the index shows, after its whole sitemap was read. Ranks never are.';
COMMENT ON COLUMN audit.field IS 'Which field differs; page: … where the page contradicts its own manifest.';
COMMENT ON COLUMN audit.ours IS 'Our value, as text; where the page contradicts itself what follows from its manifest.';
COMMENT ON COLUMN audit.theirs IS 'The index''s value, as text.';
COMMENT ON COLUMN audit.source IS 'Slug of the source.';
COMMENT ON COLUMN audit.external_id IS 'The source''s bare id of the submission.';
COMMENT ON COLUMN audit.kernel IS 'The source''s name of the kernel.';
COMMENT ON COLUMN audit.page IS 'The page (published_runs.page); null for what is only here.';
COMMENT ON COLUMN audit.run_digest IS 'Our run; theirs where we have none.';
COMMENT ON COLUMN audit.our_cohort_size IS 'Number of runs that rank here in the cohort.';
COMMENT ON COLUMN audit.their_cohort_size IS 'Number of runs that the index has in the cohort at least: pages read of it, or the lowest rank seen.';
COMMENT ON COLUMN audit.detail IS 'In words.';
