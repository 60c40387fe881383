"""Fixtures of the chaos suite."""

from collections.abc import Iterator

import pytest

from tests.chaos.nest import Nest


@pytest.fixture(scope="session")
def nest() -> Iterator[Nest]:
    """Where services are born, and empty databases."""
    with Nest() as made:
        yield made
