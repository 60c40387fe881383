"""The structured content of an MCP server's answer, held against the schema that the server gave for it."""

from collections.abc import Iterator
from typing import Final

from toolbus_contracts.calls import CallError, Detail
from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.redaction import RedactionFailed, Redactor
from toolbus_contracts.executing.schemas import Check, compiled
from toolbus_contracts.tools import JsonObject, Terms
from toolbus_contracts.values import Json, compact
from toolbus_integrations.core.mcp_answers import MAX_MESSAGE_CHARS, after_answer, kept, wants_input

PLACE: Final = "/structured"
NOT_THERE: Final = (Detail(path=PLACE, message="there is none, although the tool has a schema for it"),)
UNFIT: Final = "it does not fit"


def unfit(result: JsonObject, schema: JsonObject | None, terms: Terms, redactor: Redactor) -> Outcome | None:
    """
    The failure that a success comes to whose structured content does not fit `schema`; none when it does.

    Whatever the tool did is done all the same, and so the content stands among the details, as far as there is room. A
    schema that cannot be used checks nothing, and what is kept as `raw` is held against none: its reader is not ours.
    Source: MCP 2025-11-25, "Output Schema".
    """
    check = None if schema is None else _check(schema)
    if check is None or result.get("isError") is True or wants_input(result):
        return None
    output = kept(result)
    if "raw" in output:
        return None
    if "structured" not in output:
        return _failed(NOT_THERE, terms)
    if not check(output["structured"]):
        return None
    return _failed(tuple(_told(output["structured"], check, redactor)), terms)


def _check(schema: JsonObject) -> Check | None:
    try:
        return compiled(schema)
    except Refused:
        return None


def _told(content: Json, check: Check, redactor: Redactor) -> Iterator[Detail]:
    """What is wrong, and the content; without secrets before either is cut off."""
    try:
        shown = redactor.in_json(content)
    except RedactionFailed:
        yield Detail(path=PLACE, message=UNFIT)
        return
    for fault in check(shown) or (Detail(path="", message=UNFIT),):
        yield Detail(path=PLACE + fault.path, message=fault.message)
    yield Detail(path=PLACE, message=compact(shown)[:MAX_MESSAGE_CHARS])


def _failed(details: tuple[Detail, ...], terms: Terms) -> Outcome:
    error = CallError(
        code="response_invalid",
        message=f"the structured content is not what the tool's schema says: {details[0].message}",
        effect_happened=after_answer(terms),
        details=details,
    )
    return Outcome("failed", error=error)
