"""A submission to its state row and, where it is a result, to an implementation and a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache

from scrapers.contract import Reject
from scrapers.sol_execbench import Submission
from scrapers.sol_execbench.items import METRICS
from transforms import units
from transforms.bundle import Bundle
from transforms.curated import curated
from transforms.identity import comparison_key, correctness_digest
from transforms.manifests import Made, ManifestError, Series, make
from transforms.names import cut, kebab
from transforms.sol_execbench.kernel import COMPARATOR, MappedKernel

FAMILY = "sol_execbench_leaderboard"
HARNESS = "SOL-ExecBench evaluation stack"
NOTES = (
    "Suite-mean latency and SOL-Score as published by the SOL-ExecBench leaderboard. "
    "Comparable only within one definition, GPU type, and evaluation stack version."
)
PRIMARY = ("latency", "mean", "ns")


@dataclass(frozen=True, slots=True)
class Setting:
    """What the runs of one GPU type and one evaluation stack share."""

    hardware: dict[str, str]
    protocol_digest: str
    environment_digest: str
    comparison_key: str


class SubmissionMapper:
    """Maps the submissions of the kernel called `name` into a bundle. (An old one may still carry an older name.)

    Without a usable definition results are kept but cannot become runs; `waiting` counts those.
    """

    def __init__(self, name: str, kernel: MappedKernel | None, bundle: Bundle) -> None:
        self._name = name
        self._kernel = kernel
        self._bundle = bundle
        self._settings: dict[tuple[str, str], Setting] = {}
        self._series: dict[tuple[object, ...], Series] = {}
        self._projects: set[str] = set()
        self.waiting = 0

    def add(self, submission: Submission) -> None:
        """Add a submission's row and, when it is a result, its run. What cannot be mapped becomes a reject."""
        numbers: dict[str, int | float | None] = {}
        submitted_at = finished_at = run_digest = None
        try:
            submitted_at, finished_at = _moment(submission.submitted_at), _moment(submission.finished_at)
            numbers = {name: _number(submission, name) for name in METRICS}
            if is_result(submission):
                run_digest = self._add_run(submission, numbers, finished_at or submitted_at)
        except (units.UnitError, ManifestError) as error:
            self._bundle.rejects.append(Reject(f"submission/{submission.id}", submission.payload, str(error)))
        score = numbers.get("sol_score")
        self._bundle.add(
            "submissions", str(submission.id), self._name, submission.username, submission.status,
            submission.is_correct, submission.is_disqualified, submission.disqualification_reason,
            submission.latency_ms, None if score is None else float(score), submission.gpu_type,
            submission.evaluation_stack_version, submitted_at, finished_at, submission.payload,
            submission.state_digest, submission.body_digest, run_digest,
        )  # fmt: skip

    def _add_run(
        self, submission: Submission, numbers: dict[str, int | float | None], observed: datetime | None
    ) -> str | None:
        kernel = self._kernel
        if kernel is None or kernel.suite is None:
            self.waiting += 1
            return None
        latency_ns = units.ms_to_ns(submission.latency_ms or "")
        if observed is None:
            raise units.UnitError("neither finished_at nor submitted_at: no time of observation")
        setting = self._setting(submission, kernel.operation_digest, kernel.suite)
        implementation, implementation_text = self._implementation(submission, kernel, setting.hardware)
        values = {
            **_run_metadata(submission),
            "spec.implementationDigest": implementation,
            "spec.timing.latencyNs": {"mean": latency_ns},
            "spec.sourceNative.externalId": str(submission.id),
            "spec.sourceNative.metrics": {name: value for name, value in numbers.items() if value is not None},
            "spec.observedAt": units.format_instant_ms(observed),
        }
        run, run_text = self._run_series(submission, kernel.suite, setting, values).fill(values)
        self._add_implementation(submission, kernel.operation_digest, implementation, implementation_text)
        self._bundle.add(
            "runs", run, str(submission.id), self._name, FAMILY, setting.comparison_key,
            kernel.operation_digest, kernel.suite.digest, implementation, setting.protocol_digest,
            setting.environment_digest, "passed", *PRIMARY, float(latency_ns), _to_ms(observed), "reported",
            "source-native", run_text, None, None,
        )  # fmt: skip
        self._doubt(submission, run, kernel)
        return run

    def _doubt(self, submission: Submission, run_digest: str, kernel: MappedKernel) -> None:
        if kernel.floor_ms is None or Decimal(submission.latency_ms or "") >= kernel.floor_ms:
            return
        detail = f"{submission.latency_ms} ms is less than the {kernel.floor_ms} ms that the fastest case allows"
        self._bundle.add("reviews", run_digest, "BELOW_SPEED_OF_LIGHT", detail)

    def _run_series(self, submission: Submission, suite: Made, setting: Setting, values: dict[str, object]) -> Series:
        # An old submission may carry an older name of the kernel.
        key = ("run", setting.comparison_key, submission.kernel_name, *values)
        if key not in self._series:
            self._series[key] = Series("BenchmarkRun", {}, {
                "workloadDigest": suite.digest,
                "protocolDigest": setting.protocol_digest,
                "environmentDigest": setting.environment_digest,
                "status": "passed",
                "timing": {"primaryStatistic": "mean"},
                "sourceNative": {"source": "sol-execbench", "benchmark": submission.kernel_name},
            }, values)  # fmt: skip
        return self._series[key]

    def _implementation(
        self, submission: Submission, kernel: MappedKernel, hardware: dict[str, str]
    ) -> tuple[str, str]:
        """Return digest and text of what a submission ran. No two submissions' are one: each is a revision."""
        user = submission.username
        values: dict[str, object] = {
            "metadata.name": f"sol-submission-{submission.id}",
            "metadata.title": cut(f"{user} · {submission.kernel_name}", 200),
            "metadata.authors": [{"name": user}],
            "spec.projectRevision.version": f"submission-{submission.id}",
        }
        key = ("implementation", *hardware.values())
        if key not in self._series:
            self._series[key] = Series("ImplementationRevision", {}, {
                "operation": {"specDigest": kernel.operation_digest},
                "callable": {"language": "unknown"},
                "support": {
                    "hardwareArchitectures": [hardware["architecture"]],
                    "productsTested": [hardware["product"]],
                    "dtypes": kernel.dtypes,
                },
                "licensing": {},
            }, values)  # fmt: skip
        return self._series[key].fill(values)

    def _add_implementation(self, submission: Submission, operation_digest: str, digest: str, text: str) -> None:
        user = submission.username
        if user not in self._projects:
            self._projects.add(user)
            project = _project(user)
            self._bundle.add("projects", project.digest, project.name, user, project.text)
        self._bundle.add(
            "implementations", digest, operation_digest, user, str(submission.id), "unknown", None, text,
        )  # fmt: skip

    def _setting(self, submission: Submission, operation_digest: str, suite: Made) -> Setting:
        gpu, stack = submission.gpu_type, submission.evaluation_stack_version or "unknown"
        if (gpu, stack) not in self._settings:
            self._settings[gpu, stack] = self._add_setting(gpu, stack, operation_digest, suite)
        return self._settings[gpu, stack]

    def _add_setting(self, gpu: str, stack: str, operation_digest: str, suite: Made) -> Setting:
        hardware = gpu_hardware(gpu)
        protocol, environment = _protocol(stack), _environment(gpu, stack, hardware)
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


def _number(submission: Submission, name: str) -> int | float | None:
    digits = getattr(submission, name)
    return None if digits is None else units.json_number(digits)


def _to_ms(moment: datetime) -> datetime:
    return moment - timedelta(microseconds=moment.microsecond % 1000)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else units.parse_instant(text)


def _run_metadata(submission: Submission) -> dict[str, object]:
    title = f"{submission.username} · {submission.kernel_name} · {submission.gpu_type}"
    metadata: dict[str, object] = {
        "metadata.name": f"sol-submission-{submission.id}",
        "metadata.title": cut(title, 200),
    }
    if submission.worker_id:
        metadata["metadata.labels"] = {"worker": cut(submission.worker_id, 200)}
    return metadata


@lru_cache(maxsize=65_536)
def _project(username: str) -> Made:
    spec = {"name": username, "kind": "individual", "host": {"kind": "other", "id": f"sol-execbench/user/{username}"}}
    return make("SoftwareProject", {"name": f"sol-user-{kebab(username)}"}, spec)


def _protocol(stack: str) -> Made:
    metadata = {"name": f"sol-execbench-leaderboard-{kebab(stack)}", "title": f"{HARNESS} {stack}"}
    return make("BenchmarkProtocol", metadata, {
        "harness": {"name": HARNESS, "version": stack},
        "measurement": {"timer": "harness_reported", "primaryStatistic": "mean"},
        "correctness": {"reference": "definition reference implementation", "comparator": COMPARATOR},
        "comparability": {"family": FAMILY, "notes": NOTES},
    })  # fmt: skip


def _environment(gpu: str, stack: str, hardware: dict[str, str]) -> Made:
    metadata = {
        "name": f"sol-execbench-{kebab(gpu)}-{kebab(stack)}",
        "title": f"SOL-ExecBench {hardware['product']}, stack {stack}",
    }
    spec = {"hardware": hardware, "software": {"libraries": {"evaluation_stack": stack}}}
    return make("ExecutionEnvironment", metadata, spec)
