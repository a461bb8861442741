"""The home with a history, told once, and copies of it to be damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from board_server import BoardServer
from told import Told, small_board, tell


@pytest.fixture(scope="session")
def board_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_board(tmp_path_factory.mktemp("board"))


@pytest.fixture(scope="session")
def told(board_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Told once; tests only read it, or a copy."""
    with BoardServer(board_folder) as board:
        return tell(tmp_path_factory.mktemp("told") / "home", board)


@pytest.fixture
def short(told: Told, tmp_path: Path) -> Path:
    """A copy of the told home as it was after the first sync."""
    return shutil.copytree(told.short, tmp_path / "short")


@pytest.fixture
def home(told: Told, tmp_path: Path) -> Path:
    """A copy of the told home, to be damaged."""
    return shutil.copytree(told.home, tmp_path / "home")
