-- Run pages of the public index: a page that says something else than at its last sight opens a version, also within one
-- sync (one page may be given twice, saved at different times; the last one given is the current one).
CREATE OR REPLACE TEMP TABLE staged_pages AS
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

INSERT INTO published_run_versions BY NAME
SELECT s.* EXCLUDE (place), t.version, getvariable('sync_id') AS first_seen_sync
FROM stage_published_runs s JOIN staged_pages t ON t.place = s.place
WHERE t.is_new
ORDER BY t.page, t.version;

INSERT INTO published_run_problems
SELECT DISTINCT t.page, t.version, p.field, p.claimed, p.manifest_says, getvariable('sync_id')
FROM stage_published_problems p JOIN staged_pages t USING (page, state_digest)
WHERE t.is_new
ORDER BY ALL;

INSERT INTO published_run_sightings
SELECT DISTINCT getvariable('sync_id'), page, version FROM staged_pages ORDER BY page, version;

INSERT INTO reviews
SELECT getvariable('source'), concat(page, '@', version), 'PAGE_CONTRADICTS_MANIFEST',
    string_agg(format('{}: the page says {}, its manifest {}', field, claimed, manifest_says), '; ' ORDER BY field),
    getvariable('sync_id')
FROM published_run_problems
WHERE first_seen_sync = getvariable('sync_id')
GROUP BY page, version;
