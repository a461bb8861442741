-- What the public index published of runs, page by page. Evidence about evidence: no row is updated or deleted, and
-- nothing of it ranks.

CREATE TABLE published_run_versions (
    page                   VARCHAR NOT NULL,
    version                INTEGER NOT NULL,
    index_id               VARCHAR,
    run_digest             VARCHAR NOT NULL,
    source                 VARCHAR,
    external_id            VARCHAR,
    kernel                 VARCHAR,
    comparability_family   VARCHAR NOT NULL,
    status                 VARCHAR NOT NULL,
    primary_metric         VARCHAR,
    primary_statistic      VARCHAR,
    primary_unit           VARCHAR,
    primary_value          DOUBLE,
    observed_at            TIMESTAMPTZ NOT NULL,
    title                  VARCHAR,
    operation              VARCHAR,
    workload               VARCHAR,
    digest_claimed         VARCHAR,
    comparison_key_claimed VARCHAR,
    value_claimed          VARCHAR,
    unit_claimed           VARCHAR,
    statistic_claimed      VARCHAR,
    samples_claimed        BIGINT,
    metrics_claimed        VARCHAR,
    source_claimed         VARCHAR,
    external_id_claimed    VARCHAR,
    rank_seen              BIGINT,
    not_eligible           VARCHAR,
    profile                VARCHAR,
    observed_on            DATE,
    published_on           DATE,
    lifecycle              VARCHAR[] NOT NULL,
    lifecycle_notes        VARCHAR[] NOT NULL,
    run_manifest           JSON NOT NULL USING COMPRESSION zstd,
    protocol_manifest      JSON NOT NULL USING COMPRESSION zstd,
    environment_manifest   JSON NOT NULL USING COMPRESSION zstd,
    state_digest           VARCHAR NOT NULL,
    body_digest            VARCHAR NOT NULL,
    first_seen_sync        BIGINT NOT NULL
);
COMMENT ON TABLE published_run_versions IS 'Every state ever seen of every run page of the public index; a page that says something else opens a version. The view published_runs adds when each was last seen.';
COMMENT ON COLUMN published_run_versions.page IS 'What the page is known by: the index''s run id; where a saved page shows it cut, source:external_id, or the run digest.';
COMMENT ON COLUMN published_run_versions.version IS 'Number of the state, from 1.';
COMMENT ON COLUMN published_run_versions.index_id IS 'The index''s id of the run as far as it was seen: whole, or its first digits.';
COMMENT ON COLUMN published_run_versions.run_digest IS 'Digest of the page''s run manifest, computed here.';
COMMENT ON COLUMN published_run_versions.source IS 'Slug of the source, from the manifest; null when it names none.';
COMMENT ON COLUMN published_run_versions.external_id IS 'The source''s bare id, from the manifest.';
COMMENT ON COLUMN published_run_versions.kernel IS 'The source''s name of the kernel (benchmark), from the manifest.';
COMMENT ON COLUMN published_run_versions.comparability_family IS 'The family of the page''s protocol manifest; unstated when it names none. Nothing here ranks.';
COMMENT ON COLUMN published_run_versions.status IS 'passed, or how it did not, from the manifest.';
COMMENT ON COLUMN published_run_versions.primary_metric IS 'Metric that ranks, from the manifest.';
COMMENT ON COLUMN published_run_versions.primary_statistic IS 'Its statistic, from the manifest.';
COMMENT ON COLUMN published_run_versions.primary_unit IS 'Its unit, from the manifest.';
COMMENT ON COLUMN published_run_versions.primary_value IS 'Its value in primary_unit, from the manifest.';
COMMENT ON COLUMN published_run_versions.observed_at IS 'When it was measured, UTC, from the manifest.';
COMMENT ON COLUMN published_run_versions.title IS 'The page''s title: the implementation. Null here and below: the page does not say.';
COMMENT ON COLUMN published_run_versions.operation IS 'The operation as the page names it.';
COMMENT ON COLUMN published_run_versions.workload IS 'The page''s label of the workload.';
COMMENT ON COLUMN published_run_versions.digest_claimed IS 'The run digest as the page shows it, cut.';
COMMENT ON COLUMN published_run_versions.comparison_key_claimed IS 'The comparison key as the page shows it, cut.';
COMMENT ON COLUMN published_run_versions.value_claimed IS 'The primary value as the page shows it, in unit_claimed.';
COMMENT ON COLUMN published_run_versions.unit_claimed IS 'The unit that the page shows: ns, µs, ms, s, or the metric''s own.';
COMMENT ON COLUMN published_run_versions.statistic_claimed IS 'The statistic that the page shows.';
COMMENT ON COLUMN published_run_versions.samples_claimed IS 'The number of samples that the page shows.';
COMMENT ON COLUMN published_run_versions.metrics_claimed IS 'The page''s line of the source''s own metrics.';
COMMENT ON COLUMN published_run_versions.source_claimed IS 'The source as the page names it.';
COMMENT ON COLUMN published_run_versions.external_id_claimed IS 'The external id as the page shows it, e.g. submission/3483.';
COMMENT ON COLUMN published_run_versions.rank_seen IS 'The rank that the page shows, among the runs the index had that day.';
COMMENT ON COLUMN published_run_versions.not_eligible IS 'Why the index does not rank it, in its words.';
COMMENT ON COLUMN published_run_versions.profile IS 'source-native or strict.';
COMMENT ON COLUMN published_run_versions.observed_on IS 'The day of measurement that the page shows.';
COMMENT ON COLUMN published_run_versions.published_on IS 'The day of publication that the page shows.';
COMMENT ON COLUMN published_run_versions.lifecycle IS 'What the page''s notes say became of the run: retracted, disputed, superseded, stale; empty for nothing.';
COMMENT ON COLUMN published_run_versions.lifecycle_notes IS 'The notes themselves.';
COMMENT ON COLUMN published_run_versions.run_manifest IS 'The run manifest on the page, canonical JSON.';
COMMENT ON COLUMN published_run_versions.protocol_manifest IS 'The protocol manifest on the page, canonical JSON.';
COMMENT ON COLUMN published_run_versions.environment_manifest IS 'The environment manifest on the page, canonical JSON.';
COMMENT ON COLUMN published_run_versions.state_digest IS 'SHA-256 over all that the page says.';
COMMENT ON COLUMN published_run_versions.body_digest IS 'The archived page that this state was first read from.';
COMMENT ON COLUMN published_run_versions.first_seen_sync IS 'The sync that first saw this state.';

CREATE TABLE published_run_problems (
    page            VARCHAR NOT NULL,
    version         INTEGER NOT NULL,
    field           VARCHAR NOT NULL,
    claimed         VARCHAR NOT NULL,
    manifest_says   VARCHAR NOT NULL,
    first_seen_sync BIGINT NOT NULL
);
COMMENT ON TABLE published_run_problems IS 'Where a run page contradicts the manifest that it shows: both sides, as they are.';
COMMENT ON COLUMN published_run_problems.page IS 'The page.';
COMMENT ON COLUMN published_run_problems.version IS 'Number of its state.';
COMMENT ON COLUMN published_run_problems.field IS 'What the two differ on.';
COMMENT ON COLUMN published_run_problems.claimed IS 'What the page says in words.';
COMMENT ON COLUMN published_run_problems.manifest_says IS 'What follows from its manifest.';
COMMENT ON COLUMN published_run_problems.first_seen_sync IS 'The sync that found it.';

CREATE TABLE published_run_sightings (
    sync_id BIGINT NOT NULL,
    page    VARCHAR NOT NULL,
    version INTEGER NOT NULL
);
COMMENT ON TABLE published_run_sightings IS 'Which run pages each sync read, and in which state.';
COMMENT ON COLUMN published_run_sightings.sync_id IS 'The sync.';
COMMENT ON COLUMN published_run_sightings.page IS 'The page.';
COMMENT ON COLUMN published_run_sightings.version IS 'The state in which it was seen.';

COMMENT ON COLUMN fetches.via IS 'network; revalidated (304, the stored body still holds); archive (no network was used); saved (a file that was given).';
COMMENT ON COLUMN reviews.subject IS 'Digest of the run or of the operation; of a run page its id, @ and the number of its state.';
COMMENT ON COLUMN reviews.reason IS 'BELOW_SPEED_OF_LIGHT (held out of rankings), AMBIGUOUS_SLUG, or PAGE_CONTRADICTS_MANIFEST (a run page of the index).';
