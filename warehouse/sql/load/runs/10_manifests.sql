-- New objects, by digest. The staged rows of a digest are alike but for their metadata; the first one stays.
INSERT INTO operation_specs
SELECT operation_digest, getvariable('source'), slug, title, operation_family, tags, manifest, getvariable('sync_id')
FROM stage_operations ANTI JOIN operation_specs USING (operation_digest)
QUALIFY row_number() OVER (PARTITION BY operation_digest ORDER BY stage_operations.place) = 1;

INSERT INTO workloads
SELECT workload_digest, operation_digest, kind, external_id, manifest, getvariable('sync_id')
FROM stage_workloads ANTI JOIN workloads USING (workload_digest)
QUALIFY row_number() OVER (PARTITION BY workload_digest ORDER BY stage_workloads.place) = 1;

INSERT INTO projects
SELECT digest, name, display_name, manifest, getvariable('sync_id')
FROM stage_projects ANTI JOIN projects USING (digest)
QUALIFY row_number() OVER (PARTITION BY digest ORDER BY stage_projects.place) = 1;

INSERT INTO protocols
SELECT digest, name, comparability_family, harness, stack_version, notes, manifest, getvariable('sync_id')
FROM stage_protocols ANTI JOIN protocols USING (digest)
QUALIFY row_number() OVER (PARTITION BY digest ORDER BY stage_protocols.place) = 1;

INSERT INTO environments
SELECT digest, name, vendor, product, architecture, manifest, getvariable('sync_id')
FROM stage_environments ANTI JOIN environments USING (digest)
QUALIFY row_number() OVER (PARTITION BY digest ORDER BY stage_environments.place) = 1;

INSERT INTO workload_bound_versions
SELECT b.suite_digest, b.entry_index, b.kernel, b.workload_digest, b.baseline_latency_ns, b.speed_of_light_ns,
    getvariable('sync_id')
FROM (SELECT DISTINCT * EXCLUDE (place) FROM stage_workload_bounds) b
LEFT JOIN workload_bounds w USING (suite_digest, entry_index, kernel)
WHERE w.suite_digest IS NULL
    OR w.workload_digest IS DISTINCT FROM b.workload_digest
    OR w.baseline_latency_ns IS DISTINCT FROM b.baseline_latency_ns
    OR w.speed_of_light_ns IS DISTINCT FROM b.speed_of_light_ns
ORDER BY b.suite_digest, b.kernel, b.entry_index;
