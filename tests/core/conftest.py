"""Makes the shapes of `bodies` importable; random numbers."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def rng() -> np.random.Generator:
    """The same random numbers for each test."""
    return np.random.default_rng(9)
