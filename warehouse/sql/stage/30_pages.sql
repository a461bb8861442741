-- Run pages of the public index: a page that says something else than at its last sight opens a version, also within one
-- sync (one page may be given twice, saved at different times; the last one given is the current one).
CREATE OR REPLACE TABLE staging.staged_pages AS
WITH latest AS (
    SELECT page, max(version) AS version, arg_max(state_digest, version) AS state_digest
    FROM published_run_versions SEMI JOIN stage_published_runs USING (page)
    GROUP BY page
), compared AS (
    SELECT s.place, s.page, s.state_digest, coalesce(l.version, 0) AS version,
        coalesce(lag(s.state_digest) OVER (PARTITION BY s.page ORDER BY s.place), l.state_digest)
            IS DISTINCT FROM s.state_digest AS is_new
    FROM stage_published_runs s LEFT JOIN latest l USING (page)
)
SELECT place, page, state_digest, is_new,
    version + count(*) FILTER (is_new) OVER (PARTITION BY page ORDER BY place) AS version
FROM compared;
