-- The versions of a submission count up from 1 without a gap; every state was listed; families are named.
SELECT 'versions with a gap' AS subject, concat(source, ':', external_id) AS detail FROM submission_versions
GROUP BY source, external_id HAVING min(version) <> 1 OR max(version) <> count(*)
UNION ALL SELECT 'state that no listing had', concat(source, ':', external_id, ' version ', version)
FROM submission_versions ANTI JOIN listing_entries USING (source, external_id, version)
UNION ALL SELECT 'row without a family', run_digest FROM runs WHERE trim(comparability_family) = ''
UNION ALL SELECT 'sync that is named and not there', concat('runs of sync ', first_seen_sync)
FROM (SELECT DISTINCT first_seen_sync FROM runs) ANTI JOIN syncs ON syncs.sync_id = first_seen_sync;
