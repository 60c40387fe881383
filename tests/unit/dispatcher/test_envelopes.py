"""Commands from the bus: plain JSON, and CloudEvents in both modes."""

import json
from typing import Any

import pytest

from toolbus_contracts.errors import Fault, Unreadable
from toolbus_dispatcher.core.envelopes import Told, name_in, read_command

BODY = {"tool": "refund"}
DATA = json.dumps(BODY).encode()
KEY = {"Toolbus-Idempotency-Key": "order-7"}
BINARY = {
    "ce-specversion": "1.0",
    "ce-id": "m%201",
    "ce-source": "/crm",
    "ce-type": "toolbus.call.submit",
}
EVENT = {"specversion": "1.0", "id": "m 1", "source": "/crm", "type": "toolbus.call.submit", "data": BODY}
STRUCTURED = {"Content-Type": "application/cloudevents+json; charset=utf-8"}


def refused(data: Any, headers: dict[str, str], verb: str = "submit") -> Unreadable:
    """Why this message cannot be read."""
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    with pytest.raises(Unreadable) as caught:
        read_command(raw, headers, verb)
    return caught.value


def test_plain_json_is_a_command() -> None:
    """Its id and its trace come from the headers, whatever their case."""
    assert read_command(DATA, {}, "submit") == Told(BODY, None, None)
    headers = {"nats-msg-id": "m 1", "TraceParent": "00-1-2-01"}
    assert read_command(DATA, headers, "submit") == Told(BODY, "m 1", "00-1-2-01")


def test_a_cloud_event_in_binary_mode() -> None:
    """The attributes are headers, percent-encoded; the data is the command."""
    assert read_command(DATA, BINARY, "submit") == Told(BODY, "m 1", None)
    assert read_command(DATA, {"Nats-Msg-Id": "other", **BINARY}, "submit").message_id == "m 1"
    upper = {name.upper(): value for name, value in BINARY.items()}
    assert read_command(DATA, upper, "submit").message_id == "m 1"


def test_a_cloud_event_in_structured_mode() -> None:
    """The content type decides, also when it has parameters; the command is under `data`."""
    raw = json.dumps(EVENT).encode()
    assert read_command(raw, STRUCTURED, "submit") == Told(BODY, "m 1", None)
    assert read_command(raw, {"content-type": " application/cloudevents+json ", **BINARY}, "submit").body == BODY
    assert read_command(DATA, {"content-type": "application/json"}, "submit").body == BODY


@pytest.mark.parametrize("mode", ["binary", "structured"])
@pytest.mark.parametrize("missing", ["specversion", "id", "source", "type"])
def test_a_cloud_event_has_its_four_attributes(mode: str, missing: str) -> None:
    """Each that lacks is named; without `ce-specversion` a message in binary mode is no CloudEvent at all."""
    if mode == "structured":
        error = refused({name: value for name, value in EVENT.items() if name != missing}, STRUCTURED)
    elif missing == "specversion":
        assert read_command(DATA, {"ce-id": "1"}, "submit") == Told(BODY, None, None)
        return
    else:
        error = refused(DATA, {name: value for name, value in BINARY.items() if name != f"ce-{missing}"})
    assert (error.code, error.message) == ("invalid_request", f"the CloudEvent lacks {missing}")
    assert error.faults == (Fault(f"/{missing}", "required by CloudEvents"),)


def test_every_missing_attribute_is_named() -> None:
    """In the order of the alphabet, so that the message is always the same."""
    error = refused({"specversion": "1.0", "id": "1"}, STRUCTURED)
    assert error.message == "the CloudEvent lacks source, type"
    assert [fault.path for fault in error.faults] == ["/source", "/type"]


@pytest.mark.parametrize(
    ("name", "value"), [("id", ""), ("id", 5), ("id", None), ("specversion", "0.3"), ("specversion", 1.0)]
)
def test_attributes_are_what_the_standard_says(name: str, value: object) -> None:
    """An id is a text that is not empty, and the version is 1.0."""
    error = refused({**EVENT, name: value}, STRUCTURED)
    message = f"{name} is not what CloudEvents 1.0 asks for"
    assert (error.code, error.message, error.faults) == ("invalid_request", message, (Fault(f"/{name}", message),))


@pytest.mark.parametrize(("verb", "kind"), [("submit", "toolbus.call.cancel"), ("cancel", "toolbus.call.submit")])
def test_the_type_fits_the_subject(verb: str, kind: str) -> None:
    """An event of another type was sent to the wrong place."""
    error = refused({**EVENT, "type": kind}, STRUCTURED, verb)
    message = f"type is {kind!r}, but the subject takes toolbus.call.{verb}"
    assert (error.code, error.message, error.faults) == ("invalid_request", message, (Fault("/type", message),))


@pytest.mark.parametrize(
    ("data", "headers"),
    [([], {}), ("text", {}), ([], STRUCTURED), ([], BINARY), ({**EVENT, "data": None}, STRUCTURED)],
)
def test_a_command_is_an_object(data: Any, headers: dict[str, str]) -> None:
    """In every mode."""
    error = refused(data, headers)
    assert (error.code, error.message) == ("invalid_request", "a command is a JSON object")
    assert error.faults == (Fault("", "not an object"),)


def test_what_is_not_json_cannot_be_read() -> None:
    """Nor can what strict JSON does not allow."""
    assert refused(b"{", {}).code == "invalid_json"
    assert refused(b"{", BINARY).code == "invalid_json"
    assert refused(b'{"tool": "\\u0000"}', STRUCTURED).code == "invalid_value"


@pytest.mark.parametrize("said", [BODY, {**BODY, "idempotency_key": None}])
def test_the_idempotency_key_may_come_in_a_header(said: dict[str, Any]) -> None:
    """Also for a serializer that writes empty fields: its null is no key."""
    found = read_command(json.dumps(said).encode(), KEY, "submit")
    assert found.body == {**BODY, "idempotency_key": "order-7"}


def test_the_key_in_the_body_wins() -> None:
    """It was chosen nearer to the request."""
    said = {**BODY, "idempotency_key": "mine"}
    assert read_command(json.dumps(said).encode(), KEY, "submit").body == said


def test_only_a_submitted_call_takes_the_header() -> None:
    """A client that sends it with everything can cancel, too."""
    assert read_command(b'{"call_id": "call_1"}', KEY, "cancel").body == {"call_id": "call_1"}


@pytest.mark.parametrize(
    ("value", "message"), [("a\x00b", "NUL is not allowed in text"), ("a\ufffdb", "the header is not UTF-8")]
)
def test_a_key_in_a_header_is_held_to_the_same_rules(value: str, message: str) -> None:
    """Two keys must not become one because bytes were replaced on the way."""
    error = refused(DATA, {"toolbus-idempotency-key": value})
    assert (error.code, error.message, error.faults) == (
        "invalid_value",
        message,
        (Fault("/idempotency_key", message),),
    )


def test_a_message_has_a_name_before_it_is_read() -> None:
    """Its CloudEvents id, else the id that it was published under; so a refusal of an unreadable one finds its way."""
    assert name_in({"Nats-Msg-Id": "m 2", **BINARY}) == "m 1"
    assert name_in({"nats-msg-id": "m 2"}) == "m 2"
    assert name_in({"nats-msg-id": ""}) is None
