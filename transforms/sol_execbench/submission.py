"""A submission to its state row and, where it is a result, to an implementation and a run."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import Any

from msgspec import Struct

from scrapers.contract import Reject
from scrapers.sol_execbench import Submission
from scrapers.sol_execbench.items import METRICS
from transforms import units
from transforms.bundle import Bundle
from transforms.curated import curated
from transforms.identity import comparison_key, correctness_digest
from transforms.manifests import Made, ManifestError, make, make_alike
from transforms.names import cut, kebab
from transforms.sol_execbench.kernel import COMPARATOR, MappedKernel

FAMILY = "sol_execbench_leaderboard"
HARNESS = "SOL-ExecBench evaluation stack"
NOTES = (
    "Suite-mean latency and SOL-Score as published by the SOL-ExecBench leaderboard. "
    "Comparable only within one definition, GPU type, and evaluation stack version."
)
PRIMARY = ("latency", "mean", "ns")
_metrics = attrgetter(*METRICS)


class Setting(Struct, frozen=True):
    """What the runs of one GPU type and one evaluation stack share."""

    hardware: dict[str, str]
    protocol_digest: str
    environment_digest: str
    comparison_key: str


class Claim(Struct, frozen=True, gc=False):
    """A submission with its times and numbers read, as far as they could be."""

    submission: Submission
    external_id: str
    submitted_at: datetime | None
    finished_at: datetime | None
    numbers: dict[str, int | float]


class Result(Struct, frozen=True, gc=False):
    """A claim of a latency, in nanoseconds, that a setting was observed to give."""

    claim: Claim
    setting: Setting
    latency_ns: int
    observed_at: datetime


class SubmissionMapper:
    """Maps the submissions of the kernel called `name` into a bundle. (An old one may still carry an older name.)

    Each step is done for all of them before the next one: manifests that are alike are made together (ADR 0012).
    Without a usable definition results are kept but cannot become runs; `waiting` counts those.
    """

    def __init__(self, name: str, kernel: MappedKernel | None, bundle: Bundle) -> None:
        self._name = name
        self._kernel = kernel
        self._bundle = bundle
        self._settings: dict[tuple[str, str], Setting] = {}
        self._problems: dict[str, str] = {}
        self.waiting = 0

    def add(self, submissions: Iterable[Submission]) -> None:
        """Add each submission's row and, when it is a result, its run. What cannot be mapped becomes a reject."""
        claims = [self._claim(submission) for submission in submissions]
        stated = [one for one in claims if one.external_id not in self._problems and is_result(one.submission)]
        runs: dict[str, str] = {}
        if self._kernel is None or self._kernel.suite is None:
            self.waiting += len(stated)
        else:
            runs = self._add_runs(stated, self._kernel, self._kernel.suite)
        for one in claims:
            self._add_submission(one, runs.get(one.external_id))
            if one.external_id in self._problems:
                problem = self._problems[one.external_id]
                self._bundle.rejects.append(Reject(f"submission/{one.external_id}", one.submission.payload, problem))

    def _claim(self, submission: Submission) -> Claim:
        external_id = str(submission.id)
        submitted_at = finished_at = None
        numbers: dict[str, int | float] = {}
        try:
            submitted_at, finished_at = _moment(submission.submitted_at), _moment(submission.finished_at)
            sent = zip(METRICS, _metrics(submission), strict=True)
            numbers = {name: units.json_number(digits) for name, digits in sent if digits is not None}
        except units.UnitError as error:
            self._problems[external_id] = str(error)
        return Claim(submission, external_id, submitted_at, finished_at, numbers)

    def _add_submission(self, claim: Claim, run_digest: str | None) -> None:
        submission = claim.submission
        score = claim.numbers.get("sol_score")
        self._bundle.add(
            "submissions", claim.external_id, self._name, submission.username, submission.status,
            submission.is_correct, submission.is_disqualified, submission.disqualification_reason,
            submission.latency_ms, None if score is None else float(score), submission.gpu_type,
            submission.evaluation_stack_version, claim.submitted_at, claim.finished_at, submission.payload,
            submission.state_digest, submission.body_digest, run_digest,
        )  # fmt: skip

    def _add_runs(self, stated: list[Claim], kernel: MappedKernel, suite: Made) -> dict[str, str]:
        """Add the runs of these claims and what they ran. Returns the runs' digests by external id."""
        results = self._results(stated, kernel, suite)
        implementations = self._implementations(results, kernel)
        runs = self._runs([one for one in results if one.claim.external_id in implementations], implementations, suite)
        made = [one for one in results if one.claim.external_id in runs]
        for one in made:
            external_id = one.claim.external_id
            self._add_run(one, implementations[external_id][0], *runs[external_id], kernel.operation_digest, suite)
            self._bundle.add(
                "implementations", implementations[external_id][0], kernel.operation_digest,
                one.claim.submission.username, external_id, "unknown", None, implementations[external_id][1],
            )  # fmt: skip
            self._doubt(one.claim.submission, runs[external_id][0], kernel)
        for username in dict.fromkeys(one.claim.submission.username for one in made):
            project = _project(username)
            self._bundle.add("projects", project.digest, project.name, username, project.text)
        return {external_id: digest for external_id, (digest, _) in runs.items()}

    def _results(self, stated: list[Claim], kernel: MappedKernel, suite: Made) -> list[Result]:
        results = []
        for claim in stated:
            try:
                results.append(self._result(claim, kernel, suite))
            except (units.UnitError, ManifestError) as error:
                self._problems[claim.external_id] = str(error)
        return results

    def _result(self, claim: Claim, kernel: MappedKernel, suite: Made) -> Result:
        latency_ns = units.ms_to_ns(claim.submission.latency_ms or "")
        observed_at = claim.finished_at or claim.submitted_at
        if observed_at is None:
            raise units.UnitError("neither finished_at nor submitted_at: no time of observation")
        return Result(claim, self._setting(claim.submission, kernel.operation_digest, suite), latency_ns, observed_at)

    def _implementations(self, results: list[Result], kernel: MappedKernel) -> dict[str, tuple[str, str]]:
        """Return digest and text of what each result ran. No two submissions' are one: each is a revision."""
        alike: dict[tuple[str, ...], list[Result]] = {}
        for one in results:
            alike.setdefault(tuple(one.setting.hardware.values()), []).append(one)
        made: dict[str, tuple[str, str]] = {}
        for several in alike.values():
            hardware = several[0].setting.hardware
            shared = {
                "operation": {"specDigest": kernel.operation_digest},
                "callable": {"language": "unknown"},
                "support": {
                    "hardwareArchitectures": [hardware["architecture"]],
                    "productsTested": [hardware["product"]],
                    "dtypes": kernel.dtypes,
                },
                "licensing": {},
            }
            made |= self._made("ImplementationRevision", shared, several, [_implementation(one) for one in several])
        return made

    def _runs(
        self, results: list[Result], implementations: dict[str, tuple[str, str]], suite: Made
    ) -> dict[str, tuple[str, str]]:
        """Return digest and text of each result's run."""
        alike: dict[tuple[str, str, bool], list[Result]] = {}
        for one in results:
            submission = one.claim.submission
            # An old submission may carry an older name of the kernel.
            key = (one.setting.comparison_key, submission.kernel_name, bool(submission.worker_id))
            alike.setdefault(key, []).append(one)
        made: dict[str, tuple[str, str]] = {}
        for (_, kernel_name, _), several in alike.items():
            setting = several[0].setting
            shared = {
                "workloadDigest": suite.digest,
                "protocolDigest": setting.protocol_digest,
                "environmentDigest": setting.environment_digest,
                "status": "passed",
                "timing": {"primaryStatistic": "mean"},
                "sourceNative": {"source": "sol-execbench", "benchmark": kernel_name},
            }
            values = [_run(one, implementations[one.claim.external_id][0]) for one in several]
            made |= self._made("BenchmarkRun", shared, several, values)
        return made

    def _made(
        self, kind: str, shared: dict[str, Any], several: list[Result], values: list[dict[str, object]]
    ) -> dict[str, tuple[str, str]]:
        """Make manifests that share all but these values. What cannot be made is a problem of its submission."""
        made: dict[str, tuple[str, str]] = {}
        for one, manifest in zip(several, make_alike(kind, {}, shared, values), strict=True):
            if isinstance(manifest, ManifestError):
                self._problems[one.claim.external_id] = str(manifest)
            else:
                made[one.claim.external_id] = manifest
        return made

    def _add_run(
        self, result: Result, implementation: str, run: str, text: str, operation_digest: str, suite: Made
    ) -> None:
        setting = result.setting
        self._bundle.add(
            "runs", run, result.claim.external_id, self._name, FAMILY, setting.comparison_key,
            operation_digest, suite.digest, implementation, setting.protocol_digest,
            setting.environment_digest, "passed", *PRIMARY, float(result.latency_ns), _to_ms(result.observed_at),
            "reported", "source-native", text, None, None,
        )  # fmt: skip

    def _doubt(self, submission: Submission, run_digest: str, kernel: MappedKernel) -> None:
        if kernel.floor_ms is None or Decimal(submission.latency_ms or "") >= kernel.floor_ms:
            return
        detail = f"{submission.latency_ms} ms is less than the {kernel.floor_ms} ms that the fastest case allows"
        self._bundle.add("reviews", run_digest, "BELOW_SPEED_OF_LIGHT", detail)

    def _setting(self, submission: Submission, operation_digest: str, suite: Made) -> Setting:
        gpu, stack = submission.gpu_type, submission.evaluation_stack_version or "unknown"
        if (gpu, stack) not in self._settings:
            self._settings[gpu, stack] = self._add_setting(gpu, stack, operation_digest, suite)
        return self._settings[gpu, stack]

    def _add_setting(self, gpu: str, stack: str, operation_digest: str, suite: Made) -> Setting:
        hardware = gpu_hardware(gpu)
        protocol, environment = _protocol(stack), _environment(gpu, stack)
        self._bundle.add(
            "protocols", protocol.digest, protocol.name, FAMILY, HARNESS, stack, NOTES, protocol.text,
        )  # fmt: skip
        self._bundle.add(
            "environments", environment.digest, environment.name, hardware["vendor"], hardware["product"],
            hardware["architecture"], environment.text,
        )  # fmt: skip
        key = comparison_key(
            operation=operation_digest, workload=suite.digest, protocol=protocol.digest,
            environment=environment.digest, correctness=correctness_digest(suite.spec["correctness"]),
            metric=":".join(PRIMARY),
        )  # fmt: skip
        return Setting(hardware, protocol.digest, environment.digest, key)


def is_result(submission: Submission) -> bool:
    """Whether a submission states a result: completed, correct, not disqualified, with a latency."""
    return (
        submission.status == "COMPLETED"
        and submission.is_correct is True
        and submission.is_disqualified is not True
        and submission.latency_ms is not None
    )


def gpu_hardware(name: str) -> dict[str, str]:
    """Return {vendor, product, architecture} of a GPU type. The board is NVIDIA's own, so an unknown name is too."""
    bare = name.replace("_", " ").removeprefix("NVIDIA ")
    known: dict[str, str] | None = curated("gpus").get(bare)
    return known or {"vendor": "nvidia", "product": name.replace("_", " "), "architecture": "unknown"}


def _to_ms(moment: datetime) -> datetime:
    return moment - timedelta(microseconds=moment.microsecond % 1000)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else units.parse_instant(text)


def _implementation(result: Result) -> dict[str, object]:
    submission = result.claim.submission
    return {
        "metadata.name": f"sol-submission-{submission.id}",
        "metadata.title": cut(f"{submission.username} · {submission.kernel_name}", 200),
        "metadata.authors": [{"name": submission.username}],
        "spec.projectRevision.version": f"submission-{submission.id}",
    }


def _run(result: Result, implementation: str) -> dict[str, object]:
    claim = result.claim
    submission = claim.submission
    title = f"{submission.username} · {submission.kernel_name} · {submission.gpu_type}"
    labels = {"metadata.labels": {"worker": cut(submission.worker_id, 200)}} if submission.worker_id else {}
    return {
        "metadata.name": f"sol-submission-{submission.id}",
        "metadata.title": cut(title, 200),
        **labels,
        "spec.implementationDigest": implementation,
        "spec.timing.latencyNs": {"mean": result.latency_ns},
        "spec.sourceNative.externalId": claim.external_id,
        "spec.sourceNative.metrics": claim.numbers,
        "spec.observedAt": units.format_instant_ms(result.observed_at),
    }


@lru_cache(maxsize=65_536)
def _project(username: str) -> Made:
    spec = {"name": username, "kind": "individual", "host": {"kind": "other", "id": f"sol-execbench/user/{username}"}}
    return make("SoftwareProject", {"name": f"sol-user-{kebab(username)}"}, spec)


@lru_cache(maxsize=1_024)
def _protocol(stack: str) -> Made:
    metadata = {"name": f"sol-execbench-leaderboard-{kebab(stack)}", "title": f"{HARNESS} {stack}"}
    return make("BenchmarkProtocol", metadata, {
        "harness": {"name": HARNESS, "version": stack},
        "measurement": {"timer": "harness_reported", "primaryStatistic": "mean"},
        "correctness": {"reference": "definition reference implementation", "comparator": COMPARATOR},
        "comparability": {"family": FAMILY, "notes": NOTES},
    })  # fmt: skip


@lru_cache(maxsize=1_024)
def _environment(gpu: str, stack: str) -> Made:
    hardware = gpu_hardware(gpu)
    metadata = {
        "name": f"sol-execbench-{kebab(gpu)}-{kebab(stack)}",
        "title": f"SOL-ExecBench {hardware['product']}, stack {stack}",
    }
    spec = {"hardware": hardware, "software": {"libraries": {"evaluation_stack": stack}}}
    return make("ExecutionEnvironment", metadata, spec)
