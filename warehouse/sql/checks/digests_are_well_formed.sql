-- Every digest is sha256: and 64 lower-case hex digits.
SELECT 'runs' AS subject, run_digest AS detail FROM runs
WHERE NOT regexp_full_match(run_digest, 'sha256:[0-9a-f]{64}')
    OR NOT regexp_full_match(comparison_key, 'sha256:[0-9a-f]{64}')
UNION ALL SELECT 'implementations', implementation_digest FROM implementations
WHERE NOT regexp_full_match(implementation_digest, 'sha256:[0-9a-f]{64}')
UNION ALL SELECT 'operations', operation_digest FROM operations
WHERE NOT regexp_full_match(operation_digest, 'sha256:[0-9a-f]{64}')
UNION ALL SELECT 'workloads', workload_digest FROM workloads
WHERE NOT regexp_full_match(workload_digest, 'sha256:[0-9a-f]{64}')
UNION ALL SELECT 'protocols', protocol_digest FROM protocols
WHERE NOT regexp_full_match(protocol_digest, 'sha256:[0-9a-f]{64}')
UNION ALL SELECT 'environments', environment_digest FROM environments
WHERE NOT regexp_full_match(environment_digest, 'sha256:[0-9a-f]{64}')
UNION ALL SELECT 'projects', project_digest FROM projects
WHERE NOT regexp_full_match(project_digest, 'sha256:[0-9a-f]{64}')
UNION ALL SELECT 'submission_versions', body_digest FROM submission_versions
WHERE NOT regexp_full_match(body_digest, 'sha256:[0-9a-f]{64}')
UNION ALL SELECT 'listings', body_digest FROM listings
WHERE NOT regexp_full_match(body_digest, 'sha256:[0-9a-f]{64}');
