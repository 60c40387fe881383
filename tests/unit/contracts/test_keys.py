"""Keys: valid until they end, and for the tools they name."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from toolbus_contracts.keys import CreateKey, Key, KeyCreated, KeyRevoked, evolve_key, foreign_to
from toolbus_contracts.stored import CallContext
from toolbus_contracts.tools import Limits

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def created(*, expires_at: datetime | None = None, tools: tuple[str, ...] | None = None) -> KeyCreated:
    """A key of a service, made now."""
    return KeyCreated(
        key_id="key_1",
        tenant="acme",
        subject="service:crm",
        roles=("finance",),
        scopes=("read",),
        tools=tools,
        expires_at=expires_at,
        secret_hash="ab",
        at=NOW,
    )


def key(**changes: object) -> Key:
    """The state that a creation leads to."""
    state = evolve_key(None, created())
    assert state is not None
    return state.model_copy(update=changes)


def test_a_key_carries_all_that_it_was_created_with() -> None:
    """Tenant, subject, roles, scopes, tools, expiry, limits and the hash of its secret."""
    event = created(expires_at=NOW + timedelta(days=1), tools=("refund",))
    event = event.model_copy(update={"limits": Limits(concurrency=3), "contexts": ("user:*",)})
    state = evolve_key(None, event)
    shared = set(KeyCreated.model_fields) & set(Key.model_fields)
    assert {name: getattr(state, name) for name in shared} == {name: getattr(event, name) for name in shared}


def test_a_key_is_valid_until_it_expires() -> None:
    """At its expiry it opens nothing any more."""
    assert key().is_valid(NOW)
    dated = key(expires_at=NOW + timedelta(seconds=1))
    assert dated.is_valid(NOW)
    assert not dated.is_valid(NOW + timedelta(seconds=1))


def test_a_revoked_key_opens_nothing() -> None:
    """Revoking keeps when it was."""
    revoked = evolve_key(key(), KeyRevoked(key_id="key_1", at=NOW))
    assert revoked is not None
    assert not revoked.is_valid(NOW)
    assert revoked.revoked_at == NOW


def test_revoking_what_was_never_created_is_nothing() -> None:
    """A stream cut at its head tells nothing, and does not fail."""
    assert evolve_key(None, KeyRevoked(key_id="key_1", at=NOW)) is None


def test_a_key_may_be_limited_to_tools() -> None:
    """Without a list it may call all of them; an empty list is a list."""
    assert key().may_call("refund")
    assert key(tools=("refund",)).may_call("refund")
    assert not key(tools=("search",)).may_call("refund")
    assert not key(tools=()).may_call("refund")


@pytest.mark.parametrize(
    ("changes", "named", "foreign"),
    [
        ({}, {"user": "ana"}, ["user"]),
        ({}, {"session": "s", "task": "t", "user": "u", "agent": "a"}, ["session", "task", "user", "agent"]),
        ({"subject": "user:ana"}, {"user": "ana"}, []),
        ({"subject": "user:ana"}, {"user": "bo"}, ["user"]),
        ({"subject": "user:ana"}, {"agent": "ana", "session": "ana"}, ["session", "agent"]),
        ({"subject": "agent:helper"}, {"agent": "helper", "user": "ana"}, ["user"]),
        ({"contexts": ("user:ana", "session:*")}, {"user": "ana", "session": "s", "task": "t"}, ["task"]),
        ({"contexts": ("user:ana",)}, {"user": "anas"}, ["user"]),
        ({"contexts": ("user:*",)}, {"user": "anybody"}, []),
        ({"scopes": ("submit", "approve", "operate", "audit")}, {"user": "ana"}, ["user"]),
        ({"scopes": ("admin",)}, {"user": "ana", "session": "s"}, []),
    ],
)
def test_a_key_names_its_own_subject_and_its_contexts(
    changes: dict[str, object], named: dict[str, str], foreign: list[str]
) -> None:
    """What is stored for somebody holds secrets of theirs: who only submits does not run calls with them."""
    assert [level for level, _ in foreign_to(key(**changes), CallContext(**named))] == foreign
    assert foreign_to(key(**changes), None) == ()


@pytest.mark.parametrize("rule", ["ana", "user", "user:", "*", "*:ana", "tenant:all", "user:a*", "user:**", "user:-x"])
def test_a_context_of_a_key_is_a_level_and_whose(rule: str) -> None:
    """One, or all of that level."""
    asked = {"subject": "service:crm", "scopes": ["submit"]}
    with pytest.raises(ValidationError):
        CreateKey.model_validate({**asked, "contexts": [rule]})
    assert CreateKey.model_validate({**asked, "contexts": ["user:*", "task:t.1"]}).contexts == ("user:*", "task:t.1")


@pytest.mark.parametrize("subject", ["ana", "user:", "robot:x", "user:a b", "user:ana\n", "user:" + "a" * 129])
def test_a_subject_has_a_kind_and_a_name(subject: str) -> None:
    """Anything else is refused before a key is made."""
    with pytest.raises(ValidationError):
        CreateKey.model_validate({"subject": subject, "scopes": ["read"]})


def test_a_key_needs_a_scope() -> None:
    """A key that opens nothing is a mistake."""
    with pytest.raises(ValidationError):
        CreateKey.model_validate({"subject": "user:ana", "scopes": []})


@pytest.mark.parametrize("moment", [1767312000, 1.5, "1767312000", "2026-01-02", "2026-01-02T00:00:00"])
def test_a_key_expires_at_a_time_with_its_zone(moment: object) -> None:
    """A number could be seconds or milliseconds, a date any hour, a time without zone any moment."""
    with pytest.raises(ValidationError):
        CreateKey.model_validate({"subject": "user:ana", "scopes": ["read"], "expires_at": moment})
    key = CreateKey.model_validate({"subject": "user:ana", "scopes": ["read"], "expires_at": "2026-01-02T00:00:00Z"})
    assert key.expires_at == NOW
