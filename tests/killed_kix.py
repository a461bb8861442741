"""The `kix` command, ended by `kill -9` at a chosen step of its work: python killed_kix.py STEP COMMAND…

A step is a file opened, copied, renamed, removed or given other rights, or a statement of SQLite; the process dies
right before it. With STEP 0 nothing is killed, and the last line on standard error says how many steps there were.
"""

import os
import signal
import sqlite3
import sys
from typing import Any

from flows.cli import main

FILES = frozenset({"open", "os.rename", "os.remove", "os.chmod", "os.mkdir", "shutil.copyfile", "shutil.rmtree"})
CONNECT = sqlite3.connect


class Steps:
    """Counts the steps, and ends the process before the chosen one."""

    def __init__(self, last: int) -> None:
        self.done, self._last = 0, last

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in FILES and not str(arguments[0]).endswith((".py", ".pyc", ".so")):
            self.take()

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = CONNECT(*arguments, **options)
        connection.set_trace_callback(lambda _statement: self.take())
        return connection

    def take(self) -> None:
        self.done += 1
        if self.done == self._last:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    steps = Steps(int(sys.argv[1]))
    sys.addaudithook(steps.audit)
    sqlite3.connect = steps.connect  # the archive's own connections are traced
    try:
        main(sys.argv[2:])
    finally:
        print(steps.done, file=sys.stderr)
