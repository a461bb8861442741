"""Kills `kix export` at moments spread over its run, and says what was left: python benchmarks/export_kills.py HOME [N]

After each kill: what was there before is as it was, `latest.json` names a whole snapshot or is not there, and the next
export ends well, leaves one snapshot and nothing else.
"""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from flows.snapshots import listed, verify

KIX = (sys.executable, "-m", "flows.cli")
FAMILY = "sol_execbench_leaderboard"


def export(home: Path, out: Path, *options: str) -> None:
    """Export in a process of its own."""
    command = [*KIX, "export", str(out), "--home", str(home), "--quiet", *options]
    subprocess.run(command, check=True)


def bytes_below(out: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {str(one.relative_to(out)): one.read_bytes() for one in out.rglob("*") if one.is_file()}


def state(out: Path) -> str:
    """Say in a word how far the killed export had come."""
    if (out / "latest.json").exists():
        return "named"
    if len(list((out / "snapshots").iterdir())) > 1:
        return "in place, not named"
    aside = [one for one in out.iterdir() if one.name.startswith(".writing-2")]
    return f"{len(list(aside[0].rglob('*.*')))} files aside" if aside else "nothing written yet"


def main(home: Path, times: int) -> int:
    """Kill it `times` times; print what was left of each. Returns 1 when anything was not well."""
    with tempfile.TemporaryDirectory() as folder:
        ready, out = Path(folder) / "ready", Path(folder) / "out"
        export(home, ready, "--family", FAMILY)
        before = bytes_below(ready)
        shutil.copytree(ready, out)
        begun = time.monotonic()
        export(home, out)
        whole_s = time.monotonic() - begun
        bad = 0
        for number in range(times):
            shutil.rmtree(out)
            shutil.copytree(ready, out)
            wait_s = whole_s * (number + 0.5) / times
            with subprocess.Popen([*KIX, "export", str(out), "--home", str(home), "--quiet"]) as run:
                time.sleep(wait_s)
                run.send_signal(signal.SIGKILL)
            left = state(out)
            after = bytes_below(out)
            kept = all(after.get(name) == data for name, data in before.items())
            whole = verify(out) == []
            export(home, out)
            names = {one.name for one in out.iterdir() if not one.name.startswith(".export.lock")}
            clean = names == {"snapshots", "latest.json", f"latest-{FAMILY}.json"} and len(listed(out)) == 2
            named = json.loads((out / "latest.json").read_text())["snapshot"]
            well = kept and whole and clean and verify(out, named) == []
            bad += not well
            print(f"killed after {wait_s:5.2f} s: {left:24} {'well' if well else 'NOT WELL'}", flush=True)
    print(f"{times - bad} of {times} well; a whole export took {whole_s:.2f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20))
