-- Later names, titles and labels of objects that were there before. Compared with the latest under the same name, so
-- that two objects of one digest do not take turns.
INSERT INTO metadata_versions
WITH earlier AS (
    SELECT operation_digest AS digest, manifest, tags FROM operation_specs
    UNION ALL SELECT workload_digest, manifest, [] FROM workloads
    UNION ALL SELECT digest, manifest, [] FROM projects
    UNION ALL SELECT digest, manifest, [] FROM protocols
    UNION ALL SELECT digest, manifest, [] FROM environments
    UNION ALL SELECT implementation_digest, manifest, [] FROM implementations
        WHERE first_seen_sync < getvariable('sync_id')
    UNION ALL SELECT run_digest, manifest, [] FROM runs WHERE first_seen_sync < getvariable('sync_id')
), staged AS (
    SELECT operation_digest AS digest, 'OperationSpec' AS kind, manifest, tags FROM stage_operations
    UNION ALL SELECT workload_digest, kind, manifest, [] FROM stage_workloads
    UNION ALL SELECT digest, 'SoftwareProject', manifest, [] FROM stage_projects
    UNION ALL SELECT digest, 'BenchmarkProtocol', manifest, [] FROM stage_protocols
    UNION ALL SELECT digest, 'ExecutionEnvironment', manifest, [] FROM stage_environments
    UNION ALL SELECT implementation_digest, 'ImplementationRevision', manifest, [] FROM stage_implementations
    UNION ALL SELECT run_digest, 'BenchmarkRun', manifest, [] FROM stage_runs
), changed AS (
    SELECT DISTINCT s.digest, s.kind, s.manifest->>'$.metadata.name' AS name,
        e.manifest->>'$.metadata.name' AS first_name,
        if(kind = 'OperationSpec', json_merge_patch(s.manifest->'$.metadata', json_object('tags', s.tags)),
            s.manifest->'$.metadata') AS metadata,
        if(kind = 'OperationSpec', json_merge_patch(e.manifest->'$.metadata', json_object('tags', e.tags)),
            e.manifest->'$.metadata') AS first_metadata
    FROM staged s JOIN earlier e USING (digest)
    WHERE s.manifest <> e.manifest::VARCHAR OR s.tags <> e.tags OR s.digest IN (SELECT digest FROM metadata_versions)
), latest AS (
    SELECT digest, metadata->>'$.name' AS name, arg_max(metadata, first_seen_sync) AS metadata
    FROM metadata_versions SEMI JOIN changed USING (digest)
    GROUP BY ALL
)
SELECT c.digest, c.kind, c.metadata, getvariable('sync_id')
FROM changed c
LEFT JOIN latest l ON l.digest = c.digest AND l.name = c.name
WHERE coalesce(l.metadata, CASE WHEN c.first_name = c.name THEN c.first_metadata END)::VARCHAR
    IS DISTINCT FROM c.metadata::VARCHAR
ORDER BY c.digest;
