"""What our packages import of others is required by the project, and not only found because somebody else needs it."""

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from importlib.metadata import packages_distributions
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.source import PACKAGES, PRODUCT, ROOT, Source

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
OURS = {path.name for path in PACKAGES}
BRINGS = packages_distributions()
# With which extras a package is installed; each provider's own are looked at in `test_extras`.
PARTS = {
    "toolbus_contracts": (),
    "toolbus": ("server",),
    "toolbus_runtime": ("server",),
    "toolbus_dispatcher": ("server",),
    "toolbus_api_caller": ("server",),
    "toolbus_approvals": ("server",),
    "toolbus_integrations": ("server", "integrations", "browser", "media"),
}
ELSEWHERE = {  # modules that only those import who have more
    "toolbus_runtime.testing": ("server", "dev"),
    "toolbus_contracts.executing.schemas": ("server",),
}


def names_of(texts: Iterable[str]) -> set[str]:
    """The distributions that these requirements name."""
    return {canonicalize_name(Requirement(text).name) for text in texts}


@cache
def given(extras: tuple[str, ...]) -> set[str]:
    """What the project names with these extras, and what each of that names in turn: a library's parts come with it."""
    named = names_of([*PROJECT["dependencies"], *(text for extra in extras for text in EXTRAS[extra])])
    return named.union(*(names_of(metadata.requires(name) or ()) for name in named))


def imported(source: Source) -> Iterator[str]:
    """The top-level modules of others that a module of ours imports, wherever in it."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Import(names=names):
                found = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), level=0):
                found = [module]
            case _:
                continue
        roots = {name.partition(".")[0] for name in found}
        yield from roots - OURS - sys.stdlib_module_names


def test_every_package_has_its_part() -> None:
    """None is forgotten here."""
    assert PARTS.keys() == OURS


@pytest.mark.parametrize("package", sorted(PARTS))
def test_what_a_package_imports_is_required(package: str) -> None:
    """Named by the project with the extras of this part, or a part of what is."""
    sources = [source for source in PRODUCT if source.module.partition(".")[0] == package]
    assert sources
    missing = {
        (source.name, module)
        for source in sources
        for module in imported(source)
        if not given(ELSEWHERE.get(source.module, PARTS[package])) & {*map(canonicalize_name, BRINGS.get(module, ()))}
    }
    assert not missing


def test_a_module_that_needs_more_is_imported_by_nobody_who_has_less() -> None:
    """So that it may be where it is."""
    own = {name for name in ELSEWHERE if name.startswith("toolbus_contracts.")}
    for source in PRODUCT:
        if source.module.partition(".")[0] in {"toolbus_contracts", "toolbus"} and source.module not in own:
            named = {node.module for node in ast.walk(source.tree) if isinstance(node, ast.ImportFrom)}
            assert not named & own, source.name
