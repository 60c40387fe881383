"""Expressions of published examples, as far as steps with arguments need them: names, keys, sums of texts, literals."""

import ast
from collections.abc import Mapping
from typing import Any

MARK = "$ "


def computed(value: Any, names: Mapping[str, Any]) -> Any:
    """The value with expressions computed, at any depth; `names` is what they may name."""
    match value:
        case str() if value.startswith(MARK):
            return _value(ast.parse(value.removeprefix(MARK).strip(), mode="eval").body, names)
        case list():
            return [computed(item, names) for item in value]
        case dict():
            return {key: computed(item, names) for key, item in value.items()}
        case _:
            return value


def _value(node: ast.AST, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.Attribute(value=of, attr=name):
            return _value(of, names)[name]
        case ast.Subscript(value=of, slice=key):
            return _value(of, names)[_value(key, names)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left, names) + _value(right, names)
        case ast.List(elts=items):
            return [_value(item, names) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {_value(key, names): _value(value, names) for key, value in pairs if key is not None}
        case ast.JoinedStr(values=parts):
            return "".join(str(_value(part, names)) for part in parts)
        case ast.FormattedValue(value=value):
            return _value(value, names)
        case _:
            raise AssertionError(f"no step needs this: {ast.unparse(node)}")
