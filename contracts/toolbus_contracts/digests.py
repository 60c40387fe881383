"""
Canonical JSON, hashes, and the ids that others can compute too.

Digests that outsiders recompute use RFC 8785. The call id formula is part of the public contract:
a publisher may compute the id of its call before it sends it.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime

import rfc8785

from toolbus_contracts.values import Json, compact


def digest(value: Json) -> str:
    """Hash a JSON value so that anybody can recompute it: `sha256:` + hex of its RFC 8785 form."""
    return "sha256:" + hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def digest_bytes(body: bytes) -> str:
    """Hash raw bytes: `sha256:` + hex."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


def fingerprint(value: Json) -> str:
    """
    Hash a value for our own comparison only (same body or another one?); cheaper than `digest`.

    The order of keys does not count: a retry may be written by another serializer.
    """
    return fingerprint_of(compact(value, sort_keys=True))


def fingerprint_of(text: str) -> str:
    """The fingerprint of a value that was written out already: in its shortest form, with sorted keys."""
    return hashlib.sha256(text.encode()).hexdigest()


def call_id_for_key(tenant: str, idempotency_key: str) -> str:
    r"""
    The id of the call that this key stands for.

    `call_` + the first 32 hex digits of SHA-256 over `key\n<tenant>\n<idempotency key>` in UTF-8.
    """
    return "call_" + _short(f"key\n{tenant}\n{idempotency_key}")


def call_id_for_message(tenant: str, stream_created: str, sequence: int, stored_at: str) -> str:
    r"""
    The id of the call that a bus message without a key stands for, the same on every delivery.

    `call_` + the first 32 hex digits of SHA-256 over `message\n<tenant>\n<stream creation time>\n
    <sequence>\n<time the message was stored>`. The time is part of it because a stream that was
    rolled back to an older copy gives a sequence out twice.
    """
    return "call_" + _short(f"message\n{tenant}\n{stream_created}\n{sequence}\n{stored_at}")


def execution_id_for_call(call_id: str) -> str:
    """The id of the execution that a bare call gets for itself."""
    return "exec_" + call_id.removeprefix("call_")


def effect_digest(
    *,
    tenant: str,
    call_id: str,
    definition_hash: str,
    arguments: Json,
    on_behalf_of: str | None,
    deadline_at: datetime | None,
    setup: Mapping[str, Json] | None = None,
    secrets: Mapping[str, int] | None = None,
    answers: Mapping[str, Json] | None = None,
) -> str:
    """
    Digest of what can change the effect of a call: definition, arguments, setup, secrets, on whose behalf, deadline.

    `secrets` are generations by name; `answers` what a server that had asked is told, by its questions. What has none
    of these and no stored `setup` has the digest it always had.
    Whoever approves a call approves this; an executor computes it again from what it is about to send.
    """
    covered: dict[str, Json] = {
        "tenant": tenant,
        "call_id": call_id,
        "definition_hash": definition_hash,
        "arguments": arguments,
        "on_behalf_of": on_behalf_of,
        "deadline_at": deadline_at.isoformat() if deadline_at else None,
    }
    if setup:
        covered["setup"] = dict(setup)
    if secrets:
        covered["secrets"] = dict(secrets)
    if answers:
        covered["answers"] = dict(answers)
    return digest(covered)


def wait_id_for_call(call_id: str, number: int) -> str:
    r"""
    The id of the n-th wait of a call.

    `wait_` + the first 32 hex digits of SHA-256 over `wait\n<call id>\n<number>`.
    """
    return "wait_" + _short(f"wait\n{call_id}\n{number}")


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
