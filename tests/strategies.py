"""
Hypothesis strategies for messages, read off the models themselves.

A new event kind, field or view is drawn without a line here; only types with rules of their own
(tool definitions) have a strategy written by hand.
"""

from datetime import UTC, datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from hypothesis import strategies as st

from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.values import MAX_INTEGER, Message

M = TypeVar("M", bound=Message)

texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
integers = st.integers(-MAX_INTEGER, MAX_INTEGER)
floats = st.floats(allow_nan=False, allow_infinity=False)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2999, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
json_values = st.recursive(
    st.none() | st.booleans() | integers | floats | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", fullmatch=True)


@st.composite
def definitions(draw: st.DrawFn) -> ToolDefinition:
    """Tool definitions of every type, with or without a contract."""
    section: dict[str, Any] = draw(
        st.sampled_from(
            [
                {"api_call": {"method": "GET", "url": "https://a.example/{city}"}},
                {"api_call": {"method": "POST", "url": "http://b.example", "json": {"currency": "EUR"}}},
                {"function": {"parameters": {"type": "object", "properties": {"to": {"type": "string"}}}}},
                {"integration": {"provider": "wikipedia", "method": "search"}},
                {"system": {"resource": "call", "operation": "list"}},
                {"mcp": {"server": "files", "tool": "read_file"}},
            ]
        )
    )
    contract = draw(
        st.none()
        | st.fixed_dictionaries(
            {
                "effect": st.sampled_from(["read", "write", "external", "dangerous"]),
                "idempotency": st.sampled_from(["required", "native", "best_effort", "none"]),
            }
        )
    )
    return ToolDefinition.model_validate(
        {"name": draw(names), "description": draw(texts), "contract": contract, **section}
    )


def instances(model: type[M]) -> st.SearchStrategy[M]:
    """Instances of a message, drawn from the types of its fields (their bounds are not read)."""
    fields = {field.alias or name: of_type(field.annotation) for name, field in model.model_fields.items()}
    return st.fixed_dictionaries(fields).map(model.model_validate)


def of_type(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in BY_TYPE:
        return BY_TYPE[annotation]
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (UnionType, Union):
        return st.one_of(*map(of_type, arguments))
    if origin is Annotated:
        return of_type(arguments[0])
    if origin is tuple:
        return st.lists(of_type(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(of_type(arguments[0]), of_type(arguments[1]), max_size=3)
    if isinstance(annotation, type) and issubclass(annotation, Message):
        return instances(annotation)
    raise NotImplementedError(annotation)


BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    Any: json_values,
    str: texts,
    int: st.integers(0, 1000),
    float: floats,
    bool: st.booleans(),
    datetime: moments,
    NoneType: st.none(),
    ToolDefinition: definitions(),
}
