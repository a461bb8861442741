"""What runs when: the enabled sources and the chores, each with its cron in UTC, as the settings have them."""

from __future__ import annotations

from dataclasses import dataclass

from flows.cron import OFF
from flows.registry import SOURCES
from flows.settings import Settings

CHORES = {"export": "10 5 * * *", "verify": "30 5 * * 0", "maintenance": "30 6 * * 0"}
"""The usual schedules of what is done beside syncs: a snapshot a day, proofs and compaction on Sundays."""


@dataclass(frozen=True, slots=True)
class Job:
    """Something on a schedule: a source's slug or a chore's name. `cron` is None when it is switched off."""

    name: str
    cron: str | None


def jobs(settings: Settings) -> list[Job]:
    """List the syncs of the enabled sources and the chores. Raises `ValueError` naming a setting that means nothing."""
    known = {**{slug: source.schedule for slug, source in SOURCES.items()}, **CHORES}
    for setting, names in (
        ("schedules", settings.schedules), ("stale_after_h", settings.stale_after_h), ("sources", settings.sources),
        ("base_urls", settings.base_urls),
    ):  # fmt: skip
        for name in names:
            if name not in (known if setting == "schedules" else SOURCES):
                raise ValueError(f"{setting}: nothing is called {name!r}; there is: {', '.join(known)}")
    crons = known | settings.schedules
    wanted = [*dict.fromkeys(settings.sources), *CHORES]
    return [Job(name, None if crons[name] == OFF else crons[name]) for name in wanted]


def stale_after_h(settings: Settings, slug: str) -> float:
    """After how many hours without a whole sync a source is stale."""
    return settings.stale_after_h.get(slug, SOURCES[slug].stale_after_h)
