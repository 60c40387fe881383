"""The messages of the bus as AsyncAPI components, and the schemas that they refer to."""

from typing import Any

from pydantic.json_schema import models_json_schema

from toolbus_contracts.catalogue import COMMANDS, VIEWS, event_types
from toolbus_contracts.values import Message

JsonObject = dict[str, Any]

TEXT: JsonObject = {"type": "string"}
CLOUD_EVENT: JsonObject = {
    "type": "object",
    "description": "CloudEvents 1.0.2, binary mode.",
    "required": ["ce-specversion", "ce-id", "ce-source", "ce-type"],
    "properties": {
        "ce-specversion": {"const": "1.0"},
        "ce-id": {**TEXT, "description": "id of the event; the same event may be told twice"},
        "ce-source": TEXT,
        "ce-type": {**TEXT, "description": "`toolbus.` and the kind of the event"},
        "ce-subject": {**TEXT, "description": "id of the thing that the event is about"},
        "ce-time": {**TEXT, "format": "date-time"},
        "ce-datacontenttype": {"const": "application/json"},
        "ce-correlationid": {**TEXT, "description": "id of the execution"},
        "ce-externalid": {**TEXT, "description": "the `external_id` of the call, percent-encoded"},
        "ce-position": {**TEXT, "description": "place of the event in the whole log"},
        "traceparent": TEXT,
    },
}
COMMAND_HEADERS: JsonObject = {
    "type": "object",
    "description": "All optional. A CloudEvent of type `toolbus.call.<verb>`, binary or structured, is taken too.",
    "properties": {
        "Toolbus-Idempotency-Key": {**TEXT, "description": "for publishers that cannot put it into the body"},
        "Nats-Msg-Id": {**TEXT, "description": "names the message in a refusal; never makes it idempotent"},
        "traceparent": TEXT,
    },
}
DEAD_HEADERS: JsonObject = {
    "type": "object",
    "description": "A note about an event that could not be told has `Toolbus-Error` alone, or nothing.",
    "properties": {
        "Toolbus-Subject": TEXT,
        "Toolbus-Stream": TEXT,
        "Toolbus-Stream-Created": TEXT,
        "Toolbus-Sequence": TEXT,
        "Toolbus-Stored-At": {**TEXT, "format": "date-time"},
        "Toolbus-Deliveries": TEXT,
        "Toolbus-Error": TEXT,
        "Toolbus-Headers": {**TEXT, "description": "the headers of the message as a JSON object, unless over 48 KiB"},
    },
}
PROBLEM: JsonObject = {
    "type": "object",
    "description": "RFC 9457 problem details.",
    "required": ["type", "title", "status", "detail", "code", "next_step"],
    "properties": {
        "type": {**TEXT, "format": "uri"},
        "title": TEXT,
        "status": {"type": "integer"},
        "detail": TEXT,
        "code": {**TEXT, "description": "stable; see errors.md"},
        "next_step": TEXT,
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["path", "message"],
                "properties": {"path": TEXT, "message": TEXT},
            },
        },
        "instance": TEXT,
        "call_id": TEXT,
    },
}
ANSWER: JsonObject = {
    "type": "object",
    "description": "`call` when it worked, else `problem`; `status` is what HTTP would have said.",
    "required": ["status"],
    "properties": {
        "status": {"type": "integer"},
        "call": {"$ref": "#/components/schemas/CallView"},
        "problem": {"$ref": "#/components/schemas/Problem"},
        "retry_after_s": {"type": "number"},
    },
}
BINARY: JsonObject = {"type": "string", "format": "binary"}
SHOWN = ("work_item", "start_answer", "argument_faults", "tool_surface", "sealed_secret", "removed_secret")
ASKED = frozenset({"tool.describe"})  # of the commands that are about no call, those that travel on the bus
WRITTEN_BY_HAND = {"Problem": PROBLEM, "CallAnswer": ANSWER}


def models() -> dict[str, type[Message]]:
    """Every message that has a model, by the name that channels use."""
    shown = {name: VIEWS[name] for name in SHOWN}
    asked = {name: model for name, model in COMMANDS.items() if name.startswith("call.") or name in ASKED}
    return {**asked, **event_types(), **shown}


def components() -> JsonObject:
    """Messages and schemas of the AsyncAPI document."""
    return {"messages": dict(sorted(_messages().items())), "schemas": dict(sorted(_schemas().items()))}


def _messages() -> dict[str, JsonObject]:
    events = event_types()
    found: dict[str, JsonObject] = {}
    for name, model in models().items():
        headers = CLOUD_EVENT if name in events else COMMAND_HEADERS if name in {"call.submit", "call.cancel"} else None
        found[name] = _message(name, {"$ref": f"#/components/schemas/{model.__name__}"}, headers)
    found["call.answer"] = _message("call.answer", {"$ref": "#/components/schemas/CallAnswer"})
    found["command.refused"] = _message("command.refused", {"$ref": "#/components/schemas/Problem"}, CLOUD_EVENT)
    wake = {"type": "string", "pattern": "^[0-9]+ [0-9]+ [a-z0-9_.,]+$", "examples": ["7 8 call.requested.v1"]}
    found["wake"] = _message("wake", wake, content_type="text/plain")
    parts: JsonObject = {"type": "object", "properties": {"Toolbus-Parts": TEXT}}
    found["part"] = _message("part", BINARY, parts, content_type="application/octet-stream")
    found["bytes"] = _message("bytes", BINARY, content_type="application/octet-stream")
    found["dead_letter"] = _message("dead_letter", BINARY, DEAD_HEADERS, content_type="application/octet-stream")
    return found


def _message(
    name: str, payload: JsonObject, headers: JsonObject | None = None, *, content_type: str = "application/json"
) -> JsonObject:
    told: JsonObject = {"name": name, "contentType": content_type, "payload": payload}
    return told if headers is None else {**told, "headers": headers}


def _schemas() -> dict[str, JsonObject]:
    wanted = [*dict.fromkeys(models().values()), VIEWS["call"]]
    _, generated = models_json_schema(
        [(model, "validation") for model in wanted], ref_template="#/components/schemas/{model}"
    )
    return {**_without_discriminators(generated["$defs"]), **WRITTEN_BY_HAND}


def _without_discriminators(value: Any) -> Any:  # noqa: ANN401 - any part of a schema
    """OpenAPI's discriminator objects are no AsyncAPI; `oneOf` with constants says the same."""
    match value:
        case {"discriminator": {}, **rest} if "oneOf" in rest:
            return _without_discriminators(rest)
        case dict():
            return {key: _without_discriminators(item) for key, item in value.items()}
        case list():
            return [_without_discriminators(item) for item in value]
        case _:
            return value
