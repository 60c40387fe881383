"""The rooms: what may import what, and what a core may not do."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.source import PACKAGES, PURE, ROOT, Source

PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
SERVICES = {path.name for path in PACKAGES if path.parent.parent == ROOT / "services"}
CORES = tuple(found for found in PURE if "core" in found.path.parts)
CLOCKS_AND_DICE = frozenset({"now", "utcnow", "today", "uuid1", "uuid4", "uuid7", "urandom", "token_hex"})
IMPURE_MODULES = frozenset(
    {"random", "secrets", "time", "os", "socket", "subprocess", "threading", "uuid", "uuid_utils"}
)
IMPURE_NAMES = frozenset({"open", "environ", "input", "print", "eval", "exec"})


def contract(name: str) -> dict[str, Any]:
    """One of the import contracts in pyproject.toml."""
    found = PYPROJECT["tool"]["importlinter"]["contracts"]
    return next(one for one in found if one["id"] == name)


def test_nobody_imports_what_is_not_below_it() -> None:
    """All import contracts are kept; the output names each import that breaks one."""
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([linter, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_package_is_under_contract() -> None:
    """A new service is in the wheel, on every path and in every import contract, or this fails."""
    tool = PYPROJECT["tool"]
    names = {path.name for path in PACKAGES}
    roots = {str(path.parent.relative_to(ROOT)) for path in PACKAGES}
    assert set(tool["importlinter"]["root_packages"]) == names
    assert {Path(path).name for path in tool["hatch"]["build"]["targets"]["wheel"]["packages"]} == names
    for where in (tool["hatch"]["build"]["dev-mode-dirs"], tool["mypy"]["mypy_path"]):
        assert set(where) == roots
    assert set(tool["pytest"]["ini_options"]["pythonpath"]) == roots
    assert set(contract("service-plan")["containers"]) == SERVICES
    assert set(contract("rooms")["layers"][1].split(" | ")) == SERVICES


def test_every_core_is_measured() -> None:
    """`make coverage` looks at the contracts and at each core there is."""
    cores = {package for package in PACKAGES if (package / "core").is_dir()}
    measured = {"contracts/toolbus_contracts", *(str((package / "core").relative_to(ROOT)) for package in cores)}
    assert set(PYPROJECT["tool"]["coverage"]["run"]["source"]) == measured


@pytest.mark.parametrize("found", CORES, ids=lambda found: found.name)
def test_a_core_has_no_clock_no_dice_and_no_outside(found: Source) -> None:
    """Time and ids are arguments; nothing is awaited, opened or read from the environment."""
    assert not list(impurities(found.tree))


@pytest.mark.parametrize(
    "text",
    [
        "async def f(): ...",
        "x = datetime.now()",
        "from datetime import datetime\nclock = datetime.now",
        "import random",
        "from os import environ",
        "uuid4()",
        "open('x')",
        "async with a: ...",
        "import os.path",
    ],
)
def test_the_check_of_cores_finds_what_it_looks_for(text: str) -> None:
    """A check that never fires is no check."""
    assert list(impurities(ast.parse(text)))


def impurities(tree: ast.Module) -> Iterator[str]:
    """What a core may not hold, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                yield f"line {node.lineno}: asynchronous"
            case ast.Attribute(attr=name) | ast.Call(func=ast.Name(id=name)) if name in CLOCKS_AND_DICE:
                yield f"line {node.lineno}: {name}"
            case ast.Name(id=name) if name in IMPURE_NAMES:
                yield f"line {node.lineno}: {name}"
            case ast.Import(names=names):
                roots = {one.name.split(".")[0] for one in names}
                yield from (f"line {node.lineno}: {root}" for root in roots & IMPURE_MODULES)
            case ast.ImportFrom(module=str(name)) if name.split(".")[0] in IMPURE_MODULES:
                yield f"line {node.lineno}: {name}"
            case _:
                pass
