-- Evidence tables. They only grow: no row is updated or deleted. Big tables carry no index (uniqueness is a check) and
-- keep their rows in the order comparability_family, comparison_key. Long texts are compressed with Zstandard: a third of
-- the size and half of the commit (docs/adr/0006).

CREATE TABLE schema_migrations (
    number     INTEGER NOT NULL,
    name       VARCHAR NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE schema_migrations IS 'Which numbered SQL files made this schema.';
COMMENT ON COLUMN schema_migrations.number IS 'Number of the file.';
COMMENT ON COLUMN schema_migrations.name IS 'Name of the file.';
COMMENT ON COLUMN schema_migrations.applied_at IS 'When it was applied, UTC.';

CREATE TABLE syncs (
    sync_id     BIGINT NOT NULL,
    source      VARCHAR NOT NULL,
    base_url    VARCHAR NOT NULL,
    scope       JSON NOT NULL,
    status      VARCHAR NOT NULL,
    started_at  TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ,
    kix_version VARCHAR NOT NULL
);
COMMENT ON TABLE syncs IS 'Every sync that ended: one reading of a source, or an attempt at it.';
COMMENT ON COLUMN syncs.sync_id IS 'Number of the sync in this home; later syncs have higher numbers.';
COMMENT ON COLUMN syncs.source IS 'Slug of the source, e.g. sol-execbench.';
COMMENT ON COLUMN syncs.base_url IS 'Where it was read from.';
COMMENT ON COLUMN syncs.scope IS 'What was asked for: kernels, tag, limit and mode; nulls mean everything.';
COMMENT ON COLUMN syncs.status IS 'complete; partial (something was rejected or incomplete); failed or interrupted (nothing was loaded).';
COMMENT ON COLUMN syncs.started_at IS 'When it began, UTC.';
COMMENT ON COLUMN syncs.finished_at IS 'When its rows were loaded, or when it failed, UTC.';
COMMENT ON COLUMN syncs.kix_version IS 'Version of kix that ran it.';

CREATE TABLE fetches (
    sync_id     BIGINT NOT NULL,
    fetch_id    BIGINT NOT NULL,
    url         VARCHAR NOT NULL,
    status      SMALLINT,
    fetched_at  TIMESTAMPTZ NOT NULL,
    via         VARCHAR NOT NULL,
    etag        VARCHAR,
    media_type  VARCHAR,
    body_digest VARCHAR,
    size_bytes  BIGINT,
    error       VARCHAR
);
COMMENT ON TABLE fetches IS 'Every answer a sync got, and every failure to get one. The bodies are in the archive.';
COMMENT ON COLUMN fetches.sync_id IS 'The sync that asked.';
COMMENT ON COLUMN fetches.fetch_id IS 'Number of the fetch in the archive, in order of time.';
COMMENT ON COLUMN fetches.url IS 'What was asked.';
COMMENT ON COLUMN fetches.status IS 'HTTP status; null when no whole answer came.';
COMMENT ON COLUMN fetches.fetched_at IS 'When the answer was there, UTC.';
COMMENT ON COLUMN fetches.via IS 'network; revalidated (304, the stored body still holds); archive (no network was used).';
COMMENT ON COLUMN fetches.etag IS 'The entity tag that the source sent.';
COMMENT ON COLUMN fetches.media_type IS 'The media type that the source sent.';
COMMENT ON COLUMN fetches.body_digest IS 'SHA-256 of the body after decompression; its key in the archive.';
COMMENT ON COLUMN fetches.size_bytes IS 'Size of the body after decompression, bytes.';
COMMENT ON COLUMN fetches.error IS 'Why the answer was of no use.';

CREATE TABLE operation_specs (
    operation_digest VARCHAR NOT NULL,
    source           VARCHAR NOT NULL,
    slug             VARCHAR NOT NULL,
    title            VARCHAR NOT NULL,
    operation_family VARCHAR NOT NULL,
    tags             VARCHAR[] NOT NULL,
    manifest         JSON NOT NULL USING COMPRESSION zstd,
    first_seen_sync  BIGINT NOT NULL
);
COMMENT ON TABLE operation_specs IS 'What is computed: one OperationSpec for each distinct kernel definition, as first seen. The view operations has the latest names and tags.';
COMMENT ON COLUMN operation_specs.operation_digest IS 'Digest of the OperationSpec.';
COMMENT ON COLUMN operation_specs.source IS 'Slug of the source that defined it.';
COMMENT ON COLUMN operation_specs.slug IS 'Short name for addresses, from the first manifest.';
COMMENT ON COLUMN operation_specs.title IS 'The source''s name of the kernel, from the first manifest.';
COMMENT ON COLUMN operation_specs.operation_family IS 'Kind of operation (attention, normalization, …). Not a comparability family.';
COMMENT ON COLUMN operation_specs.tags IS 'The source''s tags, as first sent: subset, topics, model:… provenance.';
COMMENT ON COLUMN operation_specs.manifest IS 'The manifest as first seen, canonical JSON.';
COMMENT ON COLUMN operation_specs.first_seen_sync IS 'The sync that brought it.';

CREATE TABLE workloads (
    workload_digest  VARCHAR NOT NULL,
    operation_digest VARCHAR NOT NULL,
    kind             VARCHAR NOT NULL,
    external_id      VARCHAR NOT NULL,
    manifest         JSON NOT NULL USING COMPRESSION zstd,
    first_seen_sync  BIGINT NOT NULL
);
COMMENT ON TABLE workloads IS 'Concrete sizes of an operation: single cases, and suites of cases whose aggregate a source publishes.';
COMMENT ON COLUMN workloads.workload_digest IS 'Digest of the WorkloadCase or WorkloadSuite.';
COMMENT ON COLUMN workloads.operation_digest IS 'The operation it is a workload of.';
COMMENT ON COLUMN workloads.kind IS 'WorkloadCase or WorkloadSuite.';
COMMENT ON COLUMN workloads.external_id IS 'The source''s id of the case, or <kernel>/suite.';
COMMENT ON COLUMN workloads.manifest IS 'The manifest as first seen, canonical JSON.';
COMMENT ON COLUMN workloads.first_seen_sync IS 'The sync that brought it.';

CREATE TABLE workload_bound_versions (
    suite_digest        VARCHAR NOT NULL,
    entry_index         INTEGER NOT NULL,
    kernel              VARCHAR NOT NULL,
    workload_digest     VARCHAR,
    baseline_latency_ns DOUBLE,
    speed_of_light_ns   DOUBLE,
    first_seen_sync     BIGINT NOT NULL
);
COMMENT ON TABLE workload_bound_versions IS 'Every bound ever published for a suite''s entries; the view workload_bounds has the latest.';
COMMENT ON COLUMN workload_bound_versions.suite_digest IS 'The suite.';
COMMENT ON COLUMN workload_bound_versions.entry_index IS 'Place of the entry in the suite, from 0.';
COMMENT ON COLUMN workload_bound_versions.kernel IS 'The kernel under which they were published: two kernels may share a suite.';
COMMENT ON COLUMN workload_bound_versions.workload_digest IS 'The entry''s case; null when it could not be bound.';
COMMENT ON COLUMN workload_bound_versions.baseline_latency_ns IS 'The source''s reference latency on this entry, nanoseconds (fractions occur).';
COMMENT ON COLUMN workload_bound_versions.speed_of_light_ns IS 'The source''s estimate of the least possible time on this entry, nanoseconds (fractions occur).';
COMMENT ON COLUMN workload_bound_versions.first_seen_sync IS 'The sync that brought it.';

CREATE TABLE projects (
    digest          VARCHAR NOT NULL,
    name            VARCHAR NOT NULL,
    display_name    VARCHAR NOT NULL,
    manifest        JSON NOT NULL USING COMPRESSION zstd,
    first_seen_sync BIGINT NOT NULL
);
COMMENT ON TABLE projects IS 'Who submits: one SoftwareProject for each user name of a source.';
COMMENT ON COLUMN projects.digest IS 'Digest of the SoftwareProject.';
COMMENT ON COLUMN projects.name IS 'Name in the manifest''s metadata; several users may share one.';
COMMENT ON COLUMN projects.display_name IS 'The name as the source shows it.';
COMMENT ON COLUMN projects.manifest IS 'The manifest as first seen, canonical JSON.';
COMMENT ON COLUMN projects.first_seen_sync IS 'The sync that brought it.';

CREATE TABLE implementations (
    implementation_digest VARCHAR NOT NULL,
    source                VARCHAR NOT NULL,
    operation_digest      VARCHAR NOT NULL,
    project               VARCHAR NOT NULL,
    external_id           VARCHAR NOT NULL,
    language              VARCHAR NOT NULL,
    license               VARCHAR,
    manifest              JSON NOT NULL USING COMPRESSION zstd,
    first_seen_sync       BIGINT NOT NULL
);
COMMENT ON TABLE implementations IS 'What was measured: one ImplementationRevision for each submission that became a run.';
COMMENT ON COLUMN implementations.implementation_digest IS 'Digest of the ImplementationRevision.';
COMMENT ON COLUMN implementations.source IS 'Slug of the source.';
COMMENT ON COLUMN implementations.operation_digest IS 'The operation it implements.';
COMMENT ON COLUMN implementations.project IS 'The submitter''s name when it was first seen.';
COMMENT ON COLUMN implementations.external_id IS 'The source''s bare id of the submission.';
COMMENT ON COLUMN implementations.language IS 'Language of the code; unknown where the source does not say.';
COMMENT ON COLUMN implementations.license IS 'Declared licence; null where the source does not say.';
COMMENT ON COLUMN implementations.manifest IS 'The manifest as first seen, canonical JSON.';
COMMENT ON COLUMN implementations.first_seen_sync IS 'The sync that brought it.';

CREATE TABLE protocols (
    digest               VARCHAR NOT NULL,
    name                 VARCHAR NOT NULL,
    comparability_family VARCHAR NOT NULL,
    harness              VARCHAR NOT NULL,
    stack_version        VARCHAR NOT NULL,
    notes                VARCHAR,
    manifest             JSON NOT NULL USING COMPRESSION zstd,
    first_seen_sync      BIGINT NOT NULL
);
COMMENT ON TABLE protocols IS 'How it was measured: one BenchmarkProtocol for each harness version.';
COMMENT ON COLUMN protocols.digest IS 'Digest of the BenchmarkProtocol.';
COMMENT ON COLUMN protocols.name IS 'Name in the manifest''s metadata.';
COMMENT ON COLUMN protocols.comparability_family IS 'The family of runs measured this way.';
COMMENT ON COLUMN protocols.harness IS 'Name of the harness.';
COMMENT ON COLUMN protocols.stack_version IS 'Version of the harness, text (v1.0 is no number); unknown where the source gives none.';
COMMENT ON COLUMN protocols.notes IS 'What the protocol says about comparing its results.';
COMMENT ON COLUMN protocols.manifest IS 'The manifest as first seen, canonical JSON.';
COMMENT ON COLUMN protocols.first_seen_sync IS 'The sync that brought it.';

CREATE TABLE environments (
    digest             VARCHAR NOT NULL,
    name               VARCHAR NOT NULL,
    vendor             VARCHAR NOT NULL,
    product            VARCHAR NOT NULL,
    architecture       VARCHAR NOT NULL,
    manifest           JSON NOT NULL USING COMPRESSION zstd,
    first_seen_sync    BIGINT NOT NULL
);
COMMENT ON TABLE environments IS 'Where it was measured: one ExecutionEnvironment for each hardware and software.';
COMMENT ON COLUMN environments.digest IS 'Digest of the ExecutionEnvironment.';
COMMENT ON COLUMN environments.name IS 'Name in the manifest''s metadata.';
COMMENT ON COLUMN environments.vendor IS 'Maker of the hardware.';
COMMENT ON COLUMN environments.product IS 'Hardware product, e.g. NVIDIA B200.';
COMMENT ON COLUMN environments.architecture IS 'Hardware architecture, e.g. sm_100; unknown for a product that is not curated.';
COMMENT ON COLUMN environments.manifest IS 'The manifest as first seen, canonical JSON.';
COMMENT ON COLUMN environments.first_seen_sync IS 'The sync that brought it.';

CREATE TABLE runs (
    comparability_family  VARCHAR NOT NULL,
    comparison_key        VARCHAR NOT NULL,
    run_digest            VARCHAR NOT NULL,
    source                VARCHAR NOT NULL,
    external_id           VARCHAR NOT NULL,
    kernel                VARCHAR NOT NULL,
    operation_digest      VARCHAR NOT NULL,
    workload_digest       VARCHAR NOT NULL,
    implementation_digest VARCHAR NOT NULL,
    protocol_digest       VARCHAR NOT NULL,
    environment_digest    VARCHAR NOT NULL,
    status                VARCHAR NOT NULL,
    primary_metric        VARCHAR,
    primary_statistic     VARCHAR,
    primary_unit          VARCHAR,
    primary_value         DOUBLE,
    observed_at           TIMESTAMPTZ NOT NULL,
    evidence              VARCHAR NOT NULL,
    profile               VARCHAR NOT NULL,
    manifest              JSON NOT NULL USING COMPRESSION zstd,
    first_seen_sync       BIGINT NOT NULL
);
COMMENT ON TABLE runs IS 'Results: one BenchmarkRun for each state of a submission that states a result. Compare values only within one comparison_key; not every run ranks (see leaderboard).';
COMMENT ON COLUMN runs.comparability_family IS 'The partition: runs of different families are never compared.';
COMMENT ON COLUMN runs.comparison_key IS 'The cohort: runs are comparable only with the same key.';
COMMENT ON COLUMN runs.run_digest IS 'Digest of the BenchmarkRun.';
COMMENT ON COLUMN runs.source IS 'Slug of the source.';
COMMENT ON COLUMN runs.external_id IS 'The source''s bare id of the submission.';
COMMENT ON COLUMN runs.kernel IS 'The source''s name of the kernel.';
COMMENT ON COLUMN runs.operation_digest IS 'What was computed.';
COMMENT ON COLUMN runs.workload_digest IS 'On which workload: a case or a suite.';
COMMENT ON COLUMN runs.implementation_digest IS 'By which implementation.';
COMMENT ON COLUMN runs.protocol_digest IS 'How it was measured.';
COMMENT ON COLUMN runs.environment_digest IS 'Where it was measured.';
COMMENT ON COLUMN runs.status IS 'passed, or how it did not.';
COMMENT ON COLUMN runs.primary_metric IS 'Metric that ranks, e.g. latency.';
COMMENT ON COLUMN runs.primary_statistic IS 'Its statistic, e.g. mean.';
COMMENT ON COLUMN runs.primary_unit IS 'Its unit, e.g. ns.';
COMMENT ON COLUMN runs.primary_value IS 'Its value in primary_unit; lower is better for latency.';
COMMENT ON COLUMN runs.observed_at IS 'When the source says it was measured, UTC, cut to milliseconds.';
COMMENT ON COLUMN runs.evidence IS 'Evidence level: reported, reproducible, verified, replicated.';
COMMENT ON COLUMN runs.profile IS 'source-native (the source''s own aggregate) or strict.';
COMMENT ON COLUMN runs.manifest IS 'The manifest as first seen, canonical JSON.';
COMMENT ON COLUMN runs.first_seen_sync IS 'The sync that brought it.';

CREATE TABLE measurements (
    comparability_family VARCHAR NOT NULL,
    run_digest           VARCHAR NOT NULL,
    metric               VARCHAR NOT NULL,
    statistic            VARCHAR NOT NULL,
    unit                 VARCHAR NOT NULL,
    value                DOUBLE NOT NULL
);
COMMENT ON TABLE measurements IS 'What a run measured, one row a figure.';
COMMENT ON COLUMN measurements.comparability_family IS 'The partition of the run.';
COMMENT ON COLUMN measurements.run_digest IS 'The run.';
COMMENT ON COLUMN measurements.metric IS 'What was measured, e.g. latency.';
COMMENT ON COLUMN measurements.statistic IS 'Which statistic of it, e.g. mean.';
COMMENT ON COLUMN measurements.unit IS 'Unit of the value, e.g. ns.';
COMMENT ON COLUMN measurements.value IS 'The figure, in the unit.';

CREATE TABLE source_metrics (
    comparability_family VARCHAR NOT NULL,
    run_digest           VARCHAR NOT NULL,
    metric               VARCHAR NOT NULL,
    value                DOUBLE NOT NULL
);
COMMENT ON TABLE source_metrics IS 'What the source itself published about a run, in the source''s own units. Not for comparing across sources.';
COMMENT ON COLUMN source_metrics.comparability_family IS 'The partition of the run.';
COMMENT ON COLUMN source_metrics.run_digest IS 'The run.';
COMMENT ON COLUMN source_metrics.metric IS 'The source''s name of the figure: latency_ms, sol_score, avg_speedup, fast_1_count, fast_1_total.';
COMMENT ON COLUMN source_metrics.value IS 'The figure as the source sent it.';

CREATE TABLE metadata_versions (
    digest          VARCHAR NOT NULL,
    kind            VARCHAR NOT NULL,
    metadata        JSON NOT NULL,
    first_seen_sync BIGINT NOT NULL
);
COMMENT ON TABLE metadata_versions IS 'Later names, titles, labels and tags of objects whose first manifest stays as it is.';
COMMENT ON COLUMN metadata_versions.digest IS 'The object.';
COMMENT ON COLUMN metadata_versions.kind IS 'Kind of the object.';
COMMENT ON COLUMN metadata_versions.metadata IS 'The manifest''s metadata as seen later, JSON; of an operation with the source''s tags.';
COMMENT ON COLUMN metadata_versions.first_seen_sync IS 'The sync that brought it.';

CREATE TABLE submission_versions (
    source                  VARCHAR NOT NULL,
    external_id             VARCHAR NOT NULL,
    version                 INTEGER NOT NULL,
    kernel                  VARCHAR NOT NULL,
    username                VARCHAR NOT NULL,
    status                  VARCHAR NOT NULL,
    is_correct              BOOLEAN,
    is_disqualified         BOOLEAN,
    disqualification_reason VARCHAR,
    latency_ms              VARCHAR,
    sol_score               DOUBLE,
    gpu_type                VARCHAR NOT NULL,
    stack_version           VARCHAR,
    submitted_at            TIMESTAMPTZ,
    finished_at             TIMESTAMPTZ,
    payload                 JSON NOT NULL USING COMPRESSION zstd,
    state_digest            VARCHAR NOT NULL,
    body_digest             VARCHAR NOT NULL,
    first_seen_sync         BIGINT NOT NULL
);
COMMENT ON TABLE submission_versions IS 'Every state of every submission; a change in any known field but the username opens a version.';
COMMENT ON COLUMN submission_versions.source IS 'Slug of the source.';
COMMENT ON COLUMN submission_versions.external_id IS 'The source''s bare id.';
COMMENT ON COLUMN submission_versions.version IS 'Number of the state, from 1.';
COMMENT ON COLUMN submission_versions.kernel IS 'The source''s name of the kernel.';
COMMENT ON COLUMN submission_versions.username IS 'The submitter''s name when this state was first seen.';
COMMENT ON COLUMN submission_versions.status IS 'The source''s word: COMPLETED, FAILED, PENDING, …';
COMMENT ON COLUMN submission_versions.is_correct IS 'Whether the source found it correct.';
COMMENT ON COLUMN submission_versions.is_disqualified IS 'Whether the source disqualified it.';
COMMENT ON COLUMN submission_versions.disqualification_reason IS 'The source''s reason.';
COMMENT ON COLUMN submission_versions.latency_ms IS 'Latency in milliseconds, the source''s own decimal text.';
COMMENT ON COLUMN submission_versions.sol_score IS 'The source''s SOL-Score.';
COMMENT ON COLUMN submission_versions.gpu_type IS 'The source''s word for the GPU.';
COMMENT ON COLUMN submission_versions.stack_version IS 'Evaluation stack version, text; null where the source gives none.';
COMMENT ON COLUMN submission_versions.submitted_at IS 'When it was submitted, UTC.';
COMMENT ON COLUMN submission_versions.finished_at IS 'When its evaluation finished, UTC.';
COMMENT ON COLUMN submission_versions.payload IS 'The item as the source sent it.';
COMMENT ON COLUMN submission_versions.state_digest IS 'SHA-256 over the known fields but the username, numbers by value.';
COMMENT ON COLUMN submission_versions.body_digest IS 'The archived answer that this state was first read from.';
COMMENT ON COLUMN submission_versions.first_seen_sync IS 'The sync that first saw this state.';

CREATE TABLE submission_renames (
    source          VARCHAR NOT NULL,
    external_id     VARCHAR NOT NULL,
    username        VARCHAR NOT NULL,
    first_seen_sync BIGINT NOT NULL
);
COMMENT ON TABLE submission_renames IS 'Later user names of submissions; a new name opens no version.';
COMMENT ON COLUMN submission_renames.source IS 'Slug of the source.';
COMMENT ON COLUMN submission_renames.external_id IS 'The source''s bare id.';
COMMENT ON COLUMN submission_renames.username IS 'The name from this sync on.';
COMMENT ON COLUMN submission_renames.first_seen_sync IS 'The sync that first saw the name.';

CREATE TABLE submission_runs (
    source          VARCHAR NOT NULL,
    external_id     VARCHAR NOT NULL,
    version         INTEGER NOT NULL,
    run_digest      VARCHAR NOT NULL,
    first_seen_sync BIGINT NOT NULL
);
COMMENT ON TABLE submission_runs IS 'Which run a state of a submission became. Made once: a later change of the kernel''s definition does not move a run.';
COMMENT ON COLUMN submission_runs.source IS 'Slug of the source.';
COMMENT ON COLUMN submission_runs.external_id IS 'The source''s bare id.';
COMMENT ON COLUMN submission_runs.version IS 'Number of the state.';
COMMENT ON COLUMN submission_runs.run_digest IS 'The run; several states may state the same one.';
COMMENT ON COLUMN submission_runs.first_seen_sync IS 'The sync that made it.';

CREATE TABLE listings (
    sync_id           BIGINT NOT NULL,
    source            VARCHAR NOT NULL,
    kernel            VARCHAR NOT NULL,
    complete          BOOLEAN NOT NULL,
    body_digest       VARCHAR NOT NULL,
    definition_digest VARCHAR,
    listed            INTEGER NOT NULL,
    clean             BOOLEAN NOT NULL,
    entries_sync      BIGINT NOT NULL
);
COMMENT ON TABLE listings IS 'What each sync listed: one row for each kernel it read.';
COMMENT ON COLUMN listings.sync_id IS 'The sync.';
COMMENT ON COLUMN listings.source IS 'Slug of the source.';
COMMENT ON COLUMN listings.kernel IS 'The kernel.';
COMMENT ON COLUMN listings.complete IS 'Whether the listing closed; absence from an incomplete one means nothing.';
COMMENT ON COLUMN listings.body_digest IS 'Digest of the listing''s bytes: of its one page, or over the digests of its pages.';
COMMENT ON COLUMN listings.definition_digest IS 'The archived body of the kernel''s definition; null when it could not be read.';
COMMENT ON COLUMN listings.listed IS 'Number of submissions on the listing.';
COMMENT ON COLUMN listings.clean IS 'Whether everything on it, and the definition, could be used without reject or drift.';
COMMENT ON COLUMN listings.entries_sync IS 'The sync under which listing_entries holds its lines: an earlier one when nothing changed since.';

CREATE TABLE listing_entries (
    sync_id     BIGINT NOT NULL,
    source      VARCHAR NOT NULL,
    kernel      VARCHAR NOT NULL,
    external_id VARCHAR NOT NULL,
    version     INTEGER NOT NULL
);
COMMENT ON TABLE listing_entries IS 'The lines of each listing that differed from the one before it.';
COMMENT ON COLUMN listing_entries.sync_id IS 'The sync that first saw this listing (listings.entries_sync).';
COMMENT ON COLUMN listing_entries.source IS 'Slug of the source.';
COMMENT ON COLUMN listing_entries.kernel IS 'The kernel.';
COMMENT ON COLUMN listing_entries.external_id IS 'The source''s bare id of the submission.';
COMMENT ON COLUMN listing_entries.version IS 'The state in which it was listed.';

CREATE TABLE rejects (
    sync_id BIGINT NOT NULL,
    source  VARCHAR NOT NULL,
    locator VARCHAR NOT NULL,
    item    VARCHAR NOT NULL,
    reason  VARCHAR NOT NULL
);
COMMENT ON TABLE rejects IS 'What could not be used, sync by sync. Nothing of it is in the other tables.';
COMMENT ON COLUMN rejects.sync_id IS 'The sync.';
COMMENT ON COLUMN rejects.source IS 'Slug of the source.';
COMMENT ON COLUMN rejects.locator IS 'Which answer or item.';
COMMENT ON COLUMN rejects.item IS 'The thing itself as far as it could be read; may be empty.';
COMMENT ON COLUMN rejects.reason IS 'Why.';

CREATE TABLE drift (
    sync_id BIGINT NOT NULL,
    source  VARCHAR NOT NULL,
    path    VARCHAR NOT NULL,
    change  VARCHAR NOT NULL,
    locator VARCHAR NOT NULL,
    count   BIGINT NOT NULL
);
COMMENT ON TABLE drift IS 'Changes in the shape of a source''s answers, sync by sync. Warnings: nothing was dropped for them.';
COMMENT ON COLUMN drift.sync_id IS 'The sync.';
COMMENT ON COLUMN drift.source IS 'Slug of the source.';
COMMENT ON COLUMN drift.path IS 'Which field.';
COMMENT ON COLUMN drift.change IS 'new field, field gone, or number sent as text.';
COMMENT ON COLUMN drift.locator IS 'Where it was first seen.';
COMMENT ON COLUMN drift.count IS 'How often.';

CREATE TABLE reviews (
    source          VARCHAR NOT NULL,
    subject         VARCHAR NOT NULL,
    reason          VARCHAR NOT NULL,
    detail          VARCHAR NOT NULL,
    first_seen_sync BIGINT NOT NULL
);
COMMENT ON TABLE reviews IS 'What a person must look at: runs held out of rankings for doubt, names that mean two things.';
COMMENT ON COLUMN reviews.source IS 'Slug of the source.';
COMMENT ON COLUMN reviews.subject IS 'Digest of the run or of the operation.';
COMMENT ON COLUMN reviews.reason IS 'BELOW_SPEED_OF_LIGHT (held out of rankings) or AMBIGUOUS_SLUG.';
COMMENT ON COLUMN reviews.detail IS 'In words.';
COMMENT ON COLUMN reviews.first_seen_sync IS 'The sync that raised it.';

CREATE TABLE lifecycle (
    run_digest    VARCHAR NOT NULL,
    event         VARCHAR NOT NULL,
    reason        VARCHAR NOT NULL,
    "at"          TIMESTAMPTZ NOT NULL,
    sync_id       BIGINT NOT NULL,
    by_run_digest VARCHAR
);
COMMENT ON TABLE lifecycle IS 'What became of runs after they were published, in order of syncs; the latest event decides.';
COMMENT ON COLUMN lifecycle.run_digest IS 'The run.';
COMMENT ON COLUMN lifecycle.event IS 'superseded, retracted, withdrawn or reinstated.';
COMMENT ON COLUMN lifecycle.reason IS 'Why, in the source''s words where it gave any.';
COMMENT ON COLUMN lifecycle."at" IS 'When the sync saw it, UTC.';
COMMENT ON COLUMN lifecycle.sync_id IS 'The sync that saw it.';
COMMENT ON COLUMN lifecycle.by_run_digest IS 'The run that took its place, for superseded.';

CREATE TABLE ordered_rows (
    table_name   VARCHAR NOT NULL,
    rows_ordered BIGINT NOT NULL
);
COMMENT ON TABLE ordered_rows IS 'How many leading rows of each big table are known to be in order of comparability_family, comparison_key.';
COMMENT ON COLUMN ordered_rows.table_name IS 'The table.';
COMMENT ON COLUMN ordered_rows.rows_ordered IS 'Rows in order; the rest was appended since.';
