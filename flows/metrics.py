"""The state of a home as a textfile for Prometheus's node_exporter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from flows.freshness import Freshness

Sample = tuple[Mapping[str, str], float]


def exposition(sources: Iterable[Freshness], state: Mapping[str, Any]) -> str:
    """Write the text format, version 0.0.4. `state` is what `kix status` knows: `counts`, `sizes_bytes`, `lock`."""
    states = list(sources)
    return "".join(
        [
            _metric("kix_source_last_read_timestamp_seconds", "When the source's last whole sync ended, Unix time.",
                    [(_label(one), one.read_at.timestamp()) for one in states if one.read_at]),
            _metric("kix_source_stale_after_seconds", "Age from which on the source counts as stale.",
                    [(_label(one), one.stale_after_h * 3600) for one in states]),
            _metric("kix_source_stale", "1 when the source is stale beyond its policy.",
                    [(_label(one), float(one.stale)) for one in states]),
            _metric("kix_source_last_sync_failed", "1 when the source's latest sync failed or was interrupted.",
                    [(_label(one), float(one.failing_since is not None)) for one in states]),
            _metric("kix_rows", "Rows of a table of the published warehouse.",
                    [({"table": table}, count) for table, count in state.get("counts", {}).items()]),
            _metric("kix_file_size_bytes", "Size of a file of the home.",
                    [({"file": name}, size) for name, size in state["sizes_bytes"].items()]),
            _metric("kix_home_busy", "1 while a sync, rebuild or maintenance works on the home.",
                    [({}, float(state["lock"] is not None))]),
        ]
    )  # fmt: skip


def _label(one: Freshness) -> dict[str, str]:
    return {"source": one.source}


def _metric(name: str, explained: str, samples: list[Sample]) -> str:
    if not samples:
        return ""
    return "\n".join([f"# HELP {name} {explained}", f"# TYPE {name} gauge", *_lines(name, samples), ""])


def _lines(name: str, samples: list[Sample]) -> Iterator[str]:
    for labels, value in samples:
        told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{{{told}}} {value:.15g}" if told else f"{name} {value:.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def write_metrics(path: Path, text: str) -> None:
    """Write the file whole or not at all: the collector may read at any moment."""
    from flows.console import write_whole

    write_whole(path, lambda file: file.write(text.encode()))
