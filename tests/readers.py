"""A reader of the published warehouse, beside syncs: python readers.py HOME STOP. Opens it again and again.

It prints the newest sync and the count of versions of each state that it saw, and ends once there is a file STOP. On
the first state that is not whole it ends with a traceback.
"""

import sys
import time
from pathlib import Path

from warehouse.checks import run_checks
from warehouse.connection import first_row, reading

WHOLE = """
    WITH state AS (SELECT max(sync_id) AS newest FROM syncs)
    SELECT
        newest,
        newest = (SELECT max(sync_id) FROM listings) AS listed,
        (SELECT count(*) FROM runs) = (SELECT count(DISTINCT run_digest) FROM submission_runs) AS runs_have_states,
        newest >= (SELECT coalesce(max(first_seen_sync), 0) FROM submission_versions) AS none_from_later,
        (SELECT count(*) FROM submission_versions) AS versions
    FROM state
"""
"""What holds in each whole state, whenever it was."""


def look(home: Path) -> tuple[int, int]:
    """Open the warehouse once. Returns its newest sync and its count of versions; raises when it is not whole."""
    with reading(home) as db:
        row = first_row(db, WHOLE)
        assert row is not None
        newest, *whole, versions = row
        again = first_row(db, WHOLE)
        problems = run_checks(db)
    assert all(whole), row
    assert again == row, (row, again)
    assert not problems, problems
    return int(newest), int(versions)


def main(home: Path, stop: Path) -> None:
    """Look until there is a file `stop`, and once more after."""
    seen = (0, 0)
    while True:
        last = stop.exists()
        now = look(home)
        assert now >= seen, (seen, now)  # never back
        if now != seen:
            print(*now, flush=True)
        seen = now
        if last:
            return
        time.sleep(0.05)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
