"""Read a command from the bus: plain JSON, or a CloudEvent in binary or structured mode."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from toolbus_contracts.errors import Fault, Unreadable
from toolbus_contracts.values import Json, find_faults, parse_json

IDEMPOTENCY_HEADER = "toolbus-idempotency-key"
STRUCTURED = "application/cloudevents+json"
_REPLACED = "\ufffd"  # what the client library puts for bytes that are no UTF-8: two keys must not become one
ATTRIBUTES = frozenset({"specversion", "id", "source", "type"})


@dataclass(frozen=True)
class Told:
    """What a message says: the body of the command, its id when it has one, and the trace it belongs to."""

    body: Json
    message_id: str | None
    traceparent: str | None


def name_in(headers: Mapping[str, str]) -> str | None:
    """The name of a message that can be told before its body is read: `ce-id` or `Nats-Msg-Id`."""
    lower = {name.lower(): value for name, value in headers.items()}
    found = lower.get("ce-id")
    return unquote(found) if found else lower.get("nats-msg-id") or None


def read_command(data: bytes, headers: Mapping[str, str], verb: str) -> Told:
    """
    Read the body of a command; the idempotency key of a submitted call may come in a header.

    Raises:
        Unreadable: not JSON, not an object, or a CloudEvent of another type.

    Source: CloudEvents 1.0.2 §3.1, NATS binding (headers `ce-…`, percent-encoded; content type decides the mode).
    """
    lower = {name.lower(): value for name, value in headers.items()}
    message_id = lower.get("nats-msg-id")
    if lower.get("content-type", "").partition(";")[0].strip() == STRUCTURED:
        event = _object(parse_json(data))
        _check_type(event, verb)
        body, message_id = event.get("data"), event["id"]
    elif "ce-specversion" in lower:
        event = {name.removeprefix("ce-"): unquote(value) for name, value in lower.items() if name.startswith("ce-")}
        _check_type(event, verb)
        body, message_id = parse_json(data), event["id"]
    else:
        body = parse_json(data)
    found = _object(body)
    if verb == "submit" and IDEMPOTENCY_HEADER in lower and found.get("idempotency_key") is None:
        key = lower[IDEMPOTENCY_HEADER]
        faults = tuple(find_faults(key, "idempotency_key"))  # a header may hold what strict JSON does not
        if _REPLACED in key:
            faults = (Fault("/idempotency_key", "the header is not UTF-8"),)
        if faults:
            raise Unreadable("invalid_value", faults[0].message, faults)
        found = {**found, "idempotency_key": key}
    return Told(found, message_id, lower.get("traceparent"))


def _check_type(event: Mapping[str, Json], verb: str) -> None:
    missing = sorted(ATTRIBUTES - event.keys())
    if missing:
        faults = tuple(Fault("/" + name, "required by CloudEvents") for name in missing)
        raise Unreadable("invalid_request", f"the CloudEvent lacks {', '.join(missing)}", faults)
    for name, is_right in (("id", _is_text(event["id"])), ("specversion", event["specversion"] == "1.0")):
        if not is_right:
            message = f"{name} is not what CloudEvents 1.0 asks for"
            raise Unreadable("invalid_request", message, (Fault(f"/{name}", message),))
    if event["type"] != f"toolbus.call.{verb}":
        message = f"type is {event['type']!r}, but the subject takes toolbus.call.{verb}"
        raise Unreadable("invalid_request", message, (Fault("/type", message),))


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and value != ""


def _object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise Unreadable("invalid_request", "a command is a JSON object", (Fault("", "not an object"),))
    return value
