"""The Prefect server that `kix serve` starts when none is configured: on loopback, with its files in the home.

Run as a module it is that server; the process that imports it needs no Prefect.
"""

from __future__ import annotations

import json
import os
import runpy
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scrapers.codes import Code, CodedError
from scrapers.own_files import refuse_links

FOLDER = "prefect"
TOLD = "server.json"
HOST = "127.0.0.1"
START_S = 180.0
STOP_S = 2.0
KEEP_RUNS_S = 90 * 24 * 3600
"""How long the server keeps flow runs and events, which are no evidence: reports are in the archive."""


class NoServer(CodedError):
    """The server could not be started."""

    code = Code.NO_SERVER


def configured() -> bool:
    """Whether the operator names a Prefect server: in the environment, or in the active profile."""
    if os.environ.get("PREFECT_API_URL"):
        return True
    home = Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect")
    path = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml")
    try:
        profiles: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError):
        return False
    active = os.environ.get("PREFECT_PROFILE") or profiles.get("active")
    return bool(profiles.get("profiles", {}).get(active, {}).get("PREFECT_API_URL"))


@contextmanager
def own_server(home: Path, port: int | None) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a server with its database in `home`/prefect, yield its API's address and its process, and stop it.

    Raises `NoServer`. The server ends by itself when this process is gone: its standard input closes.
    """
    folder = home / FOLDER
    refuse_links(folder, folder / TOLD)
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port(port)
    url = f"http://{HOST}:{port}/api"
    environment = os.environ | {"PREFECT_HOME": str(folder), "PREFECT_API_URL": url} | _server_settings()
    process = subprocess.Popen(  # noqa: S603  this very module
        [sys.executable, "-m", __name__, str(port)],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        _await_health(url, process)
        (folder / TOLD).write_text(json.dumps({"url": url, "pid": os.getpid()}), encoding="utf-8")
        yield url, process
    finally:
        (folder / TOLD).unlink(missing_ok=True)
        _stop(process)


def _server_settings() -> dict[str, str]:
    usual = {
        "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(KEEP_RUNS_S),
        "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    }
    always = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
    return {name: value for name, value in usual.items() if name not in os.environ} | always


def _free_port(wanted: int | None) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, wanted or 0))
        except OSError as error:
            raise NoServer(
                f"port {wanted} is in use ({error.strerror}): set KIX_PREFECT_PORT to another, or leave it out "
                "for a free one; or set PREFECT_API_URL to the server that is there"
            ) from error
        return int(probe.getsockname()[1])


def _await_health(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise NoServer(f"Prefect's server ended with code {process.returncode}; what it said is above")
        try:
            with opener.open(f"{url}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise NoServer(f"Prefect's server did not answer within {START_S:g} s")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def told(home: Path) -> str | None:
    """The address of the server that a `kix serve` of this home runs now, as it wrote it down."""
    try:
        url: str = json.loads((home / FOLDER / TOLD).read_text(encoding="utf-8"))["url"]
    except (OSError, ValueError, KeyError):
        return None
    return url


def main(port: str) -> None:
    """Be the server, until the process that started it goes away or says so."""
    from filelock import FileLock

    from flows.orphan import end_with_pipe

    end_with_pipe()
    with FileLock(Path(os.environ["PREFECT_HOME"]) / "server.lock"):  # the one before may still be closing its database
        sys.argv = [
            "prefect",
            "--no-prompt",
            "server",
            "start",
            "--host",
            HOST,
            "--port",
            port,
            "--log-level",
            "WARNING",
        ]
        runpy.run_module("prefect", run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1])
