-- Tables without an index keep their keys unique all the same.
SELECT 'runs' AS subject, run_digest AS detail FROM runs GROUP BY run_digest HAVING count(*) > 1
UNION ALL SELECT 'implementations', implementation_digest FROM implementations
    GROUP BY implementation_digest HAVING count(*) > 1
UNION ALL SELECT 'operations', operation_digest FROM operation_specs GROUP BY operation_digest HAVING count(*) > 1
UNION ALL SELECT 'workloads', workload_digest FROM workloads GROUP BY workload_digest HAVING count(*) > 1
UNION ALL SELECT 'projects', digest FROM projects GROUP BY digest HAVING count(*) > 1
UNION ALL SELECT 'protocols', digest FROM protocols GROUP BY digest HAVING count(*) > 1
UNION ALL SELECT 'environments', digest FROM environments GROUP BY digest HAVING count(*) > 1
UNION ALL SELECT 'measurements', run_digest FROM measurements
    GROUP BY run_digest, metric, statistic, unit HAVING count(*) > 1
UNION ALL SELECT 'source_metrics', run_digest FROM source_metrics GROUP BY run_digest, metric HAVING count(*) > 1
UNION ALL SELECT 'submission_versions', external_id FROM submission_versions
    GROUP BY source, external_id, version HAVING count(*) > 1
UNION ALL SELECT 'submission_runs', external_id FROM submission_runs
    GROUP BY source, external_id, version HAVING count(*) > 1
UNION ALL SELECT 'listings', kernel FROM listings GROUP BY sync_id, source, kernel HAVING count(*) > 1
UNION ALL SELECT 'listing_entries', external_id FROM listing_entries
    GROUP BY sync_id, source, kernel, external_id HAVING count(*) > 1
UNION ALL SELECT 'workload_bound_versions', suite_digest FROM workload_bound_versions
    GROUP BY suite_digest, entry_index, kernel, first_seen_sync HAVING count(*) > 1
UNION ALL SELECT 'metadata_versions', digest FROM metadata_versions
    GROUP BY digest, metadata, first_seen_sync HAVING count(*) > 1
UNION ALL SELECT 'submission_renames', external_id FROM submission_renames
    GROUP BY source, external_id, first_seen_sync HAVING count(*) > 1
UNION ALL SELECT 'reviews', subject FROM reviews GROUP BY source, subject, reason HAVING count(*) > 1
UNION ALL SELECT 'lifecycle', run_digest FROM lifecycle GROUP BY run_digest, sync_id HAVING count(*) > 1
UNION ALL SELECT 'fetches', fetch_id::VARCHAR FROM fetches GROUP BY fetch_id HAVING count(*) > 1
UNION ALL SELECT 'syncs', sync_id::VARCHAR FROM syncs GROUP BY sync_id HAVING count(*) > 1;
