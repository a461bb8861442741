"""Coverage-guided fuzzing of one parser: `python tests/fuzz/run.py TARGET --seconds 180`.

Needs the dependency group `fuzz` (atheris). Begins with what `seeds.py` knows of the target, keeps what it finds
interesting in a folder of its own (`--corpus`), and writes an input that breaks a promise beside that.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

with atheris.instrument_imports(include=["scrapers", "transforms", "warehouse", "protego", "bs4"]):
    from fuzz.targets import TARGETS

from fuzz.seeds import SEEDS  # noqa: E402  after what is instrumented


def main() -> None:
    """Fuzz the target that is named until time is over or something is found."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("target", choices=sorted(TARGETS))
    asked.add_argument("--seconds", type=int, default=180)
    asked.add_argument("--corpus", type=Path, default=None)
    given = asked.parse_args()
    folder = given.corpus or Path(tempfile.mkdtemp(prefix=f"fuzz-{given.target}-"))
    folder.mkdir(parents=True, exist_ok=True)
    for place, seed in enumerate(SEEDS[given.target]):
        (folder / f"seed-{place}").write_bytes(seed)
    options = [f"-max_total_time={given.seconds}", "-timeout=20", "-rss_limit_mb=2048", "-max_len=8192",
               f"-artifact_prefix={folder}/found-", "-print_final_stats=1", str(folder)]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], TARGETS[given.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
