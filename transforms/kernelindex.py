"""A run page of the index to a published record: digests computed anew, and the page's own words held against them.

What a page says that its manifest does not bear out is a problem: the record keeps both, and nothing is corrected.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from scrapers.contract import Drift, Part, Reject
from scrapers.kernelindex import Items, Page
from transforms import units
from transforms.bundle import Bundle
from transforms.curated import curated
from transforms.facts import gpu_label, harness_label, source_metrics_line
from transforms.identity import canonical_json, sha256_digest
from transforms.manifests import Made, ManifestError, parse_record
from transforms.measured import Measurement, measurements, primary

FULL_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NOTES = {
    "retracted": "retracted", "disputed": "disputed", "superseded": "superseded", "not re-observed": "stale",
    "stale": "stale",
}  # fmt: skip


def transform(part: Part, items: Items) -> Bundle:
    """Map one page to its published record and the problems found on it. A manifest that is none is a reject."""
    bundle = Bundle(rejects=list(items.rejects), drift=list(items.drift))
    page = items.page
    if page is None:
        return bundle
    try:
        record, others = parse_record(page.manifest)
        claims = Claims(page, record)
    except (ManifestError, units.UnitError) as error:
        bundle.rejects.append(Reject(page.locator, part.key, f"its manifest cannot be used: {error}"))
        return bundle
    bundle.drift += [Drift(f"page#manifest.{name}", "new field", page.locator) for name in others]
    row = _row(page, record)
    state = sha256_digest(canonical_json([_plain(value) for value in row]))
    bundle.add("published_runs", *row, state, page.body_digest)
    for field, claimed, manifest in claims.problems:
        bundle.add("published_problems", row[0], state, field, claimed, manifest)
    bundle.drift += [Drift(f"page.{field}", "field gone", page.locator) for field in claims.gone]
    return bundle


def shown(value: int | float, unit: str) -> str:
    """Show a figure as the index does: times in the unit that suits them, anything else as it is."""
    if unit in ("ns", "s"):
        return units.format_latency(value if unit == "ns" else value * 1e9)
    return f"{canonical_json(value).decode()} {unit}".strip()


class Claims:
    """What a page says in words, each beside what its manifests say: (field, claimed, manifest), None for silence."""

    def __init__(self, page: Page, record: dict[str, Made]) -> None:
        self._page = page
        self._record = record
        self._spec = record["run"].spec
        self._identity = dict(page.identity)
        said_and_so = self._all()
        self.problems = [
            (field, said, is_so)
            for field, said, is_so in said_and_so
            if said is not None and is_so is not None and not _agree(field, said, is_so)
        ]
        """The claims that the manifests do not bear out."""
        self.gone = [field for field, said, is_so in said_and_so if said is None and is_so is not None]
        """The fields on which the manifests have something to say and the page is silent."""

    def _all(self) -> list[tuple[str, str | None, str | None]]:
        return [*self._of_identity(), *self._of_figures(), *self._of_standing(), *self._of_lists()]

    def _of_identity(self) -> list[tuple[str, str | None, str | None]]:
        page, run = self._page, self._record["run"]
        native = self._spec.get("sourceNative", {})
        known = curated("sources").get(native.get("source"), {}).get("name")
        claims = [
            ("run digest", page.run_digest, _as_long(run.digest, page.run_digest)),
            ("protocol digest", self._spec["protocolDigest"], self._record["protocol"].digest),
            ("environment digest", self._spec["environmentDigest"], self._record["environment"].digest),
            ("source", self._identity.get("source"), known),
            ("closing source", page.source, known),
            ("external id", _bare(self._identity.get("external id")), native.get("externalId")),
        ]
        if page.shown_id and (full := _full_id(page)):
            claims.append(("run id", page.shown_id, _as_long(full, page.shown_id)))
        if page.canonical_id and page.address_id and FULL_ID.fullmatch(page.address_id):
            claims.append(("canonical id", page.canonical_id, page.address_id))
        return claims

    def _of_figures(self) -> list[tuple[str, str | None, str | None]]:
        page, figure = self._page, primary(self._spec)
        metrics = source_metrics_line(self._spec.get("sourceNative", {}).get("metrics", {})) or None
        claims: list[tuple[str, str | None, str | None]] = [("metrics", page.metrics, metrics)]
        if figure is not None:
            value = None if page.value is None else f"{page.value} {page.unit or ''}".strip()
            samples = None if figure.samples is None else str(figure.samples)
            claims += [
                ("value", value, shown(figure.value, figure.unit)),
                ("statistic", page.statistic, figure.statistic),
                ("samples", page.samples, samples),
            ]
        return claims

    def _of_standing(self) -> list[tuple[str, str | None, str | None]]:
        page, spec = self._page, self._spec
        if page.profile is None:
            return []
        return [
            ("profile", page.profile, "source-native" if "sourceNative" in spec else "strict"),
            ("observed", page.observed, spec["observedAt"][:10]),
            ("status", "passed" if page.rank else None, spec["status"] if page.rank else None),
        ]

    def _of_lists(self) -> list[tuple[str, str | None, str | None]]:
        protocol, environment = self._record["protocol"].spec, self._record["environment"].spec
        wanted: dict[str, dict[str, str | None]] = {
            "protocol": {
                "harness": harness_label(protocol),
                "timer": protocol["measurement"]["timer"],
                "primaryStatistic": protocol["measurement"]["primaryStatistic"],
                "correctnessReference": protocol.get("correctness", {}).get("reference"),
                "comparabilityFamily": protocol.get("comparability", {}).get("family"),
            },
            "environment": {"gpu": gpu_label(environment)},
            "measurements": _measured(self._spec),
        }
        lists = {"protocol": self._page.protocol, "environment": self._page.environment}
        lists["measurements"] = self._page.measurements or None
        claims: list[tuple[str, str | None, str | None]] = []
        for name, rows in lists.items():
            if rows is not None:  # a section that is gone has been told of
                said = {key: value for key, value in rows}  # noqa: C416  rows are pairs, named here
                keys = said.keys() | wanted[name].keys() if name == "measurements" else wanted[name].keys()
                claims += [(f"{name}.{key}", said.get(key), _is(wanted[name].get(key))) for key in sorted(keys)]
        return claims


def _measured(spec: dict[str, Any]) -> dict[str, str | None]:
    """Return the rows of the page's measurements: `metric · statistic` and the figure."""
    timed = len(spec.get("timing", {}).get("latencyNs", ()))
    return {
        f"{one.metric} · {one.statistic}": shown(one.value, one.unit) + _count(one, timed=place < timed)
        for place, one in enumerate(measurements(spec))
    }


def _count(one: Measurement, *, timed: bool) -> str:
    """Say how many samples a figure is of, where the page does: not beside the timing's own."""
    return "" if timed or one.samples is None else f" · n={one.samples}"


def _row(page: Page, record: dict[str, Made]) -> list[Any]:
    run, protocol = record["run"], record["protocol"]
    native, stated = run.spec.get("sourceNative", {}), primary(run.spec)
    identity = dict(page.identity)
    figure = (stated.metric, stated.statistic, stated.unit, float(stated.value)) if stated else (None,) * 4
    key = identity.get("comparison key")
    family = protocol.spec.get("comparability", {}).get("family", "unstated")
    return [
        _page_key(page, run), _full_id(page) or page.shown_id, run.digest, native.get("source"),
        native.get("externalId"), native.get("benchmark"), family,
        run.spec["status"], *figure, units.parse_instant(run.spec["observedAt"]), page.title, page.operation,
        page.workload, page.run_digest, key.removesuffix("…") if key else None, page.value, page.unit, page.statistic,
        int(page.samples) if page.samples else None, page.metrics, identity.get("source"), identity.get("external id"),
        int(page.rank) if page.rank else None, page.not_eligible, page.profile, _day(page.observed),
        _day(page.published), _kinds(page.notes), list(page.notes), run.text, protocol.text, record["environment"].text,
    ]  # fmt: skip


def _page_key(page: Page, run: Made) -> str:
    """Return what a page is known by over time: the index's id; where a saved page shows it cut, the submission."""
    if full := _full_id(page):
        return full
    native = run.spec.get("sourceNative", {})
    return f"{native['source']}:{native['externalId']}" if "externalId" in native else run.digest


def _full_id(page: Page) -> str | None:
    """Return the whole id: of the address asked, else what the page says of itself. A cut one names many runs."""
    return next((one for one in (page.address_id, page.canonical_id) if one and FULL_ID.fullmatch(one)), None)


def _kinds(notes: tuple[str, ...]) -> list[str]:
    """Return what each note says became of the run: its first telling word; the rest is reasons."""
    words = re.compile("|".join(NOTES), re.IGNORECASE)
    return [NOTES[match[0].lower()] for note in notes if (match := words.search(note))]


def _day(text: str | None) -> str | None:
    try:
        return date.fromisoformat(text or "").isoformat()
    except ValueError:
        return None


def _bare(external_id: str | None) -> str | None:
    return None if external_id is None else external_id.removeprefix("submission/")


def _as_long(whole: str, claimed: str | None) -> str:
    """Cut `whole` to the length of what is claimed of it, so that a cut claim is compared with as much."""
    return whole if claimed is None else whole[: len(claimed)]


def _is(value: str | None) -> str | None:
    return None if value is None else " ".join(value.split())


def _agree(field: str, said: str, is_so: str) -> bool:
    # Metrics that no rule orders stand in the database's order, which is nobody's claim.
    return said == is_so or (field == "metrics" and sorted(said.split(" · ")) == sorted(is_so.split(" · ")))


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value
