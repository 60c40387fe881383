"""How tests are dealt out to workers, and what they may take from one another."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.distribution import ALONE, LONGEST, SHARED, unit
from tests.ports import FIRST, LAST, free_port
from tests.source import ROOT


@pytest.mark.parametrize("name", [ALONE, *SHARED, *LONGEST])
def test_what_is_treated_apart_is_there(name: str) -> None:
    """A file that was renamed would be dealt out like any other, and nobody would notice."""
    assert (ROOT / name).exists()


@pytest.mark.parametrize(
    ("one", "other", "are_together"),
    [
        ("tests/unit/test_a.py::test_one", "tests/unit/test_a.py::test_two[x::y]", True),
        ("tests/unit/test_a.py::test_one", "tests/unit/test_b.py::test_one", False),
        ("tests/e2e/test_kills.py::test_one", "tests/e2e/test_kills.py::test_two", False),
        ("tests/e2e/up/test_a.py::test_one", "tests/e2e/up/test_b.py::test_one", True),
        ("tests/e2e/test_readme.py::test_one", "tests/e2e/test_readme.py::test_two", True),
    ],
)
def test_what_shares_a_fixture_stays_together(one: str, other: str, *, are_together: bool) -> None:
    """A file, but for the tests that have an installation of their own; a folder that shares one as a whole."""
    assert (unit(one) == unit(other)) is are_together


def test_no_port_is_given_twice() -> None:
    """Whoever asks at the same time gets another one, none of those that the kernel gives away."""
    with ThreadPoolExecutor(8) as threads:
        given = list(threads.map(lambda _: free_port(), range(100)))
    assert len(set(given)) == len(given)
    assert all(FIRST <= port <= LAST for port in given)
