"""From what an MCP server wants to know to a form that a person fills in. Source: MCP 2026-07-28, elicitation."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import ValidationError

from toolbus_contracts.calls import MAX_ASKED_BYTES, MAX_FORM_BYTES, MAX_STATE_BYTES, InputAsked, Question
from toolbus_contracts.errors import Fault, Refused, Unreadable
from toolbus_contracts.tools import AskUser, JsonObject
from toolbus_contracts.values import Json, compact, fault_path, parse_json

ELICITATION: Final = "elicitation/create"
MAX_MESSAGE_CHARS: Final = 4096
MAX_METHOD_CHARS: Final = 200
MAX_NAME_CHARS: Final = 256  # of a question: it goes with the call from here on
SCHEMES: Final = ("https://", "http://")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One request, read: its name, what it says, and the properties of its answer."""

    name: str
    message: str
    mode: Literal["form", "url"]
    properties: JsonObject
    required: Sequence[str]


def asked_by(result: JsonObject) -> InputAsked:
    """
    What a server wants to know, from its result as it came over the wire.

    Each property is a field of the form, under its own name or, where two questions share one, behind the name of its
    question. What has no properties, and a url, is answered with yes or no.

    Raises:
        Refused: `input_required`, what can be asked of no person, by its name; `response_too_large`.
    """
    _must_be_strict(result)
    state, requests = result.get("requestState"), result.get("inputRequests") or {}
    if state is not None and len(state.encode()) > MAX_STATE_BYTES:
        message = f"the server wants {len(state.encode())} bytes of its own kept, and at most {MAX_STATE_BYTES} are"
        raise Refused("response_too_large", message)
    if not requests:
        if state is None:
            raise Refused("input_required", "the server wants to know more, and does not say what")
        return _fitting(InputAsked(request_state=state))
    faults = tuple(Fault(fault_path(name), fault) for name, one in sorted(requests.items()) if (fault := _fault(one)))
    if faults:
        raise Refused("input_required", f"the server wants what no person is asked for: {faults[0].message}", faults)
    if any(len(name) > MAX_NAME_CHARS for name in requests):
        message = f"the server calls a question by a name of more than {MAX_NAME_CHARS} characters"
        raise Refused("response_too_large", message)
    form, questions = _form([_read(name, one["params"]) for name, one in requests.items()])
    return _fitting(InputAsked(form=form, questions=questions, request_state=state))


def _fitting(asked: InputAsked) -> InputAsked:
    """As it is: parts that are each small enough may be too much together, or when they are escaped."""
    size = len(asked.model_dump_json().encode())
    if size > MAX_ASKED_BYTES:
        message = f"what the server wants to know, with its state, is {size} bytes, of {MAX_ASKED_BYTES}"
        raise Refused("response_too_large", message)
    return asked


def _must_be_strict(result: JsonObject) -> None:
    try:
        parse_json(compact(result).encode())
    except (Unreadable, ValueError) as flaw:
        raise Refused("input_required", f"what the server wants to know cannot be kept: {flaw}"[:500]) from flaw


def _fault(request: Json) -> str | None:
    """Why a request is for no person: it asks for a model or for folders, or sends somebody nowhere."""
    match request:
        case {"method": "elicitation/create", "params": {"mode": "url", "url": str() as url}}:
            return None if url.lower().startswith(SCHEMES) and url.isprintable() else "its url is none of the web"
        case {"method": "elicitation/create", "params": dict()}:
            return None
        case {"method": str() as method}:
            return method[:MAX_METHOD_CHARS]
        case _:
            return "unnamed"


def _read(name: str, params: JsonObject) -> _Wanted:
    message = str(params.get("message") or "")
    if params.get("mode") == "url":
        return _Wanted(name, f"{message}\n{params['url']}".strip(), "url", {}, ())
    schema = params.get("requestedSchema")
    schema = schema if isinstance(schema, dict) else {}
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    listed = {one for one in required if isinstance(one, str)} if isinstance(required, list) else set()
    return _Wanted(name, message, "form", properties, [one for one in properties if one in listed])


def _form(wanted: Sequence[_Wanted]) -> tuple[AskUser, tuple[Question, ...]]:
    """
    One form for all questions, and which of its fields answer which.

    Raises:
        Refused: there are too many fields, they are too large, or two of them cannot be told apart.
    """
    is_shared = _has_twins(name for one in wanted for name in one.properties or (one.name,))
    fields: JsonObject = {}
    required: list[str] = []
    questions = []
    for one in wanted:
        names = {name: f"{one.name}.{name}" if is_shared else name for name in one.properties}
        if twins := fields.keys() & set(names.values() or (one.name,)):
            told = min(twins)[:MAX_NAME_CHARS]
            raise Refused("input_required", f"two values that the server wants are both called {told}")
        fields |= {field: one.properties[name] for name, field in names.items()} or {one.name: _consent(one)}
        required += [names[name] for name in one.required] if names else [one.name]
        properties = {field: name for name, field in names.items()}
        consent = None if names else one.name
        questions.append(Question(name=one.name, mode=one.mode, properties=properties, consent=consent))
    return _bounded(fields, required, "\n\n".join(one.message for one in wanted if one.message)), tuple(questions)


def _has_twins(names: Iterable[str]) -> bool:
    return any(times > 1 for times in Counter(names).values())


def _consent(wanted: _Wanted) -> JsonObject:
    """A question that is answered with yes or no: what it is about stands in the message of the form."""
    if wanted.mode == "url":
        return {"type": "boolean", "description": "Open the address yourself, and say yes when it is done there."}
    return {"type": "boolean"}


def _bounded(fields: JsonObject, required: Sequence[str], message: str) -> AskUser:
    size = len(compact(fields).encode())
    if size > MAX_FORM_BYTES:
        raise Refused("response_too_large", f"what the server wants to know is {size} bytes, of {MAX_FORM_BYTES}")
    cut = message if len(message) <= MAX_MESSAGE_CHARS else f"{message[: MAX_MESSAGE_CHARS - 1]}…"
    try:
        return AskUser(fields=fields, required=tuple(required), message=cut)
    except ValidationError as error:
        raise Refused("input_required", f"the server wants {len(fields)} values, which is too much") from error
