"""Which stored value holds: the nearest level, over the definition, over the call."""

from typing import Any

import pytest

from toolbus_contracts.stored import (
    NOTHING,
    CallContext,
    Stored,
    StoredValues,
    merged,
    over,
    overlaid,
    places_of,
    stored_digest,
)


def at(level: Any, setup: dict[str, Any] | None = None, **arguments: Any) -> Stored:
    """What is stored at a level."""
    values = StoredValues(setup=setup or {}, arguments=arguments)
    return Stored(level=level, level_id="x", tool="search", values=values)


def test_the_nearest_level_comes_first() -> None:
    """Session, task, user, agent, and always the tenant."""
    context = CallContext(session="s", task="t", user="u", agent="a")
    assert places_of(context, "search") == (
        "session:search:s",
        "task:search:t",
        "user:search:u",
        "agent:search:a",
        "tenant:search:all",
    )
    assert places_of(CallContext(user="u"), "search") == ("user:search:u", "tenant:search:all")
    assert places_of(None, "search") == ("tenant:search:all",)


def test_each_key_comes_from_the_nearest_level_that_has_it() -> None:
    """A level hides what farther ones store under its keys, and nothing else."""
    removed = Stored(level="task", level_id="x", tool="search", values=None)
    levels = [at("session", {"key": 1}, a=1), removed, None, at("tenant", {"key": 2, "url": 3}, a=2, b=3)]
    found = overlaid(levels, "integration")
    assert (found.setup, found.arguments) == ({"key": 1, "url": 3}, {"a": 1, "b": 3})
    assert overlaid([removed, None], "integration") is NOTHING


def test_parts_of_a_request_are_merged_inside() -> None:
    """Each header of an api_call is a key of its own; an integration's setup is taken key by key."""
    near, far = {"headers": {"a": 1}, "json": [1]}, {"headers": {"a": 2, "b": 2}, "json": {"c": 3}}
    assert over(near, far, "api_call") == {"headers": {"a": 1, "b": 2}, "json": [1]}
    assert over(near, far, "integration") == near
    found = overlaid([at("user", near), at("tenant", far)], "api_call")
    assert found.setup == {"headers": {"a": 1, "b": 2}, "json": [1]}


def test_two_spellings_of_a_header_are_one_header() -> None:
    """The nearer level's stays; keys of other parts are what they are written as."""
    near, far = {"headers": {"authorization": 1}}, {"headers": {"Authorization": 2, "X-A": 2}}
    assert over(near, far, "api_call") == {"headers": {"authorization": 1, "X-A": 2}}
    assert over({"params": {"a": 1}}, {"params": {"A": 2}}, "api_call") == {"params": {"a": 1, "A": 2}}
    assert over({"headers": {"A": 1, "a": 1}}, {"headers": {"a": 2}}, "api_call") == {"headers": {"A": 1, "a": 1}}


def test_stored_wins_over_the_definition_and_that_over_the_call() -> None:
    """Whoever calls is the weakest."""
    assert merged({"a": 1}, {"a": 2, "b": 2}, {"a": 3, "b": 3, "c": 3}) == {"a": 1, "b": 2, "c": 3}


@pytest.mark.parametrize(
    "other", [StoredValues(setup={"a": 2}), StoredValues(arguments={"a": 1}), StoredValues(setup={"a": 1, "b": 1})]
)
def test_a_digest_tells_one_from_another(other: StoredValues) -> None:
    """Nothing stored has none; what is stored has one that any change changes."""
    values = StoredValues(setup={"a": 1})
    assert stored_digest(NOTHING) is None
    assert stored_digest(values) == stored_digest(values.model_copy()) != stored_digest(other)
