"""
Schemas of OpenAPI as JSON Schema 2020-12, whole: references are replaced by what they refer to.

The result takes every value that the original takes in a request: what cannot be carried over (a reference in a
circle or out of the document, an expression that not every engine knows, what lies too deep) is left out, which makes
it looser and never stricter, and leaves a note. Where looser would be stricter (below `not` and `if`, and between the
branches of `oneOf`) the keyword itself gives way.

Source: OpenAPI 3.0.4 §4.7.24 (Schema Object), OpenAPI 3.1.1 §4.8.24; JSON Schema 2020-12.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from toolbus.importing.documents import Document
from toolbus.importing.values import is_plain_expression, is_small, is_storable, shortened
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import MAX_INTEGER, Json

MAX_NODES: Final = 20_000
TYPES: Final = ("object", "array", "string", "number", "integer", "boolean", "null")
NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
COUNTS: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
LEFT_OUT: Final = (
    "contains",
    "unevaluatedItems",
    "unevaluatedProperties",
    "dependentSchemas",
    "dependencies",
    "$dynamicRef",
    "$recursiveRef",
)
_CARRIED: Final = (*NUMBERS, *COUNTS, "enum", "const")
_ANNOTATIONS: Final = frozenset({"summary", "description", "title", "deprecated", "default", "example", "examples"})


class TooLarge(Exception):
    """The schema has more parts than a tool has room for."""


@dataclass
class Translation:
    """
    One pass over the schemas of an operation; what lies deeper than `depth` levels is cut.

    `notes` tell what was left out, each once; `losses` counts how often something was.
    """

    document: Document
    depth: int
    max_text: int
    notes: dict[str, None] = field(default_factory=dict)
    losses: int = 0
    _nodes: int = 0
    _above: list[str] = field(default_factory=list)

    def translate(self, schema: Json, level: int = 0) -> JsonObject | bool:
        """
        The schema as JSON Schema 2020-12.

        Raises:
            TooLarge: it has more than `MAX_NODES` parts, references followed.
        """
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise TooLarge
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            return self._cut("a schema that is no object is left out")
        if level > self.depth:
            return self._cut(f"what lies deeper than {self.depth} levels is left out")
        if "$ref" in schema:
            return self._referred(schema, level)
        return self._keywords(schema, level)

    def _cut(self, note: str) -> JsonObject:
        self.lose(note)
        return {}

    def lose(self, note: str) -> None:
        """Note that something was left out."""
        self.losses += 1
        self.notes[note] = None

    def _referred(self, schema: Mapping[str, Json], level: int) -> JsonObject | bool:
        reference = schema["$ref"]
        if reference in self._above:
            return self._cut(f"{str(reference)[:100]} refers to itself: cut there")
        try:
            target = self.document.at(reference)
        except LookupError as error:
            return self._cut(str(error))
        self._above.append(reference)
        found = self.translate(target, level)
        self._above.pop()
        beside = {} if self.document.is_3_0 else {name: schema[name] for name in schema if name != "$ref"}
        if not beside:
            return found
        told = self._keywords(beside, level)
        if _ANNOTATIONS.issuperset(beside) and isinstance(found, dict):
            return {**found, **told}
        return {"allOf": [found, told]}

    def _keywords(self, schema: Mapping[str, Json], level: int) -> JsonObject:
        found: JsonObject = {}
        if types := _types(schema, is_3_0=self.document.is_3_0):
            found["type"] = types[0] if len(types) == 1 else types
        elif schema.get("type") is not None:
            self.lose(f"type {str(schema['type'])[:40]} is none of JSON Schema: left out")
        found.update(self._annotations(schema))
        found.update(_values(schema))
        found.update(_bounds(schema, is_3_0=self.document.is_3_0))
        if any(name in schema and not _is_carried(name, schema[name], found) for name in _CARRIED):
            self.lose("a bound or an enum that JSON cannot carry is left out")
        self._expression(schema, found)
        self._objects(schema, found, level)
        self._arrays(schema, found, level)
        self._combined(schema, found, level)
        for name in LEFT_OUT:
            if name in schema:
                self.lose(f"{name} is left out")
        return found

    def _annotations(self, schema: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
        if isinstance(text := schema.get("description"), str) and text.strip() and is_storable(text):
            yield "description", shortened(text, self.max_text)
        if isinstance(text := schema.get("format"), str):
            yield "format", text
        for name in ("contentEncoding", "contentMediaType"):
            if isinstance(text := schema.get(name), str) and is_storable(text):
                yield name, text
        if schema.get("deprecated") is True:
            yield "deprecated", True
        if "default" in schema and is_small(schema["default"]):
            yield "default", schema["default"]
        examples = schema.get("examples", [schema["example"]] if "example" in schema else None)
        if isinstance(examples, list) and is_small(examples[:1]) and examples:
            yield "examples", examples[:1]

    def _expression(self, schema: Mapping[str, Json], found: JsonObject) -> None:
        if isinstance(text := schema.get("pattern"), str):
            if is_plain_expression(text):
                found["pattern"] = text
            else:
                self.lose("a pattern that not every engine reads is left out")

    def _objects(self, schema: Mapping[str, Json], found: JsonObject, level: int) -> None:
        hidden: set[str] = set()
        if isinstance(properties := schema.get("properties"), Mapping):
            hidden = {name for name, part in properties.items() if self._is_read_only(part)}
            kept = {name: part for name, part in properties.items() if name not in hidden}
            found["properties"] = {str(name): self.translate(part, level + 1) for name, part in kept.items()}
        if isinstance(required := schema.get("required"), list):
            names = dict.fromkeys(name for name in required if isinstance(name, str) and name not in hidden)
            if names:
                found["required"] = list(names)
        if isinstance(schema.get("additionalProperties"), bool | Mapping):
            found["additionalProperties"] = self.translate(schema["additionalProperties"], level + 1)
        if isinstance(names_schema := schema.get("propertyNames"), bool | Mapping):
            found["propertyNames"] = self.translate(names_schema, level + 1)
        if isinstance(patterns := schema.get("patternProperties"), Mapping):
            self._pattern_properties(patterns, found, level)

    def _pattern_properties(self, patterns: Mapping[str, Json], found: JsonObject, level: int) -> None:
        kept = {name: part for name, part in patterns.items() if is_plain_expression(name)}
        found["patternProperties"] = {name: self.translate(part, level + 1) for name, part in kept.items()}
        if len(kept) < len(patterns):
            self.lose("a pattern that not every engine reads is left out")
            found.pop("additionalProperties", None)  # it would now hold for what the pattern had let through

    def _is_read_only(self, schema: Json) -> bool:
        """A property that only answers have."""
        try:
            return self.document.resolved(schema).get("readOnly") is True
        except LookupError:
            return False

    def _arrays(self, schema: Mapping[str, Json], found: JsonObject, level: int) -> None:
        if isinstance(first := schema.get("prefixItems"), list) and first:
            found["prefixItems"] = [self.translate(part, level + 1) for part in first]
        if isinstance(items := schema.get("items"), bool | Mapping):
            found["items"] = self.translate(items, level + 1)
        elif items is not None:
            self.lose("items that are no schema are left out")
        if schema.get("uniqueItems") is True:
            found["uniqueItems"] = True

    def _combined(self, schema: Mapping[str, Json], found: JsonObject, level: int) -> None:
        for name in ("allOf", "anyOf", "oneOf"):
            if isinstance(branches := schema.get(name), list) and branches:
                before = self.losses
                parts = [self.translate(part, level + 1) for part in branches]
                if name != "oneOf" or self.losses == before:
                    found[name] = parts
                else:  # branches that became looser may overlap
                    found["allOf"] = [*found.get("allOf", []), {"anyOf": parts}]
        if "not" in schema:
            self._exact(schema, found, level, ("not",))
        if "if" in schema:
            self._exact(schema, found, level, ("if", "then", "else"))

    def _exact(self, schema: Mapping[str, Json], found: JsonObject, level: int, names: tuple[str, ...]) -> None:
        """Keywords of which the first must be carried over exactly, or none is."""
        before = self.losses
        first = self.translate(schema[names[0]], level + 1)
        if self.losses > before:
            self.lose(f"{names[0]} is left out")
            return
        found[names[0]] = first
        found.update({name: self.translate(schema[name], level + 1) for name in names[1:] if name in schema})


def _is_carried(name: str, value: Json, found: JsonObject) -> bool:
    """True for a keyword that is there, as itself or as the exclusive bound that it became, and for a mere flag."""
    return name in found or f"exclusive{name.capitalize()}" in found or isinstance(value, bool)


def _types(schema: Mapping[str, Json], *, is_3_0: bool) -> list[str]:
    """The types, `null` among them where `nullable` says so. Source: OpenAPI 3.0.4 §4.7.24.2, nullable."""
    told = schema.get("type")
    found = [name for name in (told if isinstance(told, list) else [told]) if name in TYPES]
    if found and is_3_0 and schema.get("nullable") is True and "null" not in found:
        found.append("null")
    return list(dict.fromkeys(found))


def _values(schema: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    if isinstance(values := schema.get("enum"), list) and values and all(is_storable(value) for value in values):
        yield "enum", values
    if "const" in schema and is_storable(schema["const"]):
        yield "const", schema["const"]
    if isinstance(needs := schema.get("dependentRequired"), Mapping):
        yield "dependentRequired", {name: names for name, names in needs.items() if isinstance(names, list)}


def _bounds(schema: Mapping[str, Json], *, is_3_0: bool) -> Iterator[tuple[str, Json]]:
    """Bounds of numbers and sizes; in OpenAPI 3.0 `exclusiveMinimum` is a flag beside `minimum`."""
    found: JsonObject = {name: schema[name] for name in NUMBERS if name in schema}
    if is_3_0:
        for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if found.pop(exclusive, None) is True and bound in found:
                found[exclusive] = found.pop(bound)
    for name, value in found.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and is_storable(value)
        if is_number and (name != "multipleOf" or value > 0):
            yield name, value
    for name in COUNTS:
        value = schema.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INTEGER:
            yield name, value
