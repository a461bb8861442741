-- New runs in the order they are kept in, with what their manifests say of figures. As staged: the runs themselves are
-- written at the same time.
CREATE OR REPLACE TEMP TABLE new_figures AS
SELECT comparability_family, run_digest,
    from_json(manifest, '{"spec": {
        "timing": {"latencyNs": "MAP(VARCHAR, JSON)"},
        "measurements": [{"metric": "VARCHAR", "statistic": "VARCHAR", "unit": "VARCHAR", "value": "DOUBLE"}],
        "sourceNative": {"metrics": "MAP(VARCHAR, DOUBLE)"}
    }}').spec AS said
FROM stage_runs SEMI JOIN new_runs USING (place)
ORDER BY comparability_family, comparison_key, primary_value, run_digest;

-- What a run measured and what its source published of it stand in its manifest, the latter by name.
INSERT INTO measurements
WITH figures AS (
    SELECT comparability_family, run_digest, unnest(list_sort(list_concat(
        list_transform(
            list_filter(map_entries(said.timing.latencyNs), lambda figure: json_type(figure.value) <> 'ARRAY'),
            lambda figure: {
                'metric': 'latency', 'statistic': figure.key, 'unit': 'ns', 'value': figure.value::DOUBLE
            }
        ),
        said.measurements
    ))) AS figure
    FROM new_figures
)
SELECT comparability_family, run_digest, figure.metric, figure.statistic, figure.unit, figure.value FROM figures;

INSERT INTO source_metrics
WITH figures AS (
    SELECT comparability_family, run_digest, unnest(map_entries(said.sourceNative.metrics)) AS figure FROM new_figures
)
SELECT comparability_family, run_digest, figure.key, figure.value FROM figures;
