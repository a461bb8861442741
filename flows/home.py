"""Which folder is the home, where nothing says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_data_path


def default_home() -> Path:
    """Return `KIX_HOME`, else kix's folder in the platform's user data directory."""
    return Path(os.environ["KIX_HOME"]) if os.environ.get("KIX_HOME") else user_data_path("kix")
