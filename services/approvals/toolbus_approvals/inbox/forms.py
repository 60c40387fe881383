"""Forms: fields of a JSON Schema as inputs, and what a browser sent as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs

from fastapi import Request

from toolbus_approvals.inbox.values import for_editing
from toolbus_approvals.inbox.visible import is_hidden
from toolbus_contracts.errors import Fault, Unreadable
from toolbus_contracts.tools import AskUser
from toolbus_contracts.values import Json, compact, parse_json, pointer
from toolbus_runtime.http.bodies import MAX_BODY_BYTES, read_bytes

URLENCODED = "application/x-www-form-urlencoded"
MAX_FORM_BYTES = 3 * MAX_BODY_BYTES  # a byte of text takes up to three in a form
MAX_FIELDS = 1000
PREFIX = "value:"  # before the names of a wait's own fields, which may be called as ours are
LONG_TEXT = 200
Widget = Literal["text", "long", "number", "yes_no", "choice", "json"]
YES_NO = {"true": True, "false": False}


@dataclass(frozen=True)
class Form:
    """What a browser sent."""

    values: Mapping[str, list[str]]

    def one(self, name: str) -> str:
        """The value of a field, without what surrounds it; empty when it is missing."""
        return self.raw(name).strip()

    def raw(self, name: str) -> str:
        """The value of a field as it was sent, lines ended as everywhere else."""
        return self.values.get(name, [""])[0].replace("\r\n", "\n")

    def many(self, name: str) -> list[str]:
        """Every value of a field."""
        return list(self.values.get(name, ()))


async def read_form(request: Request) -> Form:
    """
    Read a form.

    Raises:
        Unreadable: no form, not UTF-8, too many fields, or NUL in a value.
        ToolbusError: `body_too_large`.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != URLENCODED:
        raise Unreadable("invalid_request", f"send a form as {URLENCODED}")
    body = await read_bytes(request, MAX_FORM_BYTES)
    try:
        found = parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError as error:
        raise Unreadable("not_utf8", "the form is not UTF-8") from error
    except ValueError as error:
        raise Unreadable("invalid_request", f"the form has more than {MAX_FIELDS} fields") from error
    if any("\x00" in value for values in found.values() for value in values):
        raise Unreadable("invalid_value", "NUL is not allowed in text")
    return Form(found)


@dataclass(frozen=True)
class Option:
    """One choice: the value of an enum by its place, so that numbers stay numbers."""

    index: str
    label: str
    is_chosen: bool


@dataclass(frozen=True)
class Field:
    """One input. `value` is the text it begins with; `hides`: some of it cannot be seen in an input."""

    name: str
    input_name: str
    label: str
    help: str
    widget: Widget
    value: str
    is_required: bool
    is_whole: bool = False
    options: tuple[Option, ...] = ()
    minimum: str = ""
    maximum: str = ""
    max_length: str = ""
    hides: bool = False


def fields_of(ask_user: AskUser, arguments: Json, sent: Form | None = None) -> tuple[Field, ...]:
    """The inputs for what a person supplies: filled with what was sent, else what the call has, else the default."""
    given = arguments if isinstance(arguments, Mapping) else {}
    return tuple(
        _field(name, _schema(ask_user, name), given, sent, is_required=is_required(ask_user, name))
        for name in ask_user.fields
    )


def is_required(ask_user: AskUser, name: str) -> bool:
    """True when a person must supply it."""
    return ask_user.required is None or name in ask_user.required


def _schema(ask_user: AskUser, name: str) -> Mapping[str, Json]:
    schema = ask_user.fields[name]
    return schema if isinstance(schema, Mapping) else {}


def _type(schema: Mapping[str, Json]) -> str:
    told = schema.get("type")
    if isinstance(told, list):
        return next((str(name) for name in told if name != "null"), "")
    return str(told or "")


def _widget(schema: Mapping[str, Json]) -> Widget:
    if isinstance(schema.get("enum"), list):
        return "choice"
    match _type(schema):
        case "string":
            length = schema.get("maxLength")
            return "long" if isinstance(length, int) and length > LONG_TEXT else "text"
        case "integer" | "number":
            return "number"
        case "boolean":
            return "yes_no"
        case _:
            return "json"


def _field(
    name: str, schema: Mapping[str, Json], given: Mapping[str, Json], sent: Form | None, *, is_required: bool
) -> Field:
    widget = _widget(schema)
    known = given.get(name, schema.get("default"))
    has_value = name in given or "default" in schema
    text = sent.raw(PREFIX + name) if sent else _text(widget, known, schema) if has_value else ""
    return Field(
        name=name,
        input_name=PREFIX + name,
        label=str(schema.get("title") or name),
        help=str(schema.get("description") or ""),
        widget=widget,
        value=text,
        is_required=is_required,
        is_whole=_type(schema) == "integer",
        options=_options(widget, schema, text),
        minimum=_bound(schema, "minimum"),
        maximum=_bound(schema, "maximum"),
        max_length=_bound(schema, "maxLength"),
        hides=any(map(is_hidden, text)),
    )


def _bound(schema: Mapping[str, Json], name: str) -> str:
    value = schema.get(name)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _text(widget: Widget, value: Json, schema: Mapping[str, Json]) -> str:
    match widget:
        case "choice":
            return next((str(at) for at, one in enumerate(schema["enum"]) if compact(one) == compact(value)), "")
        case "yes_no":
            return compact(value)
        case "json":
            return for_editing(value)
        case _:
            return value if isinstance(value, str) else compact(value)


def _options(widget: Widget, schema: Mapping[str, Json], chosen: str) -> tuple[Option, ...]:
    if widget == "yes_no":
        return tuple(Option(text, label, text == chosen) for text, label in (("true", "yes"), ("false", "no")))
    if widget != "choice":
        return ()
    labels = (one if isinstance(one, str) else compact(one) for one in schema["enum"])
    return tuple(Option(str(at), label, str(at) == chosen) for at, label in enumerate(labels))


def values_in(form: Form, ask_user: AskUser) -> dict[str, Json]:
    """
    The values that a person supplied; what was left empty and need not be given is left out.

    Raises:
        Unreadable: `invalid_value`, a text that does not say a value of its type.
    """
    found: dict[str, Json] = {}
    faults: list[Fault] = []
    for name in ask_user.fields:
        text = form.raw(PREFIX + name)
        if not text.strip() and (not is_required(ask_user, name) or _widget(_schema(ask_user, name)) != "text"):
            continue
        try:
            found[name] = _value(text, _schema(ask_user, name))
        except (Unreadable, ValueError, LookupError):
            faults.append(Fault(pointer("values", name), f"this does not say {_wanted(_schema(ask_user, name))}"))
    if faults:
        raise Unreadable("invalid_value", faults[0].message, tuple(faults))
    return found


def _value(text: str, schema: Mapping[str, Json]) -> Json:
    match _widget(schema):
        case "choice":
            return schema["enum"][int(text)]
        case "yes_no":
            return YES_NO[text]
        case "number":
            return _number(text)
        case "json":
            return parse_json(text.encode())
        case _:
            return text


def _number(text: str) -> Json:
    value = parse_json(text.strip().encode())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable("invalid_value", "not a number")
    return value


def _wanted(schema: Mapping[str, Json]) -> str:
    match _widget(schema):
        case "choice":
            return "one of the choices"
        case "yes_no":
            return "yes or no"
        case "number":
            return "a number"
        case _:
            return "a JSON value"
