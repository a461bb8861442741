-- Tables without an index keep their keys unique all the same.
SELECT 'runs' AS subject, run_digest AS detail FROM runs GROUP BY run_digest HAVING count(*) > 1
UNION ALL SELECT 'implementations', implementation_digest FROM implementations
    GROUP BY implementation_digest HAVING count(*) > 1
UNION ALL SELECT 'operations', operation_digest FROM operations GROUP BY operation_digest HAVING count(*) > 1
UNION ALL SELECT 'workloads', workload_digest FROM workloads GROUP BY workload_digest HAVING count(*) > 1
UNION ALL SELECT 'projects', project_digest FROM projects GROUP BY project_digest HAVING count(*) > 1
UNION ALL SELECT 'protocols', protocol_digest FROM protocols GROUP BY protocol_digest HAVING count(*) > 1
UNION ALL SELECT 'environments', environment_digest FROM environments GROUP BY environment_digest HAVING count(*) > 1
UNION ALL SELECT 'measurements', run_digest FROM measurements
    GROUP BY run_digest, metric, statistic, unit HAVING count(*) > 1
UNION ALL SELECT 'source_metrics', run_digest FROM source_metrics GROUP BY run_digest, metric HAVING count(*) > 1
UNION ALL SELECT 'submission_versions', external_id FROM submission_versions
    GROUP BY source, external_id, version HAVING count(*) > 1
UNION ALL SELECT 'submission_runs', external_id FROM submission_runs
    GROUP BY source, external_id, version HAVING count(*) > 1
UNION ALL SELECT 'listings', kernel FROM listings GROUP BY sync_id, source, kernel HAVING count(*) > 1
UNION ALL SELECT 'syncs', sync_id::VARCHAR FROM syncs GROUP BY sync_id HAVING count(*) > 1;
