"""Error codes: each one in the source stands in the table, and each row of the table is used."""

import ast
import importlib
import inspect
from collections.abc import Iterator

from tests.source import PRODUCT, ROOT, Source
from toolbus.client.failures import CLIENT_CODES
from toolbus_contracts.errors import CODES, ToolbusError

ERROR_MODULES = frozenset({"toolbus_contracts.errors", "toolbus.client.failures"})


def name_of(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return str(getattr(node, "id", getattr(node, "attr", "")))


def error_classes(source: Source) -> dict[str, type[ToolbusError]]:
    """The errors that a module defines or imports, by the name that they have there."""
    found = dict(vars(importlib.import_module(source.module)))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and node.module in ERROR_MODULES:
            found |= vars(importlib.import_module(node.module))
    return {name: one for name, one in found.items() if inspect.isclass(one) and issubclass(one, ToolbusError)}


def place_of_code(error: type[ToolbusError]) -> int | None:
    """Where `code` stands among the arguments; none when the class knows its code by itself."""
    arguments = [*inspect.signature(error).parameters]
    return arguments.index("code") if "code" in arguments else None


def codes_given(tree: ast.Module, classes: dict[str, type[ToolbusError]]) -> Iterator[str]:
    """The codes that a module gives to errors: to a class of the tree, or as the `code` of anything else."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(bases=[base, *_]) if name_of(base) in classes:
                place = place_of_code(classes[name_of(base)])
                yield from (code for call in upward_calls(node) for code in argument_texts(call, place))
            case ast.Call(func=func) if name_of(func) in classes:
                yield from argument_texts(node, place_of_code(classes[name_of(func)]))
            case ast.Call(keywords=keywords):
                yield from (code for keyword in keywords if keyword.arg == "code" for code in texts(keyword.value))
            case _:
                pass


def upward_calls(node: ast.ClassDef) -> Iterator[ast.Call]:
    """What an error class hands to the one above it."""
    for call in ast.walk(node):
        match call:
            case ast.Call(func=ast.Attribute(attr="__init__", value=ast.Call(func=ast.Name(id="super")))):
                yield call
            case _:
                pass


def argument_texts(call: ast.Call, place: int | None) -> Iterator[str]:
    """The codes that stand at this place, or behind the keyword."""
    yield from (code for keyword in call.keywords if keyword.arg == "code" for code in texts(keyword.value))
    if place is not None:
        yield from (code for argument in call.args[place : place + 1] for code in texts(argument))


def texts(node: ast.expr) -> Iterator[str]:
    """The constants that an expression may come to, choices included."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from texts(body)
            yield from texts(orelse)
        case _:
            pass


def words(source: Source) -> Iterator[str]:
    """Every text in a module, except the keys of the table itself."""
    table = {
        id(key)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.AnnAssign) and name_of(node.target) == "CODES"
        for key in getattr(node.value, "keys", ())
    }
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in table:
            yield node.value


def is_loadable(source: Source) -> bool:
    """Entries of processes and migrations are run, not imported; they raise no error of ours."""
    return source.path.stem != "__main__" and "migrations" not in source.path.parts


def test_every_code_in_the_source_stands_in_the_table() -> None:
    """A client that meets a code finds its meaning and the next step; the client's own codes are its alone."""
    unknown = {
        (source.name, code)
        for source in PRODUCT
        if is_loadable(source)
        for code in codes_given(source.tree, error_classes(source))
        if code not in CODES and not (code in CLIENT_CODES and source.path.is_relative_to(ROOT / "toolbus"))
    }
    assert not unknown


def test_every_row_of_the_table_is_used() -> None:
    """A code that nobody gives is not promised."""
    assert not set(CODES) - {word for source in PRODUCT for word in words(source)}


def test_a_client_code_is_no_server_code() -> None:
    """What a client finds out by itself has a code that no server sends."""
    assert not set(CODES) & set(CLIENT_CODES)


def test_the_check_finds_what_it_looks_for() -> None:
    """By place, by keyword, in a choice, in the second place where the message comes first, and handed upward."""
    tree = ast.parse(
        """
class Full(Refused):
    def __init__(self, what):
        super().__init__("a", f"{what} is full")

Refused("b", "no")
NotFound("no", "c")
CallError(code="d")
errors.Conflict("e" if late else "f", "no")
Unavailable("g is no code here")
"""
    )
    classes = error_classes(Source(ROOT / "contracts/toolbus_contracts/errors.py"))
    assert set(codes_given(tree, classes)) == set("abcdef")
