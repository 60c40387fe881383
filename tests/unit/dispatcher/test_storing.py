"""What may be stored for a tool, and what that comes to."""

from typing import Any

import pytest

from tests.unit.dispatcher.making import LATER, NOW, define, tool
from toolbus_contracts.errors import NotFound, Refused
from toolbus_contracts.stored import MAX_STORED_CHARS, Stored, StoredValues, ValuesRemoved, ValuesStored, evolve_stored
from toolbus_contracts.tools import Tool, ToolDefinition
from toolbus_dispatcher.core.storing import Place, decide_remove, decide_store, known

USER = Place("user", "ana", "refund")
NO_TOOL = Tool()


def values(setup: dict[str, Any] | None = None, **arguments: Any) -> StoredValues:
    """Values to store."""
    return StoredValues(setup=setup or {}, arguments=arguments)


def store(said: StoredValues, place: Place = USER, found: Tool = NO_TOOL, before: Stored | None = None) -> Any:
    """What storing comes to."""
    return decide_store(said, before, place, tool=found, now=NOW)


def after(*events: ValuesStored | ValuesRemoved) -> Stored | None:
    """The state that these events lead to."""
    state: Stored | None = None
    for event in events:
        state = evolve_stored(state, event)
    return state


def faults(*arguments: Any) -> list[str]:
    """The paths of what is wrong."""
    with pytest.raises(Refused) as caught:
        store(*arguments)
    assert caught.value.code == "invalid_request"
    return [fault.path for fault in caught.value.faults]


def test_what_is_stored_holds_until_something_else_is() -> None:
    """The same again adds nothing; JSON tells 1, 1.0 and true apart."""
    (first,) = store(values({"headers": {"x": "secret://key"}}, limit=1))
    stored = after(first)
    assert stored is not None
    assert (known(stored, USER).arguments, stored.level_id) == ({"limit": 1}, "ana")
    assert store(values({"headers": {"x": "secret://key"}}, limit=1), USER, NO_TOOL, stored) == ()
    for other in (True, 1.0, 2):
        assert len(store(values({"headers": {"x": "secret://key"}}, limit=other), USER, NO_TOOL, stored)) == 1


def test_what_is_removed_is_not_there() -> None:
    """It can be removed once, and stored anew."""
    (first,) = store(values(limit=1))
    (gone,) = decide_remove(after(first), USER, now=LATER)
    for state in (None, after(first, gone)):
        with pytest.raises(NotFound, match="nothing is stored for refund at user ana"):
            decide_remove(state, USER, now=LATER)
    assert len(store(values(limit=1), USER, NO_TOOL, after(first, gone))) == 1


@pytest.mark.parametrize(
    ("said", "paths"),
    [
        (values({"a": "x" * MAX_STORED_CHARS}), ["/setup"]),
        (values(a="x" * MAX_STORED_CHARS), ["/arguments"]),
        (values({"headers": {"authorization": "Bearer secret://key"}}), ["/setup/headers/authorization"]),
        (values(a=["secret://key"]), ["/arguments/a/0"]),
        (values(a={"$payload": "sha256:0"}), ["/arguments/a"]),
        (values({"json": {"a": {"$payload": "sha256:0"}}}), ["/setup/json/a"]),
    ],
)
def test_what_nobody_could_use_is_refused(said: StoredValues, paths: list[str]) -> None:
    """Too large, or a reference that nobody would follow."""
    assert faults(said) == paths


@pytest.mark.parametrize("place", [Place("tenant", "acme", "refund"), Place("user", "all", "refund")])
def test_only_the_level_of_the_tenant_has_the_id_all(place: Place) -> None:
    """And it has no other one: nobody would look there."""
    assert faults(values(), place) == ["/path/level_id"]
    assert store(values(), Place("tenant", "all", "refund"))[0].level == "tenant"


@pytest.mark.parametrize(
    ("definition", "said", "paths"),
    [
        (define(), values({"url": "https://x.example"}), ["/setup/url"]),
        (define(), values({"headers": "x"}), ["/setup/headers"]),
        (define(), values({"headers": {"X-A": "1", "x-a": "2"}}), ["/setup/headers"]),
        (define(), values({"headers": {"x": "y"}}, charge="ch_1"), []),
        (ToolDefinition.model_validate({"name": "f", "function": {}}), values(a=1), [""]),
        (
            ToolDefinition.model_validate({"name": "m", "mcp": {"server": "s", "tool": "t"}}),
            values({"a": 1}),
            ["/setup"],
        ),
        (ToolDefinition.model_validate({"name": "m", "mcp": {"server": "s", "tool": "t"}}), values(a=1), []),
        (ToolDefinition.model_validate({"name": "i", "integration": {"provider": "p"}}), values({"any": 1}), []),
    ],
)
def test_it_must_be_of_use_to_the_tool_of_that_name(
    definition: ToolDefinition, said: StoredValues, paths: list[str]
) -> None:
    """While it is in use; a tool that is not there yet may become anything."""
    if paths:
        assert faults(said, USER, tool(definition)) == paths
    else:
        assert len(store(said, USER, tool(definition))) == 1
    assert len(store(said, USER, tool(definition, is_retired=True))) == 1
