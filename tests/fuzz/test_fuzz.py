"""Each parser under strange input for a moment: by hypothesis, and led by coverage where atheris is installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from fuzz.seeds import SEEDS
from fuzz.targets import TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

RUN = Path(__file__).with_name("run.py")
EDITS = st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 12), st.binary(max_size=12)), max_size=6)


def test_every_target_has_seeds_that_it_takes() -> None:
    assert set(SEEDS) == set(TARGETS)
    for name, target in TARGETS.items():
        assert SEEDS[name]
        for seed in SEEDS[name]:
            target(seed)


@pytest.mark.parametrize("name", TARGETS)
def test_strange_input_is_read_or_refused_as_declared(name: str) -> None:
    @settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(SEEDS[name]), EDITS, st.binary(max_size=60))
    def strange(seed: bytes, edits: list[tuple[int, int, bytes]], other: bytes) -> None:
        TARGETS[name](edited(seed, edits))
        TARGETS[name](other)

    strange()


def edited(seed: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """The seed with pieces cut out and others put in their place."""
    for place, cut, piece in edits:
        at = place % (len(seed) + 1)
        seed = seed[:at] + piece + seed[at + cut :]
    return seed


@pytest.mark.skipif(find_spec("atheris") is None, reason="needs the dependency group fuzz (atheris)")
@pytest.mark.parametrize("name", TARGETS)
def test_coverage_finds_nothing_in_a_moment(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(RUN), name, "--seconds", "2", "--corpus", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
