-- Every digest that a row refers to is there.
SELECT 'runs.operation_digest' AS subject, operation_digest AS detail FROM runs
    ANTI JOIN operation_specs USING (operation_digest)
UNION ALL SELECT 'runs.workload_digest', workload_digest FROM runs ANTI JOIN workloads USING (workload_digest)
UNION ALL SELECT 'runs.implementation_digest', implementation_digest FROM runs
    ANTI JOIN implementations USING (implementation_digest)
UNION ALL SELECT 'runs.protocol_digest', protocol_digest FROM runs ANTI JOIN protocols ON protocols.digest = protocol_digest
UNION ALL SELECT 'runs.environment_digest', environment_digest FROM runs
    ANTI JOIN environments ON environments.digest = environment_digest
UNION ALL SELECT 'implementations.operation_digest', operation_digest FROM implementations
    ANTI JOIN operation_specs USING (operation_digest)
UNION ALL SELECT 'workloads.operation_digest', operation_digest FROM workloads
    ANTI JOIN operation_specs USING (operation_digest)
UNION ALL SELECT 'measurements.run_digest', run_digest FROM measurements ANTI JOIN runs USING (run_digest)
UNION ALL SELECT 'source_metrics.run_digest', run_digest FROM source_metrics ANTI JOIN runs USING (run_digest)
UNION ALL SELECT 'submission_runs.run_digest', run_digest FROM submission_runs ANTI JOIN runs USING (run_digest)
UNION ALL SELECT 'submission_runs.version', external_id FROM submission_runs
    ANTI JOIN submission_versions USING (source, external_id, version)
UNION ALL SELECT 'listing_entries.version', external_id FROM listing_entries
    ANTI JOIN submission_versions USING (source, external_id, version)
UNION ALL SELECT 'listings.entries_sync', kernel FROM listings l WHERE listed > 0 AND NOT EXISTS (
    FROM listings f WHERE f.sync_id = l.entries_sync AND f.source = l.source AND f.kernel = l.kernel)
UNION ALL SELECT 'workload_bound_versions.suite_digest', suite_digest FROM workload_bound_versions
    ANTI JOIN workloads ON workloads.workload_digest = suite_digest
UNION ALL SELECT 'workload_bound_versions.workload_digest', b.workload_digest FROM workload_bound_versions b
    ANTI JOIN workloads USING (workload_digest) WHERE b.workload_digest IS NOT NULL
UNION ALL SELECT 'lifecycle.run_digest', run_digest FROM lifecycle ANTI JOIN runs USING (run_digest)
UNION ALL SELECT 'lifecycle.by_run_digest', by_run_digest FROM lifecycle
    ANTI JOIN runs ON runs.run_digest = by_run_digest WHERE by_run_digest IS NOT NULL;
