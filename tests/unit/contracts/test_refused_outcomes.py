"""What a refusal before anything was sent comes to."""

import pytest

from toolbus_contracts.calls import Detail
from toolbus_contracts.errors import Fault, Refused
from toolbus_contracts.executing.outcomes import MAX_DETAILS, refused


def test_every_fault_of_a_refusal_is_told_with_its_path() -> None:
    """As details of the error, which programs read; the message is for people."""
    faults = (Fault("/setup/key", "missing"), Fault("/setup/port", "no number"))
    found = refused(Refused("setup_invalid", "/setup/key: missing", faults))
    assert found.result == "failed"
    assert found.error is not None
    assert found.error.details == (
        Detail(path="/setup/key", message="missing"),
        Detail(path="/setup/port", message="no number"),
    )


def test_of_a_great_many_faults_some_are_told() -> None:
    """An outcome must fit into one message."""
    found = refused(Refused("setup_invalid", "all wrong", (Fault("/a", "wrong"),) * 1000))
    assert found.error is not None
    assert len(found.error.details) == MAX_DETAILS


@pytest.mark.parametrize(("code", "result"), [("payload_missing", "not_sent"), ("egress_denied", "failed")])
def test_only_what_was_lost_on_its_way_is_tried_again(code: str, result: str) -> None:
    """Another attempt lays it down again."""
    found = refused(Refused(code, "no"))
    assert found.error is not None
    assert (found.result, found.error.retryable, found.error.details) == (result, result == "not_sent", ())
