"""Laws of hashes: equal things hash alike, however they were written; any change shows."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_type_hints

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import definitions, json_objects, json_values, moments, texts
from toolbus_contracts.digests import (
    call_id_for_key,
    call_id_for_message,
    digest,
    execution_id_for_call,
    fingerprint,
)
from toolbus_contracts.envelope import GENESIS, StoredEvent, event_hash, time_text
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.values import parse_json

events = st.builds(
    StoredEvent,
    **{
        name: {int: st.integers(0, 10**9), datetime: moments}.get(kind, texts)
        for name, kind in get_type_hints(StoredEvent).items()
    },
)


@given(value=json_objects)
def test_a_digest_does_not_depend_on_the_order_of_keys(value: dict[str, Any]) -> None:
    """Two writers that order keys otherwise agree on the digest."""
    assert digest(dict(reversed(value.items()))) == digest(value)


@given(value=json_values)
def test_a_digest_survives_the_wire(value: Any) -> None:
    """Whoever reads the JSON text computes the same digest."""
    assert digest(parse_json(json.dumps(value).encode())) == digest(value)


@given(value=json_values)
def test_a_fingerprint_survives_the_wire(value: Any) -> None:
    """The same body submitted twice has one fingerprint."""
    assert fingerprint(parse_json(json.dumps(value).encode())) == fingerprint(value)


@given(definition=definitions(), description=texts)
def test_a_definition_hash_ignores_the_description_only(definition: ToolDefinition, description: str) -> None:
    """What cannot change the effect is not hashed; every timeout, contract and section is."""
    assert definition.model_copy(update={"description": description}).definition_hash() == definition.definition_hash()
    longer = definition.model_copy(update={"timeout_s": definition.attempt_s() + 1})
    assert longer.definition_hash() != definition.definition_hash()


@given(definition=definitions())
def test_a_definition_hash_survives_the_store(definition: ToolDefinition) -> None:
    """A definition that was stored and read again has the hash it had."""
    read = ToolDefinition.model_validate_json(definition.model_dump_json(by_alias=True))
    assert read.definition_hash() == definition.definition_hash()
    assert read.execution_hash() == definition.execution_hash()


@given(event=events, data=st.data())
def test_an_event_hash_shows_a_change_of_any_field(event: StoredEvent, data: st.DataObject) -> None:
    """No field can be changed, and no text moved into its neighbour, without another hash."""
    name = data.draw(st.sampled_from([name for name in StoredEvent._fields if name != "hash"]))
    other = data.draw(events)
    changed = event._replace(**{name: getattr(other, name)})
    same = getattr(changed, name) == getattr(event, name)
    assert (event_hash(changed) == event_hash(event)) == same


@given(moment=moments, offset=st.integers(-12, 12))
def test_one_moment_has_one_text(moment: datetime, offset: int) -> None:
    """A database that answers in another time zone does not change a hash."""
    elsewhere = moment.astimezone(timezone(timedelta(hours=offset)))
    assert time_text(elsewhere) == time_text(moment)
    assert datetime.fromisoformat(time_text(moment)) == moment


@given(tenant=st.sampled_from(["a", "b"]), key=texts, sequence=st.integers(1, 3), stored=st.sampled_from(["1", "2"]))
def test_ids_are_well_formed_and_apart(tenant: str, key: str, sequence: int, stored: str) -> None:
    """Ids from keys and ids from messages never meet, nor do those of two tenants."""
    by_key = call_id_for_key(tenant, key)
    by_message = call_id_for_message(tenant, "2026-01-01", sequence, stored)
    assert by_key != by_message
    assert call_id_for_key(tenant + "x", key) != by_key
    for call_id in (by_key, by_message):
        assert len(call_id) == len("call_") + 32
        assert execution_id_for_call(call_id) == "exec_" + call_id[5:]


def test_the_genesis_hash_is_no_hash_of_anything() -> None:
    """The first event of a stream is chained to 64 zeros."""
    assert GENESIS == "0" * 64
    assert time_text(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)) == "2026-01-02T03:04:05.000006Z"
