"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of public reference data beside the checkout; a must in CI, elsewhere a reason to skip."""
    place = Path(os.environ.get("EVALKIT_SHARED", ROOT.parent / "shared"))
    if place.is_dir():
        return place
    if os.environ.get("CI"):
        pytest.fail(f"the reference data is missing: wanted a folder {place}")
    pytest.skip("the public reference data is not beside this checkout")
