"""AsyncAPI 3.0 of the bus: every subject, what travels there, and who may send or receive it."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from toolbus.documents.channels import TENANT, Channel, channels
from toolbus.documents.messages import components
from toolbus.version import installed_version
from toolbus_contracts.subjects import BusUser, users

JsonObject = dict[str, Any]

PARAMETERS = {
    "tenant": "The tenant; the server lets a client use its own only.",
    "id": "Id of the call, tool or execution; what is no token of NATS is written `_`.",
    "message_id": "Id of the refused message: its CloudEvents id or Nats-Msg-Id, else `<stream>-<sequence>`.",
    "route": "Which group of executors; `default` when the installation has one.",
    "reason": "Why nobody could use the message.",
    "digest": "SHA-256 of the whole body, hex.",
    "part": "Number of the part, from 0.",
    "name": "Name of the secret; `=` stands for a dot.",
}
REPLIES = "replies"


def asyncapi() -> JsonObject:
    """The whole document. Source: AsyncAPI 3.0.0."""
    everybody = users([TENANT])
    found = channels()
    return {
        "asyncapi": "3.0.0",
        "info": _info(everybody),
        "servers": {
            "nats": {
                "host": "{host}:{port}",
                "protocol": "nats",
                "description": "NATS 2.12 or newer with JetStream; each tenant has an account of its own.",
                "variables": {"host": {"default": "127.0.0.1"}, "port": {"default": "4222"}},
            }
        },
        "defaultContentType": "application/json",
        "channels": {**{one.name: _channel(one, everybody) for one in found}, REPLIES: _replies(found)},
        "operations": dict(_operations(found, everybody)),
        "components": components(),
    }


def _info(everybody: Iterable[BusUser]) -> JsonObject:
    told = [
        "What travels on the message bus of Toolbus. The event store is the truth; the bus carries it.",
        "",
        "The server enforces these permissions; everything else is refused:",
    ]
    for user in everybody:
        told += ["", f"**{user.name}** (answers come to `{user.inbox_prefix}.>`)"]
        told += [f"- publish `{subject}`" for subject in user.permissions.publish]
        told += [f"- subscribe `{subject}`" for subject in user.permissions.subscribe]
        told += ["- may answer once on the reply subject of what it received"] if user.permissions.may_respond else []
    return {
        "title": "Toolbus",
        "version": installed_version(),
        "description": "\n".join(told),
        "license": {"name": "Apache-2.0"},
    }


def _channel(channel: Channel, everybody: tuple[BusUser, ...]) -> JsonObject:
    kept = f"Kept in the stream {channel.stream}." if channel.stream else "Core NATS, not kept."
    may = (
        f"May publish: {', '.join(channel.publishers(everybody)) or 'nobody'}. "
        f"May receive: {', '.join(channel.readers(everybody)) or 'nobody'}."
    )
    told: JsonObject = {
        "address": channel.address,
        "description": f"{channel.says}\n\n{kept} {may}",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in channel.messages},
    }
    names = re.findall(r"\{(\w+)\}", channel.address)
    return {**told, "parameters": {name: {"description": PARAMETERS[name]} for name in names}} if names else told


def _replies(found: Iterable[Channel]) -> JsonObject:
    answers = sorted({name for channel in found for name in channel.answers})
    return {
        "address": None,
        "description": "The reply subject of a request, in the inbox of whoever asked.",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in answers},
    }


def _operations(found: Iterable[Channel], everybody: tuple[BusUser, ...]) -> Iterator[tuple[str, JsonObject]]:
    for channel in found:
        for action, names in (("send", channel.publishers(everybody)), ("receive", channel.readers(everybody))):
            for name in names:
                user = name.replace(TENANT, "of_tenant")
                yield f"{user}.{action}.{channel.name}", _operation(action, channel)


def _operation(action: str, channel: Channel) -> JsonObject:
    operation: JsonObject = {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel.name}"},
        "messages": [{"$ref": f"#/channels/{channel.name}/messages/{name}"} for name in channel.messages],
    }
    if channel.answers:
        operation["reply"] = {
            "channel": {"$ref": f"#/channels/{REPLIES}"},
            "messages": [{"$ref": f"#/channels/{REPLIES}/messages/{name}"} for name in channel.answers],
        }
    return operation
