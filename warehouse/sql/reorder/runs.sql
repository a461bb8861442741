-- The rows of runs in their order: comparability family, comparison key.
CREATE OR REPLACE TEMP TABLE reordered AS
SELECT * FROM runs ORDER BY comparability_family, comparison_key, primary_value, run_digest;
DELETE FROM runs;
INSERT INTO runs SELECT * FROM reordered ORDER BY rowid;
DROP TABLE reordered;
