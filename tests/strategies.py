"""
Hypothesis strategies for messages, read off the models themselves.

A new event kind, field or view is drawn without a line here; only types with rules of their own
(tool definitions, limits) have a strategy written by hand.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from annotated_types import Ge, GroupedMetadata, Gt, Le, Lt, MaxLen, MinLen
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from toolbus_contracts.tools import Limits, Probe, Rate, Retry, ToolDefinition
from toolbus_contracts.values import MAX_INTEGER, Message

M = TypeVar("M", bound=Message)

CHARACTERS = st.characters(codec="utf-8", exclude_characters="\x00")
texts = st.text(CHARACTERS, max_size=20)
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
        {
            "name": draw(names),
            "description": draw(texts),
            "contract": contract,
            **draw(st.fixed_dictionaries({}, optional={"retry": retries, "limits": limits, "probe": probes})),
            **section,
        }
    )


def instances(model: type[M]) -> st.SearchStrategy[M]:
    """Instances of a message, drawn from the types and bounds of its fields."""
    fields = {
        field.alias or name: of_type(field.annotation, field.metadata) for name, field in model.model_fields.items()
    }
    return st.fixed_dictionaries(fields).map(model.model_validate)


def of_type(annotation: Any, said: Iterable[Any] = ()) -> st.SearchStrategy[Any]:
    """Values of a field's type, within the bounds that are said of it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in (str, int, float):
        return _bounded(annotation, said)
    if annotation in BY_TYPE:
        return BY_TYPE[annotation]
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (UnionType, Union):
        return st.one_of(*(of_type(argument, said) for argument in arguments))
    if origin is Annotated:
        return of_type(arguments[0], (*said, *arguments[1:]))
    if origin is tuple:
        return st.lists(of_type(arguments[0]), min_size=_least(said), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(of_type(arguments[0]), of_type(arguments[1]), min_size=_least(said), max_size=3)
    if isinstance(annotation, type) and issubclass(annotation, Message):
        return instances(annotation)
    raise NotImplementedError(annotation)


def _flat(said: Iterable[Any]) -> list[Any]:
    """What `Field` and `StringConstraints` say, bound by bound."""
    return [
        bound
        for one in said
        for bound in (
            one.metadata if isinstance(one, FieldInfo) else one if isinstance(one, GroupedMetadata) else [one]
        )
    ]


def _least(said: Iterable[Any]) -> int:
    """How many there are at least."""
    return max((bound.min_length for bound in _flat(said) if isinstance(bound, MinLen)), default=0)


def _bounded(kind: Any, said: Iterable[Any]) -> st.SearchStrategy[Any]:
    """Texts and numbers within these bounds."""
    found: dict[str, Any] = {}
    for bound in _flat(said):
        match bound:
            case Ge(ge=low) | Gt(gt=low):
                found["min_value"] = low
                found["exclude_min"] = isinstance(bound, Gt)
            case Le(le=high) | Lt(lt=high):
                found["max_value"] = high
                found["exclude_max"] = isinstance(bound, Lt)
            case MinLen(min_length=low):
                found["min_size"] = low
            case MaxLen(max_length=high):
                found["max_size"] = high
            case _ if (pattern := getattr(bound, "pattern", None)) is not None:
                return st.from_regex(pattern, fullmatch=True, alphabet=CHARACTERS)
            case _:
                pass
    if not found:
        return BY_TYPE[kind]
    if kind is str:
        return st.text(CHARACTERS, min_size=found.get("min_size", 0), max_size=20)
    if kind is float:
        return st.floats(**found, allow_nan=False, allow_infinity=False)
    return st.integers(found["min_value"], found["max_value"])


retries = st.deferred(lambda: instances(Retry))
probes = st.deferred(lambda: instances(Probe))
rates = st.deferred(lambda: instances(Rate))
concurrencies = st.integers(1, 100_000)
limits = (st.tuples(concurrencies, st.none() | rates) | st.tuples(st.none(), rates)).map(
    lambda found: Limits(concurrency=found[0], rate=found[1])
)
BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    Any: json_values,
    str: texts,
    int: st.integers(0, 1000),
    float: floats,
    bool: st.booleans(),
    Limits: limits,
    datetime: moments,
    NoneType: st.none(),
    ToolDefinition: definitions(),
}
