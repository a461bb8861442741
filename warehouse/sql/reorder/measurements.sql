-- The rows of measurements in the order of their runs: comparability family, comparison key.
CREATE OR REPLACE TEMP TABLE reordered AS
SELECT m.* FROM measurements m JOIN runs r USING (run_digest)
ORDER BY r.comparability_family, r.comparison_key, r.primary_value, r.run_digest;
DELETE FROM measurements;
INSERT INTO measurements SELECT * FROM reordered ORDER BY rowid;
DROP TABLE reordered;
