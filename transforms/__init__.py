"""Items become manifests, digests and rows here; nothing in this package reads a clock, a network or a database."""
