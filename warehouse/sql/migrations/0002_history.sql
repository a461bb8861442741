-- What people say (kept in the archive, copied here), who led when, and intervals that sources state.

ALTER TABLE runs ADD COLUMN primary_low DOUBLE;
ALTER TABLE runs ADD COLUMN primary_high DOUBLE;
COMMENT ON COLUMN runs.primary_low IS 'Lower end of the 95 % confidence interval that the source states for the primary value, in primary_unit; null where it states none.';
COMMENT ON COLUMN runs.primary_high IS 'Upper end of that interval.';

DROP VIEW IF EXISTS ineligible; -- now eligibility

CREATE TABLE verdicts (
    verdict_id BIGINT NOT NULL,
    subject    VARCHAR NOT NULL,
    verdict    VARCHAR NOT NULL,
    reason     VARCHAR NOT NULL,
    by_name    VARCHAR NOT NULL,
    decided_at TIMESTAMPTZ NOT NULL,
    after_sync BIGINT NOT NULL
);
COMMENT ON TABLE verdicts IS 'What people decided on reviews, in order; the latest verdict on a subject counts. A copy of the archive''s.';
COMMENT ON COLUMN verdicts.verdict_id IS 'Number of the verdict in the archive, in order of time.';
COMMENT ON COLUMN verdicts.subject IS 'The subject of the review: digest of a run or of an operation.';
COMMENT ON COLUMN verdicts.verdict IS 'accept (the doubt is lifted: the run ranks) or hold (the doubt stands: it does not).';
COMMENT ON COLUMN verdicts.reason IS 'Why, in the words of whoever decided.';
COMMENT ON COLUMN verdicts.by_name IS 'Who decided.';
COMMENT ON COLUMN verdicts.decided_at IS 'When, UTC.';
COMMENT ON COLUMN verdicts.after_sync IS 'The latest sync of the home at that time.';

CREATE TABLE notes (
    note_id    BIGINT NOT NULL,
    run_digest VARCHAR NOT NULL,
    kind       VARCHAR NOT NULL,
    note       VARCHAR NOT NULL,
    by_name    VARCHAR NOT NULL,
    written_at TIMESTAMPTZ NOT NULL
);
COMMENT ON TABLE notes IS 'Local notes on runs, signed by name. They change no evidence level and no rank. A copy of the archive''s.';
COMMENT ON COLUMN notes.note_id IS 'Number of the note in the archive, in order of time.';
COMMENT ON COLUMN notes.run_digest IS 'The run.';
COMMENT ON COLUMN notes.kind IS 'note or reproduction.';
COMMENT ON COLUMN notes.note IS 'The text.';
COMMENT ON COLUMN notes.by_name IS 'Who wrote it.';
COMMENT ON COLUMN notes.written_at IS 'When, UTC.';

CREATE TABLE record_events (
    comparability_family VARCHAR NOT NULL,
    comparison_key       VARCHAR NOT NULL,
    number               INTEGER NOT NULL,
    "at"                 TIMESTAMPTZ NOT NULL,
    run_digest           VARCHAR,
    previous_run_digest  VARCHAR,
    cause                VARCHAR NOT NULL,
    kernel               VARCHAR NOT NULL,
    source               VARCHAR NOT NULL,
    external_id          VARCHAR,
    primary_value        DOUBLE,
    primary_unit         VARCHAR,
    sync_id              BIGINT NOT NULL,
    policy               VARCHAR NOT NULL
);
COMMENT ON TABLE record_events IS 'Every change of a cohort''s leader, on a time line that is derived anew from runs and lifecycle after each sync; not evidence. A run counts from its observation (one that supersedes another: from that moment) until it is superseded or retracted; a tie is no new record.';
COMMENT ON COLUMN record_events.comparability_family IS 'The partition.';
COMMENT ON COLUMN record_events.comparison_key IS 'The cohort.';
COMMENT ON COLUMN record_events.number IS 'Number of the event in its cohort, from 1.';
COMMENT ON COLUMN record_events."at" IS 'When the leader changed, UTC: the observation, or the sync that saw a run fall or return.';
COMMENT ON COLUMN record_events.run_digest IS 'Who leads from then on; null when nobody does.';
COMMENT ON COLUMN record_events.previous_run_digest IS 'Who led until then; null when nobody did.';
COMMENT ON COLUMN record_events.cause IS 'new_run; supersession or retraction (the leader fell, also when withdrawn); reinstatement (a run returned).';
COMMENT ON COLUMN record_events.kernel IS 'The source''s name of the kernel.';
COMMENT ON COLUMN record_events.source IS 'Slug of the source.';
COMMENT ON COLUMN record_events.external_id IS 'The source''s bare id of the leading submission; null when nobody leads.';
COMMENT ON COLUMN record_events.primary_value IS 'The leading value, in primary_unit; null when nobody leads.';
COMMENT ON COLUMN record_events.primary_unit IS 'Its unit, e.g. ns.';
COMMENT ON COLUMN record_events.sync_id IS 'The sync that brought what caused it.';
COMMENT ON COLUMN record_events.policy IS 'The ranking policy and its version.';

CREATE TABLE standings (
    comparability_family VARCHAR NOT NULL,
    comparison_key       VARCHAR NOT NULL,
    rank                 BIGINT NOT NULL,
    tied                 BOOLEAN NOT NULL,
    cohort_size          BIGINT NOT NULL,
    run_digest           VARCHAR NOT NULL,
    external_id          VARCHAR NOT NULL,
    source               VARCHAR NOT NULL,
    kernel               VARCHAR NOT NULL,
    project              VARCHAR NOT NULL,
    product              VARCHAR NOT NULL,
    stack_version        VARCHAR NOT NULL,
    primary_value        DOUBLE NOT NULL,
    primary_unit         VARCHAR NOT NULL,
    relative_to_best     DOUBLE,
    observed_at          TIMESTAMPTZ NOT NULL,
    profile              VARCHAR NOT NULL,
    place                BIGINT NOT NULL,
    policy               VARCHAR NOT NULL
);
COMMENT ON TABLE standings IS 'The ranked runs of every cohort, derived anew where a sync changed something: what the view leaderboard shows. Not evidence.';
COMMENT ON COLUMN standings.comparability_family IS 'The partition.';
COMMENT ON COLUMN standings.comparison_key IS 'The cohort.';
COMMENT ON COLUMN standings.rank IS 'Dense rank by primary value, best first; runs that tie share it.';
COMMENT ON COLUMN standings.tied IS 'Whether another run shares the rank.';
COMMENT ON COLUMN standings.cohort_size IS 'Number of ranked runs in the cohort.';
COMMENT ON COLUMN standings.run_digest IS 'The run.';
COMMENT ON COLUMN standings.external_id IS 'The source''s bare id of the submission.';
COMMENT ON COLUMN standings.source IS 'Slug of the source.';
COMMENT ON COLUMN standings.kernel IS 'The source''s name of the kernel.';
COMMENT ON COLUMN standings.project IS 'The submitter''s name, the latest known.';
COMMENT ON COLUMN standings.product IS 'Hardware product.';
COMMENT ON COLUMN standings.stack_version IS 'Version of the harness, text.';
COMMENT ON COLUMN standings.primary_value IS 'The value that ranks, in primary_unit; lower is better.';
COMMENT ON COLUMN standings.primary_unit IS 'Its unit, e.g. ns.';
COMMENT ON COLUMN standings.relative_to_best IS 'primary_value over the cohort''s best: 1 for the leader, 2 for twice the time.';
COMMENT ON COLUMN standings.observed_at IS 'When the source says it was measured, UTC.';
COMMENT ON COLUMN standings.profile IS 'source-native (the source''s own aggregate: equal values tie) or strict (overlapping stated intervals tie).';
COMMENT ON COLUMN standings.place IS 'Order of presentation, ties included: higher evidence, newer observation, id. Not a claim.';
COMMENT ON COLUMN standings.policy IS 'The ranking policy and its version.';
