CREATE OR REPLACE VIEW workload_bounds AS
SELECT suite_digest, entry_index, kernel, workload_digest, baseline_latency_ns, speed_of_light_ns, first_seen_sync
FROM workload_bound_versions
QUALIFY row_number() OVER (PARTITION BY suite_digest, entry_index, kernel ORDER BY first_seen_sync DESC) = 1;
COMMENT ON VIEW workload_bounds IS 'The latest published bounds of each suite entry. They are per case: a suite''s mean is never compared with them other than as a floor.';
COMMENT ON COLUMN workload_bounds.suite_digest IS 'The suite.';
COMMENT ON COLUMN workload_bounds.entry_index IS 'Place of the entry in the suite, from 0.';
COMMENT ON COLUMN workload_bounds.kernel IS 'The kernel under which they were published: two kernels may share a suite.';
COMMENT ON COLUMN workload_bounds.workload_digest IS 'The entry''s case; null when it could not be bound.';
COMMENT ON COLUMN workload_bounds.baseline_latency_ns IS 'The source''s reference latency on this entry, nanoseconds (fractions occur).';
COMMENT ON COLUMN workload_bounds.speed_of_light_ns IS 'The source''s estimate of the least possible time on this entry, nanoseconds (fractions occur).';
COMMENT ON COLUMN workload_bounds.first_seen_sync IS 'The sync that brought these bounds.';

CREATE OR REPLACE VIEW operations AS
WITH latest AS (
    SELECT digest, arg_max(metadata, first_seen_sync) AS metadata
    FROM metadata_versions WHERE kind = 'OperationSpec' GROUP BY digest
)
SELECT o.operation_digest, o.source,
    coalesce(l.metadata->>'$.name', o.slug) AS slug,
    coalesce(l.metadata->>'$.title', o.title) AS title,
    o.operation_family,
    coalesce(from_json(l.metadata->'$.tags', '["VARCHAR"]'), o.tags) AS tags,
    o.manifest, o.first_seen_sync
FROM operation_specs o LEFT JOIN latest l ON l.digest = o.operation_digest;
COMMENT ON VIEW operations IS 'What is computed: one OperationSpec for each distinct kernel definition, with its latest names and tags. Names are not identity: two operations may share one, so join by digest.';
COMMENT ON COLUMN operations.operation_digest IS 'Digest of the OperationSpec.';
COMMENT ON COLUMN operations.source IS 'Slug of the source that defined it.';
COMMENT ON COLUMN operations.slug IS 'Short name for addresses, the latest known.';
COMMENT ON COLUMN operations.title IS 'The source''s name of the kernel, the latest known.';
COMMENT ON COLUMN operations.operation_family IS 'Kind of operation (attention, normalization, …). Not a comparability family.';
COMMENT ON COLUMN operations.tags IS 'The source''s tags, the latest known: subset, topics, model:… provenance.';
COMMENT ON COLUMN operations.manifest IS 'The manifest as first seen, canonical JSON.';
COMMENT ON COLUMN operations.first_seen_sync IS 'The sync that brought it.';

CREATE OR REPLACE MACRO run_states_as_of(until_sync) AS TABLE
SELECT run_digest, event, reason, "at", sync_id, by_run_digest
FROM lifecycle
WHERE sync_id <= until_sync
QUALIFY row_number() OVER (PARTITION BY run_digest ORDER BY sync_id DESC) = 1;
COMMENT ON MACRO TABLE run_states_as_of IS 'The view run_states as it was after a sync.';

CREATE OR REPLACE VIEW run_states AS FROM run_states_as_of(9223372036854775807);
COMMENT ON VIEW run_states IS 'The latest event of each run that had one; a run without is as it was published. Not the history, which is lifecycle, and not all reasons for not ranking, which are in eligibility.';
COMMENT ON COLUMN run_states.run_digest IS 'The run.';
COMMENT ON COLUMN run_states.event IS 'superseded, retracted, withdrawn or reinstated.';
COMMENT ON COLUMN run_states.reason IS 'Why.';
COMMENT ON COLUMN run_states."at" IS 'When the sync saw it, UTC.';
COMMENT ON COLUMN run_states.sync_id IS 'The sync that saw it.';
COMMENT ON COLUMN run_states.by_run_digest IS 'The run that took its place, for superseded.';

CREATE OR REPLACE VIEW submissions AS
WITH last_listed AS (
    SELECT source, kernel, entries_sync, max(sync_id) AS sync_id FROM listings GROUP BY ALL
), last_seen AS (
    SELECT e.source, e.external_id, e.version, max(l.sync_id) AS last_seen_sync
    FROM listing_entries e
    JOIN last_listed l ON l.source = e.source AND l.kernel = e.kernel AND l.entries_sync = e.sync_id
    GROUP BY ALL
), renamed AS (
    SELECT s.source, s.external_id, s.version, max(r.first_seen_sync) AS since,
        arg_max(r.username, r.first_seen_sync) AS username
    FROM submission_renames r
    JOIN last_seen s ON s.source = r.source AND s.external_id = r.external_id AND r.first_seen_sync <= s.last_seen_sync
    GROUP BY ALL
)
SELECT v.source, v.external_id, v.version, v.kernel,
    if(r.since > v.first_seen_sync, r.username, v.username) AS username,
    v.status, v.is_correct, v.is_disqualified, v.disqualification_reason, v.latency_ms, v.sol_score, v.gpu_type,
    v.stack_version, v.submitted_at, v.finished_at, v.first_seen_sync,
    coalesce(s.last_seen_sync, v.first_seen_sync) AS last_seen_sync, v.payload, v.state_digest, v.body_digest
FROM submission_versions v
LEFT JOIN last_seen s USING (source, external_id, version)
LEFT JOIN renamed r USING (source, external_id, version);
COMMENT ON VIEW submissions IS 'Every state ever seen of every submission. The current one has the highest version; states are not results (see runs).';
COMMENT ON COLUMN submissions.source IS 'Slug of the source.';
COMMENT ON COLUMN submissions.external_id IS 'The source''s bare id.';
COMMENT ON COLUMN submissions.version IS 'Number of the state, from 1.';
COMMENT ON COLUMN submissions.kernel IS 'The source''s name of the kernel.';
COMMENT ON COLUMN submissions.username IS 'The submitter''s name when this state was last seen.';
COMMENT ON COLUMN submissions.status IS 'The source''s word: COMPLETED, FAILED, PENDING, …';
COMMENT ON COLUMN submissions.is_correct IS 'Whether the source found it correct.';
COMMENT ON COLUMN submissions.is_disqualified IS 'Whether the source disqualified it.';
COMMENT ON COLUMN submissions.disqualification_reason IS 'The source''s reason.';
COMMENT ON COLUMN submissions.latency_ms IS 'Latency in milliseconds, the source''s own decimal text.';
COMMENT ON COLUMN submissions.sol_score IS 'The source''s SOL-Score.';
COMMENT ON COLUMN submissions.gpu_type IS 'The source''s word for the GPU.';
COMMENT ON COLUMN submissions.stack_version IS 'Evaluation stack version, text; null where the source gives none.';
COMMENT ON COLUMN submissions.submitted_at IS 'When it was submitted, UTC.';
COMMENT ON COLUMN submissions.finished_at IS 'When its evaluation finished, UTC.';
COMMENT ON COLUMN submissions.first_seen_sync IS 'The sync that first saw this state.';
COMMENT ON COLUMN submissions.last_seen_sync IS 'The last sync that listed it in this state.';
COMMENT ON COLUMN submissions.payload IS 'The item as the source sent it.';
COMMENT ON COLUMN submissions.state_digest IS 'SHA-256 over the known fields but the username, numbers by value.';
COMMENT ON COLUMN submissions.body_digest IS 'The archived answer that this state was first read from.';
