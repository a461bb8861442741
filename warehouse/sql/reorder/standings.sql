-- The standings in their order: comparability family, comparison key, place.
CREATE OR REPLACE TEMP TABLE reordered AS
SELECT * FROM standings ORDER BY comparability_family, comparison_key, place;
DELETE FROM standings;
INSERT INTO standings SELECT * FROM reordered ORDER BY rowid;
DROP TABLE reordered;
