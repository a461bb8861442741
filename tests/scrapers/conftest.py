"""What the tests of the scrapers share."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _certificates_read_once() -> Iterator[None]:
    """Reading the certificates, which no test here needs, takes longer than most of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
        yield
