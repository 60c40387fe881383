"""Fixtures of the inbox page."""

import pytest

from tests.unit.approvals.inbox.pretending import Page


@pytest.fixture
def page() -> Page:
    """The page, with nothing in it."""
    return Page()
