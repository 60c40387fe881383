"""
How many steps it takes to check a value against a JSON Schema.

A schema is input, and a short one can make work without end: `allOf` over two references to the same
part, forty levels deep, takes 2^40 steps, and a validator cannot be interrupted. So steps are counted
before they are made: references that lead outside or in circles are refused once, when the schema is
read; what a value then takes is bounded by `StepCounter.allows`.

Regular expressions end in linear time, but compiled they take memory: a hundred Unicode letters in a row take
megabytes, a schema has room for thousands of them, and so all of one schema share `MAX_EXPRESSIONS_BYTES`.

Source: JSON Schema 2020-12 core §10 (which keywords apply a schema to the same place, and which to its
children).
"""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Final

from toolbus_contracts.values import Json

MAX_STEPS: Final = 1_000_000  # about 50 ms
MAX_LOOKS: Final = 50_000  # counting must not take longer than checking
MAX_EXPRESSIONS_BYTES: Final = 4 * 1024 * 1024  # compiled, all of one schema
MAX_KEPT_CHECKS: Final = 512  # compiled schemas in memory, each with its expressions
MAX_LISTED_NODES: Final = 5_000  # a validator finds all faults at once, 7 µs each
IN_PLACE: Final = ("not", "if", "then", "else")
IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
IN_PLACE_MAPS: Final = ("dependentSchemas",)
CHILDREN: Final = (
    "items",
    "contains",
    "unevaluatedItems",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
)
CHILDREN_LISTS: Final = ("prefixItems",)
CHILDREN_MAPS: Final = ("properties", "patternProperties")
UNEVALUATED: Final = ("unevaluatedItems", "unevaluatedProperties")
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


def room_for_expression(schema: Json) -> int:
    """How many bytes each regular expression of a schema may take once it is compiled."""
    expressions: set[str] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            if isinstance(part.get("pattern"), str):
                expressions.add(part["pattern"])
            if isinstance(part.get("patternProperties"), Mapping):
                expressions.update(part["patternProperties"])
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return MAX_EXPRESSIONS_BYTES // max(1, len(expressions))


class _TooMany(Exception):
    """Counting itself took too long."""


class StepCounter:
    """Counts the steps of one schema; made once for each schema."""

    def __init__(self, schema: Json) -> None:
        """
        Read the schema.

        Raises:
            ValueError: a reference leads outside, nowhere, or in a circle without going deeper into the value.
        """
        self._schema = schema
        self._anchors: dict[str, Json] = {}
        self._paths: dict[int, float] = {}
        try:
            self._collect(schema, is_root=True)
            self._steps_per_node = self._count_paths(schema, [], [])
        except RecursionError as error:
            raise ValueError("the schema is nested too deeply") from error

    def allows(self, value: Json) -> bool:
        """True when checking this value takes at most a million steps."""
        if self._steps_per_node * count_nodes(value, int(MAX_STEPS / self._steps_per_node) + 1) <= MAX_STEPS:
            return True
        try:
            return self._steps(self._schema, value, {}, count(1)) <= MAX_STEPS
        except (_TooMany, RecursionError):
            return False

    def _collect(self, schema: Json, *, is_root: bool = False) -> None:
        """Note every anchor; an identifier inside would change what references mean, and is refused."""
        if not isinstance(schema, Mapping):
            return
        if "$id" in schema and not is_root:
            raise ValueError("$id may stand at the top only")
        for name in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(name), str):
                self._anchors[schema[name]] = schema
        for part in _parts(schema):
            self._collect(part)

    def _count_paths(self, schema: Json, place: list[int], above: list[int]) -> float:
        """How many ways lead through the schema; infinite when it refers to itself deeper in the value."""
        if not isinstance(schema, Mapping):
            return 1
        key = id(schema)
        if key in place:
            raise ValueError("a reference leads in a circle")
        if key in above:
            return float("inf")
        if key not in self._paths:
            found = 1.0
            for part in self._in_place(schema):
                found += self._count_paths(part, [*place, key], above)
            for part in _children(schema):
                found += self._count_paths(part, [], [*above, *place, key])
            self._paths[key] = found * 2 if any(name in schema for name in UNEVALUATED) else found
        return self._paths[key]

    def _in_place(self, schema: Mapping[str, Json]) -> Iterator[Json]:
        for name in REFERENCES:
            if name in schema:
                yield self._target(schema[name])
        yield from _named(schema, IN_PLACE, IN_PLACE_LISTS, IN_PLACE_MAPS)

    def _target(self, reference: Json) -> Json:
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise ValueError(f"a schema may refer to its own parts (#…) only, not to {str(reference)[:100]}")
        if reference[1:] in self._anchors:
            return self._anchors[reference[1:]]
        found = self._schema
        for part in reference[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and name.isascii() and name.isdigit() and int(name) < len(found):
                found = found[int(name)]
            elif isinstance(found, Mapping) and name in found:
                found = found[name]
            else:
                raise ValueError(f"{reference[:100]} leads nowhere")
        return found

    def _steps(self, schema: Json, value: Json, known: dict[tuple[int, int], int], looks: Iterator[int]) -> int:
        """The steps of this value; every pair of schema and value is counted once, however many ways lead there."""
        if next(looks) > MAX_LOOKS:
            raise _TooMany
        if not isinstance(schema, Mapping):
            return 1
        key = (id(schema), id(value))
        if key not in known:
            found = 1 + sum(self._steps(part, value, known, looks) for part in self._in_place(schema))
            if any(name in schema for name in UNEVALUATED):
                found *= 2
            found += sum(self._steps(part, item, known, looks) for part, item in _applied(schema, value))
            known[key] = found
        return known[key]


def _applied(schema: Mapping[str, Json], value: Json) -> Iterator[tuple[Json, Json]]:
    """Each child of a value with each schema that it may be checked against."""
    if isinstance(value, Mapping):
        properties = schema.get("properties")
        for name, item in value.items():
            if isinstance(properties, Mapping) and name in properties:
                yield properties[name], item
            for part in _named(schema, ("additionalProperties", "unevaluatedProperties"), (), ("patternProperties",)):
                yield part, item
            for part in _named(schema, ("propertyNames",), (), ()):
                yield part, name
    elif isinstance(value, list):
        first = schema.get("prefixItems")
        for index, item in enumerate(value):
            if isinstance(first, list) and index < len(first):
                yield first[index], item
            for part in _named(schema, ("items", "contains", "unevaluatedItems"), (), ()):
                yield part, item


def _parts(schema: Mapping[str, Json]) -> Iterator[Json]:
    yield from _named(schema, IN_PLACE, IN_PLACE_LISTS, (*IN_PLACE_MAPS, "$defs", "definitions"))
    yield from _children(schema)


def _children(schema: Mapping[str, Json]) -> Iterator[Json]:
    yield from _named(schema, CHILDREN, CHILDREN_LISTS, CHILDREN_MAPS)


def _named(
    schema: Mapping[str, Json], single: tuple[str, ...], lists: tuple[str, ...], maps: tuple[str, ...]
) -> Iterator[Json]:
    """The schemas that stand under these keywords."""
    for name in single:
        if name in schema:
            yield schema[name]
    for name in lists:
        if isinstance(schema.get(name), list):
            yield from schema[name]
    for name in maps:
        if isinstance(schema.get(name), Mapping):
            yield from schema[name].values()


def is_listable(value: Json) -> bool:
    """True when a validator may look for every fault of this value; in a larger one the first has to do."""
    return count_nodes(value, MAX_LISTED_NODES) < MAX_LISTED_NODES


def count_nodes(value: Json, enough: int) -> int:
    """How many values there are in a value, itself included; counting stops when there are enough."""
    found, waiting = 0, [value]
    while waiting and found < enough:
        found += 1
        item = waiting.pop()
        if isinstance(item, Mapping):
            waiting.extend(item.values())
            found += len(item)
        elif isinstance(item, list):
            waiting.extend(item)
    return found
