"""Whose stored values a call may run with: what a key may name."""

from typing import Any

import pytest

from tests.unit.dispatcher.making import NOW, define, key, submission, submit, tool
from toolbus_contracts.calls import AnyCallEvent, CallRefused, CallRequested
from toolbus_contracts.keys import Key
from toolbus_contracts.stored import Stored, StoredValues

ANA = key()
OF_BO = Stored(
    level="user",
    level_id="bo",
    tool="refund",
    values=StoredValues(setup={"headers": {"authorization": "secret://key_of_bo"}}),
)
STORED = {"user:refund:bo": OF_BO}


def decided(by: Key | None, **more: Any) -> tuple[AnyCallEvent, ...]:
    """What becomes of a call that names bo, for whom setup with a secret is stored."""
    sent = submission(by, context={"user": "bo"}, **more)
    return submit(sent, find_tool=lambda *_: tool(define()), find_stored=STORED.get, now=NOW)


def test_a_key_does_not_run_calls_with_what_is_stored_for_another() -> None:
    """It would send that person's secret; the refusal is on the record, and says where."""
    (refused,) = decided(ANA)
    assert isinstance(refused, CallRefused)
    assert refused.error.code == "forbidden"
    assert refused.error.message.startswith("this key may not name the user bo: ")
    assert [detail.path for detail in refused.error.details] == ["/context/user"]


def test_a_definition_of_its_own_names_nobody_else_either() -> None:
    """Nothing is stored for it, and still its record would tell of somebody who had no part in it."""
    inline = define().model_dump(mode="json", by_alias=True, exclude_none=True)
    (refused,) = decided(ANA, tool=inline)
    assert isinstance(refused, CallRefused)
    assert [detail.path for detail in refused.error.details] == ["/context/user"]


@pytest.mark.parametrize(
    "by",
    [
        None,
        ANA.model_copy(update={"subject": "user:bo"}),
        ANA.model_copy(update={"contexts": ("user:bo",)}),
        ANA.model_copy(update={"contexts": ("agent:a", "user:*")}),
        ANA.model_copy(update={"scopes": ("admin",)}),
    ],
    ids=["bus", "bo", "bound", "backend", "admin"],
)
def test_who_may_name_somebody_runs_calls_with_what_is_stored_for_them(by: Key | None) -> None:
    """The person's own key, one that says so, an admin's, and whoever speaks for the tenant on the bus."""
    first = decided(by)[0]
    assert isinstance(first, CallRequested)
    assert first.setup == {"headers": {"authorization": "secret://key_of_bo"}}
