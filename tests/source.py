"""The project's own source, parsed: what the tests of the house rules look at."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = tuple(
    sorted(
        path.parent
        for pattern in ("toolbus", "*/toolbus_*", "services/*/toolbus_*")
        for path in ROOT.glob(f"{pattern}/__init__.py")
    )
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One module of ours."""

    path: Path

    @property
    def name(self) -> str:
        """Its path from the project's root, as messages show it."""
        return str(self.path.relative_to(ROOT))

    @property
    def module(self) -> str:
        """The name under which it is imported."""
        package = next(package for package in PACKAGES if self.path.is_relative_to(package))
        parts = self.path.relative_to(package.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def text(self) -> str:
        """What stands in it."""
        return self.path.read_text()

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text, self.name)

    def functions(self) -> Iterator[Function]:
        """Every function in it, also those inside classes and functions."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))


def modules(*folders: Path) -> tuple[Source, ...]:
    """Every module below these folders."""
    return tuple(Source(path) for folder in folders for path in sorted(folder.rglob("*.py")))


PRODUCT = modules(*PACKAGES)
TESTS = modules(ROOT / "tests")
PURE = tuple(found for found in PRODUCT if "core" in found.path.parts or "toolbus_contracts" in found.path.parts)
