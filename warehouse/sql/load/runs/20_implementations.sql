-- What the new runs ran.
INSERT INTO implementations
SELECT i.implementation_digest, getvariable('source'), i.operation_digest, i.project, i.external_id, i.language,
    i.license, i.manifest, getvariable('sync_id')
FROM stage_implementations i
SEMI JOIN new_runs USING (implementation_digest)
ANTI JOIN implementations USING (implementation_digest);
