-- The rows of source_metrics in the order of their runs: comparability family, comparison key.
CREATE OR REPLACE TEMP TABLE reordered AS
SELECT m.* FROM source_metrics m JOIN runs r USING (run_digest)
ORDER BY r.comparability_family, r.comparison_key, r.primary_value, r.run_digest;
DELETE FROM source_metrics;
INSERT INTO source_metrics SELECT * FROM reordered ORDER BY rowid;
DROP TABLE reordered;
