"""Secrets that are written out in setup, where their names belong: what is stored or defined stands in the log."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolbus_contracts.errors import Fault
from toolbus_contracts.secrets import NOT_WRITTEN_OUT, is_credential, name_in
from toolbus_contracts.values import Json, fault_path

_CHOICES: Final = ("anyOf", "oneOf", "allOf")


def plain_secrets(setup: Json, schema: Json, *path: str | int) -> Iterator[Fault]:
    """
    Every text in setup that is a secret by its schema (`format: password`) and no reference to one.

    Where a schema leaves names open, as those of headers, a name that only credentials have counts as such a schema.
    """
    return _plain(setup, (schema,), schema, path)


def _plain(value: Json, schemas: Sequence[Json], whole: Json, path: tuple[str | int, ...]) -> Iterator[Fault]:
    applying = _applying(schemas, whole)
    match value:
        case str():
            if _is_plain(value) and any(one.get("format") == "password" for one in applying):
                yield Fault(fault_path(*path), NOT_WRITTEN_OUT)
        case Mapping():
            for name, item in value.items():
                declared, open_ = _of_property(applying, name)
                if not declared and is_credential(name) and isinstance(item, str) and _is_plain(item):
                    yield Fault(fault_path(*path, name), NOT_WRITTEN_OUT)
                else:
                    yield from _plain(item, declared or open_, whole, (*path, name))
        case list():
            for index, item in enumerate(value):
                yield from _plain(item, _of_items(applying, index), whole, (*path, index))
        case _:
            pass


def _is_plain(text: str) -> bool:
    return bool(text) and name_in(text) is None


def _of_property(applying: Sequence[Mapping[str, Json]], name: str) -> tuple[list[Json], list[Json]]:
    """The schemas that declare a property, and those that hold for properties which nobody declares."""
    declared: list[Json] = []
    others: list[Json] = []
    for schema in applying:
        properties, patterns = schema.get("properties"), schema.get("patternProperties")
        if isinstance(properties, Mapping) and name in properties:
            declared.append(properties[name])
        others.append(schema.get("additionalProperties"))
        if isinstance(patterns, Mapping):
            others.extend(patterns.values())
    return declared, others


def _of_items(applying: Sequence[Mapping[str, Json]], index: int) -> list[Json]:
    found: list[Json] = []
    for schema in applying:
        first = schema.get("prefixItems")
        found.append(first[index] if isinstance(first, list) and index < len(first) else schema.get("items"))
    return found


def _applying(schemas: Sequence[Json], whole: Json) -> list[Mapping[str, Json]]:
    """The schemas, with all that they refer to or choose from; each once, however they lead back to themselves."""
    found: dict[int, Mapping[str, Json]] = {}
    waiting = list(schemas)
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, Mapping) or id(schema) in found:
            continue
        found[id(schema)] = schema
        if isinstance(reference := schema.get("$ref"), str):
            waiting.append(_target(reference, whole))
        for kind in _CHOICES:
            choices = schema.get(kind)
            waiting.extend(choices if isinstance(choices, list) else ())
    return list(found.values())


def _target(reference: str, whole: Json) -> Json:
    """What a reference inside of the schema leads to."""
    found = whole
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found
