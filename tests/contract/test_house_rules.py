"""House rules that no linter knows: sizes, docstrings of tests, and nothing left out of coverage."""

import ast
import re

import pytest

from tests.source import PRODUCT, PURE, ROOT, TESTS, Function, Source, modules

MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 40
MAX_HANDLER_LINES = 15
SLEEPS = re.compile(r"\btime\.sleep\(|(?<!self\.)\b_?sleep\(")
EVERYTHING = (*PRODUCT, *TESTS, *modules(ROOT / "bench"), *modules(ROOT / "examples"))


def lines(function: Function) -> int:
    """How many lines of code a function has: neither its docstring nor what declares it."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("found", EVERYTHING, ids=lambda found: found.name)
def test_a_module_stays_readable(found: Source) -> None:
    """Beyond 300 lines a concept is hiding in it."""
    assert len(found.text.splitlines()) <= MAX_MODULE_LINES


@pytest.mark.parametrize("found", PRODUCT, ids=lambda found: found.name)
def test_functions_stay_short(found: Source) -> None:
    """At most 40 lines, and a handler (the routing table on one screen) at most 15."""
    is_table = found.path.name == "handlers.py"
    too_long = {
        function.name: lines(function)
        for function in found.functions()
        if lines(function) > (MAX_HANDLER_LINES if is_table else MAX_FUNCTION_LINES)
    }
    assert not too_long


@pytest.mark.parametrize("found", PRODUCT, ids=lambda found: found.name)
def test_each_module_says_what_it_is(found: Source) -> None:
    """The docstring of a module is the first thing a newcomer reads."""
    assert ast.get_docstring(found.tree) or not found.text.strip()


@pytest.mark.parametrize("found", PURE, ids=lambda found: found.name)
def test_nothing_pure_is_left_out_of_coverage(found: Source) -> None:
    """The language and the cores are covered to the last branch; there is no way out."""
    assert "pragma: no" not in found.text


@pytest.mark.parametrize("found", TESTS, ids=lambda found: found.name)
def test_each_test_says_which_behaviour_it_shows(found: Source) -> None:
    """A test without a docstring is a riddle for whoever breaks it."""
    tests = (function for function in found.functions() if function.name.startswith("test_"))
    assert not [function.name for function in tests if not ast.get_docstring(function)]


@pytest.mark.parametrize("found", TESTS, ids=lambda found: found.name)
def test_no_test_patches(found: Source) -> None:
    """Fakes are ours: nothing is imported from `unittest.mock`."""
    imported = {
        node.module for node in ast.walk(found.tree) if isinstance(node, ast.ImportFrom) and node.module is not None
    }
    assert not any(name.startswith("unittest") for name in imported)
