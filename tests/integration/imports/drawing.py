"""Arguments that a JSON Schema allows, drawn at random; the same for the same seed."""

import re
from random import Random
from typing import Any

import jsonschema_rs

ATTEMPTS = 40
DEEP = 4  # below, only what is required is drawn
FORMATS = {
    "date-time": "2030-01-02T03:04:05Z",
    "date": "2030-01-02",
    "email": "ana@example.com",
    "uri": "https://example.com/x?y=1",
    "url": "https://example.com/",
    "uuid": "6f1c2b1e-8f0a-4c58-9a8e-0c4d7b9f2a11",
    "byte": "dGV4dA==",
    "hostname": "example.com",
    "ipv4": "192.0.2.7",
}
# one of these fits each pattern of the documents that the tests import
TEXTS = (
    "main",
    "1.2.3",
    "refs/heads/main",
    "https://example.com/x",
    "pkg:npm/x",
    "ssh-rsa AAAA",
    "dGV4dA==",
    "ab" * 20,
    "sha256:" + "0a" * 32,
)


class Undrawable(Exception):
    """No value was found that the schema allows."""


class Drawing:
    """Draws values; `is_full`: every property that there may be, else only those that there must be."""

    def __init__(self, seed: int, *, is_full: bool) -> None:
        self.random = Random(seed)
        self.is_full = is_full

    def fitting(self, schema: dict[str, Any]) -> Any:
        """
        A value that the schema allows.

        Raises:
            Undrawable: none was found.
        """
        check = jsonschema_rs.Draft202012Validator(schema)
        for attempt in range(ATTEMPTS):
            self.is_full &= attempt < ATTEMPTS // 2  # some schemas do not allow everything at once
            value = self.value(schema, 0)
            if check.is_valid(value):
                return value
        raise Undrawable

    def value(self, schema: Any, depth: int) -> Any:
        """A value that the schema probably allows."""
        if not isinstance(schema, dict):
            return "anything"
        schema = self._flat(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        match self._type(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "string":
                return self._text(schema)
            case "integer":
                return int(self._number(schema))
            case "number":
                return self._number(schema)
            case "boolean":
                return self.random.choice([True, False])
            case _:
                return None

    def _flat(self, schema: dict[str, Any]) -> dict[str, Any]:
        """One of each choice, laid over the rest."""
        own = {key: value for key, value in schema.items() if key not in {"allOf", "anyOf", "oneOf"}}
        chosen = [*schema.get("allOf", [])]
        chosen += [self.random.choice(schema[key]) for key in ("anyOf", "oneOf") if key in schema]
        for part in (self._flat(part) for part in chosen if isinstance(part, dict)):
            for key, value in part.items():
                if key == "properties":
                    own[key] = {**own.get(key, {}), **value}
                elif key == "required":
                    own[key] = list(dict.fromkeys([*own.get(key, []), *value]))
                else:
                    own[key] = value
        return own

    def _type(self, schema: dict[str, Any]) -> str:
        types = schema.get("type", "object" if "properties" in schema or "required" in schema else "string")
        return str(types if isinstance(types, str) else self.random.choice(types))

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        names = dict.fromkeys(required)
        if self.is_full and depth < DEEP:
            names.update(dict.fromkeys(properties))
        names.update(dict.fromkeys(list(properties)[: schema.get("minProperties", 0)]))
        more = schema.get("additionalProperties", not properties)
        if not properties and more is not False and (self.is_full or schema.get("minProperties")):
            names["key"] = None
        return {name: self.value(properties.get(name, more), depth + 1) for name in names}

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        least = schema.get("minItems", 1 if self.is_full else 0)
        items = [self.value(schema.get("items", {}), depth + 1) for _ in range(max(least, 1 if self.is_full else 0))]
        return items[: schema.get("maxItems", len(items))]

    def _text(self, schema: dict[str, Any]) -> str:
        if schema.get("contentEncoding") == "base64":
            return FORMATS["byte"]
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]]
        if "pattern" in schema:
            return self.random.choice([text for text in TEXTS if re.search(schema["pattern"], text)] or [""])
        least = schema.get("minLength", 1)
        size = min(max(least, self.random.randint(1, 12)), schema.get("maxLength", 1000))
        return (
            "".join(self.random.choices("abcdefghij klmno-ü&+%" if self.is_full else "abc", k=size)).strip()
            or "a" * size
        )

    def _number(self, schema: dict[str, Any]) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0) + ("exclusiveMinimum" in schema))
        high = schema.get("maximum", schema.get("exclusiveMaximum", low + 100) - ("exclusiveMaximum" in schema))
        return self.random.randint(int(low), max(int(low), int(min(high, low + 1000))))
