-- Later names, titles and labels of objects that were there before. Compared with the latest under the same name, so
-- that two objects of one digest do not take turns.
INSERT INTO metadata_versions
WITH incoming AS (
    SELECT operation_digest AS digest, 'OperationSpec' AS kind, name, metadata FROM stage_operations
    UNION SELECT workload_digest, kind, name, metadata FROM stage_workloads
    UNION SELECT project_digest, 'SoftwareProject', name, metadata FROM stage_projects
    UNION SELECT protocol_digest, 'BenchmarkProtocol', name, metadata FROM stage_protocols
    UNION SELECT environment_digest, 'ExecutionEnvironment', name, metadata FROM stage_environments
    UNION SELECT implementation_digest, 'ImplementationRevision', name, metadata FROM stage_implementations
    UNION SELECT run_digest, 'BenchmarkRun', name, metadata FROM stage_runs
), earlier AS (
    SELECT operation_digest AS digest, manifest FROM operations
    UNION ALL SELECT workload_digest, manifest FROM workloads
    UNION ALL SELECT project_digest, manifest FROM projects
    UNION ALL SELECT protocol_digest, manifest FROM protocols
    UNION ALL SELECT environment_digest, manifest FROM environments
    UNION ALL SELECT implementation_digest, manifest FROM implementations
        WHERE first_seen_sync < getvariable('sync_id')
    UNION ALL SELECT run_digest, manifest FROM runs WHERE first_seen_sync < getvariable('sync_id')
), first_known AS (
    SELECT digest, manifest->'$.metadata' AS metadata, manifest->>'$.metadata.name' AS name
    FROM earlier SEMI JOIN incoming USING (digest)
), later_known AS (
    SELECT digest, metadata->>'$.name' AS name, arg_max(metadata, first_seen_sync) AS metadata
    FROM metadata_versions SEMI JOIN incoming USING (digest)
    GROUP BY ALL
)
SELECT i.digest, i.kind, i.metadata, getvariable('sync_id')
FROM incoming i
JOIN first_known f USING (digest)
LEFT JOIN later_known l ON l.digest = i.digest AND l.name = i.name
WHERE coalesce(l.metadata, CASE WHEN f.name = i.name THEN f.metadata END)::VARCHAR IS DISTINCT FROM i.metadata
ORDER BY i.digest;
