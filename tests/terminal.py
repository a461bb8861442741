"""A terminal for commands to write to, and what a terminal would obey in what they wrote."""

from __future__ import annotations

import os
import re
import subprocess
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress

OWN_STYLE = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[hl]|\r?\x1b\[1?[AK]|\r?\x1b\[2K")
"""What kix itself sends: colours, and what progress bars move."""


def on_terminal(command: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """Run a command whose output and words go to a terminal. Return what came there, without kix's own colours."""
    leader, follower = os.openpty()
    own = {**os.environ, "TERM": "xterm", "COLUMNS": "200", "NO_COLOR": "1", **(env or {})}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, env=own) as process:
        os.close(follower)
        parts = []
        with suppress(OSError):  # the end of a terminal, on Linux
            while part := os.read(leader, 65_536):
                parts.append(part)
        process.wait(timeout=60)
    os.close(leader)
    return b"".join(parts).decode().replace("\r\n", "\n")


def obeyed(text: str) -> set[str]:
    """Return the characters that a terminal would obey or not show, but for line breaks and kix's own colours."""
    return {char for char in OWN_STYLE.sub("", text) if unicodedata.category(char)[0] == "C" and char != "\n"}
