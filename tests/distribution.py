"""
How the tests are dealt out to the workers of `pytest -n`, which start servers of their own and share nothing.

A file stays on one worker, for the sake of its fixtures. Most tests in tests/e2e wait for an installation of their
own: there each is dealt out alone, but for files and folders that share one. The longest come first, so that no
worker begins one when the others are done.
"""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

ALONE = "tests/e2e/"
SHARED = (  # one installation, one browser or one environment for all tests in there
    "tests/e2e/inbox/test_inbox.py",
    "tests/e2e/inbox/test_inbox_access.py",
    "tests/e2e/inbox/test_inbox_live.py",
    "tests/e2e/up/",
    "tests/e2e/test_approvals.py",
    "tests/e2e/test_approved_changes.py",
    "tests/e2e/test_inbox_page.py",
    "tests/e2e/test_provider_package.py",
    "tests/e2e/test_published_examples.py",
    "tests/e2e/test_readme.py",
    "tests/e2e/test_standing.py",
)
LONGEST = ("tests/fuzzing/", "tests/chaos/test_chaos.py", "tests/e2e/test_kills.py")


def unit(node_id: str) -> str:
    """What runs on one worker together with this test: the beginning of all their ids."""
    for shared in SHARED:
        if node_id.startswith(shared):
            return shared
    return node_id if node_id.startswith(ALONE) else node_id.partition("::")[0]


class Scheduling(LoadScopeScheduling):
    """Hands out the units in the order of their tests, one whenever a worker has hardly anything left to do."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Ours, unless another distribution was asked for."""
    return Scheduling(config, log) if config.getvalue("dist") == "load" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On a worker, the longest first."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
