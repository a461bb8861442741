-- States of run pages are numbered without a gap, each is there once and was seen, and what refers to one finds it.
SELECT 'published_run_versions' AS subject, page AS detail FROM published_run_versions
GROUP BY page HAVING count(*) <> max(version) OR count(DISTINCT version) <> count(*) OR min(version) <> 1
UNION ALL SELECT 'published_run_versions never seen', page FROM published_run_versions v
    ANTI JOIN published_run_sightings s ON s.page = v.page AND s.version = v.version AND s.sync_id = v.first_seen_sync
UNION ALL SELECT 'published_run_sightings', page FROM published_run_sightings
    GROUP BY sync_id, page, version HAVING count(*) > 1
UNION ALL SELECT 'published_run_sightings.version', page FROM published_run_sightings
    ANTI JOIN published_run_versions USING (page, version)
UNION ALL SELECT 'published_run_problems', page FROM published_run_problems
    GROUP BY page, version, field, claimed HAVING count(*) > 1
UNION ALL SELECT 'published_run_problems.version', page FROM published_run_problems
    ANTI JOIN published_run_versions USING (page, version)
UNION ALL SELECT 'published_run_versions digest', digest FROM (
    SELECT unnest([run_digest, state_digest, body_digest]) AS digest FROM published_run_versions
) WHERE NOT regexp_full_match(digest, 'sha256:[0-9a-f]{64}');
