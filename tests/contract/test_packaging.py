"""The wheel and the lock: what is installed with Toolbus, and that it can live beside anybody's packages."""

import re
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.source import PACKAGES, ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = sorted(ROOT.glob("requirements*.lock"))
MAX_BASE_PACKAGES = 25
PINNED = re.compile(r"^[a-z0-9][a-z0-9-]*==\S+( ; .+)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")


@cache
def needed(name: str) -> frozenset[str]:
    """What is installed with this package on this machine, itself included."""
    found = {name}
    for text in metadata.requires(name) or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            found |= needed(canonicalize_name(requirement.name))
    return frozenset(found)


def test_the_base_install_is_small() -> None:
    """Client, command line and models bring at most 25 packages, Toolbus itself included."""
    base = [canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]]
    installed = {"toolbus"}.union(*map(needed, base))
    assert len(installed) <= MAX_BASE_PACKAGES, sorted(installed)


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_line_of_a_lock_is_a_pin_or_its_hash(path: Path) -> None:
    """Exact versions with hashes, so that pip's --require-hashes takes it; no index, no host, no option."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("    #")]
    assert not [line for line in lines if not PINNED.match(line) and not HASH.match(line)]
    assert "://" not in path.read_text()


def test_the_lock_holds_what_the_project_asks_for() -> None:
    """Every dependency of the base and of the extras is pinned, in a version that fits."""
    pins = {line.split("==")[0]: line.split("==")[1].split()[0] for line in lock_lines()}
    asked = [*PROJECT["dependencies"], *(text for extra in PROJECT["optional-dependencies"].values() for text in extra)]
    for requirement in map(Requirement, asked):
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), requirement


def lock_lines() -> list[str]:
    """The pins of the main lock."""
    return [line for line in (ROOT / "requirements.lock").read_text().splitlines() if line[0].isalnum()]


def test_this_environment_is_the_locked_one() -> None:
    """Tests say something about the versions that are locked, not about others."""
    other = {}
    for line in lock_lines():
        requirement = Requirement(line.removesuffix(" \\"))
        if requirement.marker is None or requirement.marker.evaluate():
            version = metadata.version(requirement.name)
            if not requirement.specifier.contains(version, prereleases=True):
                other[requirement.name] = version
    assert not other


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.Path:
    """The wheel, built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return zipfile.Path(next(folder.glob("toolbus-*.whl")))


def test_every_name_in_the_wheel_is_ours(wheel: zipfile.Path) -> None:
    """No top-level name can clash with another distribution's."""
    names = {path.name for path in wheel.iterdir()}
    assert names == {path.name for path in PACKAGES} | {f"toolbus-{PROJECT['version']}.dist-info"}


def test_the_wheel_is_typed_and_complete(wheel: zipfile.Path) -> None:
    """Type information, migrations, licence and the command are in it; no test and no cache is."""
    assert all((wheel / path.name / "py.typed").exists() for path in PACKAGES)
    files = wheel.root.namelist()
    assert any(re.search(r"^toolbus_runtime/store/migrations/versions/.+\.py$", name) for name in files)
    assert any(name.endswith("licenses/LICENSE") for name in files)
    information = wheel / f"toolbus-{PROJECT['version']}.dist-info"
    assert "toolbus = toolbus.cli:main" in (information / "entry_points.txt").read_text()
    assert not [name for name in files if "__pycache__" in name or "/tests/" in name]


def test_the_version_is_told_once() -> None:
    """The package says the version of the project."""
    assert metadata.version("toolbus") == PROJECT["version"]
