-- A run's primary value is among its measurements; a listing has as many lines as it says.
SELECT 'run without its primary measurement' AS subject, r.run_digest AS detail
FROM runs r
LEFT JOIN measurements m ON m.run_digest = r.run_digest AND m.metric = r.primary_metric
    AND m.statistic = r.primary_statistic AND m.unit = r.primary_unit AND m.value = r.primary_value
WHERE r.primary_value IS NOT NULL AND m.run_digest IS NULL
UNION ALL SELECT 'latency that is not above zero', run_digest FROM runs
    WHERE primary_metric = 'latency' AND primary_value <= 0
UNION ALL SELECT 'listing with other than its number of lines', concat(l.kernel, ' in sync ', l.sync_id)
FROM listings l
LEFT JOIN (SELECT sync_id, source, kernel, count(*) AS lines FROM listing_entries GROUP BY ALL) e
    ON e.sync_id = l.entries_sync AND e.source = l.source AND e.kernel = l.kernel
WHERE l.clean AND l.listed <> coalesce(e.lines, 0);
