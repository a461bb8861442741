"""Files and folders that kix keeps in a home are real ones: a symbolic link in their place could lead anywhere."""

from __future__ import annotations

import errno
from pathlib import Path


def refuse_links(*paths: Path) -> None:
    """Raise `OSError` when one of the paths is a symbolic link, whether or not there is something at its other end.

    Only the last part of a path is looked at: where the home itself lies is its owner's choice. Whoever may write into
    the home while kix is at work can still exchange what was looked at; a home belongs to one person.
    """
    for path in paths:
        if path.is_symlink():
            raise OSError(
                errno.ELOOP,
                "it is a symbolic link, and kix writes through none: put a real one in its place",
                str(path),
            )
