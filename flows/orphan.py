"""A process that `kix serve` started ends with it, however that ends: nothing of a killed one is left to run."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

PARENT = "KIX_SERVE_PID"
"""The process of `kix serve`, in the environment of what it starts."""

LOOK_S = 0.5
GRACE_S = 2.0
SERVER_GRACE_S = 1.0
"""A server waits for its clients; the ones that it had are gone or will be."""


def end_with_parent() -> None:
    """End this process in order soon after its `kix serve` is gone, and for certain a moment later."""
    parent = os.environ.get(PARENT)
    if parent is None or parent != str(os.getppid()):
        return  # run by a worker, or by hand
    threading.Thread(target=_watch, args=(int(parent),), daemon=True, name="end with kix serve").start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(1)


def end_with_pipe() -> None:
    """End this process when its standard input closes: the other end is held by `kix serve` alone."""
    threading.Thread(target=_drain, daemon=True, name="end with kix serve").start()


def _drain() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(SERVER_GRACE_S)
    os._exit(0)
