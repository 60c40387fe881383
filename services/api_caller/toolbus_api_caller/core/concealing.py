"""Secrets that a target sends back: they are taken out of its answer before anything is made of it."""

from dataclasses import replace

from toolbus_api_caller.core.response import HttpAnswer
from toolbus_contracts.executing.redaction import Redactor

_FLAWED = "the body could not be unpacked"  # the reason itself quotes the target, and was cut


def concealed(answer: HttpAnswer, redactor: Redactor) -> HttpAnswer:
    """The answer without the secrets, wherever the target wrote them; one that cannot be searched is dropped."""
    is_broken = answer.failure is not None or answer.is_too_large
    try:
        return replace(
            answer,
            headers=tuple((redactor.in_bytes(name), redactor.in_bytes(value)) for name, value in answer.headers),
            body=redactor.in_broken(answer.body) if is_broken else redactor.in_bytes(answer.body),
            flaw=None if answer.flaw is None else _FLAWED,
        )
    except Exception:  # noqa: BLE001 - it fails closed: no fault of ours may let a secret pass
        return replace(answer, headers=(), body=b"", is_dropped=True)
