-- A family's rows are its own: facts of a run are in the run's family, a cohort is in one family, and so is a protocol.
SELECT 'measurements' AS subject, m.run_digest AS detail
FROM measurements m JOIN runs r USING (run_digest) WHERE m.comparability_family <> r.comparability_family
UNION ALL SELECT 'source_metrics', m.run_digest
FROM source_metrics m JOIN runs r USING (run_digest) WHERE m.comparability_family <> r.comparability_family
UNION ALL SELECT 'cohort in two families', comparison_key FROM runs
    GROUP BY comparison_key HAVING count(DISTINCT comparability_family) > 1
UNION ALL SELECT 'run outside its protocol''s family', r.run_digest
FROM runs r JOIN protocols p ON p.digest = r.protocol_digest WHERE r.comparability_family <> p.comparability_family;
