-- A cohort has one operation, workload, protocol, environment and metric.
SELECT 'cohort' AS subject, comparison_key AS detail FROM runs
GROUP BY comparison_key
HAVING min(operation_digest) <> max(operation_digest) OR min(workload_digest) <> max(workload_digest)
    OR min(protocol_digest) <> max(protocol_digest) OR min(environment_digest) <> max(environment_digest)
    OR min(concat_ws(':', primary_metric, primary_statistic, primary_unit))
        <> max(concat_ws(':', primary_metric, primary_statistic, primary_unit));
