-- Every digest is sha256: and 64 lower-case hex digits.
WITH digests AS (
    SELECT 'runs' AS subject, unnest([run_digest, comparison_key]) AS digest FROM runs
    UNION ALL SELECT 'implementations', implementation_digest FROM implementations
    UNION ALL SELECT 'operation_specs', operation_digest FROM operation_specs
    UNION ALL SELECT 'workloads', workload_digest FROM workloads
    UNION ALL SELECT 'protocols', digest FROM protocols
    UNION ALL SELECT 'environments', digest FROM environments
    UNION ALL SELECT 'projects', digest FROM projects
    UNION ALL SELECT 'submission_versions', unnest([body_digest, state_digest]) FROM submission_versions
    UNION ALL SELECT 'listings', unnest([body_digest, definition_digest]) FROM listings
    UNION ALL SELECT 'fetches', body_digest FROM fetches
)
SELECT subject, digest AS detail FROM digests WHERE NOT regexp_full_match(digest, 'sha256:[0-9a-f]{64}');
