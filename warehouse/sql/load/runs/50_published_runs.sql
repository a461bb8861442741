-- What run pages of the public index say, where it is new, and that they were read.
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
