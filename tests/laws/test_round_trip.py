"""Laws of messages: what was written is read again, field for field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import instances
from toolbus_contracts.catalogue import event_reader, event_types
from toolbus_contracts.values import parse_json


@pytest.mark.parametrize("kind", event_types())
@given(data=st.data())
def test_an_event_survives_its_json_text(kind: str, data: st.DataObject) -> None:
    """An event of any kind, written as JSON text and read by the union's reader, is equal to the first."""
    event = data.draw(instances(event_types()[kind]))
    text = event.model_dump_json(by_alias=True)
    assert event_reader(kind).validate_json(text) == event


@pytest.mark.parametrize("kind", event_types())
@given(data=st.data())
def test_what_we_write_is_strict_json(kind: str, data: st.DataObject) -> None:
    """Our own text passes the reader that guards the edges, and means the same there."""
    event = data.draw(instances(event_types()[kind]))
    text = event.model_dump_json(by_alias=True)
    assert event_reader(kind).validate_python(parse_json(text.encode())) == event
