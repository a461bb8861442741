"""The warehouse: manifests and facts in DuckDB, published whole after every sync."""
