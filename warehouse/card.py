"""The dataset card of a snapshot: what a stranger must know before a figure is used, as markdown."""

from __future__ import annotations

from typing import Any

from transforms.names import printable

CARD = """# kix snapshot {snapshot}
{warning}
Results of public GPU-kernel leaderboards, read through their public interfaces, mapped to
[KernelIndex](https://github.com/SamMausberg/KernelIndex) manifests with digests, and kept with everything that was
seen of them: {covers}. Made at {created} by kix {version}. It never changes; the next one is another folder.

## What must not be compared

- **Runs are comparable only within one `comparison_key`**: the same kernel, workload, harness version, hardware, rule
  of correctness and metric. `v1.0` and `v1.1` of a harness are different cohorts.
- **Never across `comparability_family`.** Each family is a folder of its own for that reason.
- Not every run ranks. `leaderboard` has those that do; `eligibility` says why the others do not. A superseded,
  retracted or withdrawn run stays in `runs`: `lifecycle` says what became of it.
- `source_metrics` are the source's own figures, in its own units: not for comparing across sources.
- A speed-of-light bound is per case of a suite; a suite's mean is held against it as a floor only.

## How to read it

`manifest.json` lists every file with rows, bytes and SHA-256, and every column with type, unit and meaning. The column
`comparability_family` is in the files as well as in the folders' names.

DuckDB:

```sql
SELECT kernel, project, primary_value AS ns
FROM read_parquet('leaderboard/**/*.parquet', hive_partitioning = true) WHERE rank = 1 ORDER BY kernel;
```

Polars:

```python
import polars as pl

pl.scan_parquet("leaderboard/**/*.parquet", hive_partitioning=True).filter(pl.col("rank") == 1).collect()
```

pandas and pyarrow (which refuse a column that is in folder and file both, unless they are told to leave the folders
alone):

```python
import pandas as pd

pd.read_parquet("leaderboard", partitioning=None)
```

Times are UTC. Versions, ids and digests are text: `v1.0` is no number. Columns that end in `manifest`, and `payload`,
are JSON as text.

## Whose data it is

{sources}

Credit the source. kix's own licence (Apache-2.0) is for its code only.

## What is in it

{families}

| table | kind | rows | what |
| --- | --- | ---: | --- |
{tables}

*Evidence* only grows and decides on the snapshot's identity; *derived* follows from it by rules of kix; *provenance*
is what was asked, answered and refused.

| | |
| --- | --- |
| content digest | `{digest}` |
| syncs | {syncs} |
| schema | {migration} |
"""


def card(manifest: dict[str, Any]) -> bytes:
    """Return the card of a snapshot from its manifest."""
    sources = [
        f"- **{_cell(one['title'])}** (`{one['source']}`): {_cell(one['attribution'])}."
        f" Licence: {_cell(one['licence'])}."
        for one in manifest["sources"]
    ]
    tables = [
        f"| `{one['name']}` | {one['kind']} | {one['rows']:,} | {_cell(one['meaning'])} |" for one in manifest["tables"]
    ]
    only = "" if manifest["family"] is None else f"the comparability family `{_cell(manifest['family'])}` alone"
    families = ", ".join(f"`{_cell(one)}`" for one in manifest["families"]) or "none yet"
    text = CARD.format(
        snapshot=manifest["snapshot"],
        warning=f"\n> **{manifest['warning']}**\n" if manifest["warning"] else "",
        covers=only or "all comparability families of one warehouse",
        created=f"{manifest['created_at']:%Y-%m-%d %H:%M:%S} UTC",
        version=manifest["kix_version"],
        sources="\n".join(sources) or "No source was read yet.",
        families=f"Comparability families: {families}.",
        tables="\n".join(tables),
        digest=manifest["content_digest"],
        syncs=f"{len(manifest['syncs'])}, the last is number {manifest['last_sync']}",
        migration=manifest["schema_migration"],
    )
    return text.encode()


def _cell(text: str) -> str:
    """A text from elsewhere, so that it stays in its line and its cell."""
    return printable(text).replace("\n", " ").replace("|", "\\|").replace("`", "'")
