"""What tests that register the add-on share."""

from collections.abc import Iterator

import pytest

import dq_compensation


@pytest.fixture
def addon() -> Iterator[None]:
    """The registered add-on."""
    dq_compensation.register()
    yield
    dq_compensation.unregister()
