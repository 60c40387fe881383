"""Extras of our providers: each is one of the project's, brings what its provider needs, and is named if it lacks."""

import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import packages_distributions
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from tests.installed import needed
from tests.source import ROOT
from toolbus.provider import Provider
from toolbus_contracts.integrations import ProviderView
from toolbus_integrations.host.describing import VIEWS
from toolbus_integrations.host.loading import OURS, find
from toolbus_integrations.hosting.shelf import ours

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
PROVIDERS = {name: find(name) for name in ours()}
NEEDY = {name: provider for name, provider in PROVIDERS.items() if provider.needs}
# Describes these providers where the modules named first cannot be found, whatever is installed.
WITHOUT = """
import sys

hidden, sys.argv[1:] = set(sys.argv[1].split(",")), sys.argv[2:]

class Without:
    def __init__(self, finder):
        self._finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else self._finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self._finder, name)

sys.meta_path[:] = map(Without, sys.meta_path)
from toolbus_integrations.host.describing import main

main()
"""


def described_without(modules: set[str], *names: str) -> list[ProviderView]:
    """What the providers say of themselves where these modules cannot be found."""
    command = [sys.executable, "-c", WITHOUT, ",".join(sorted(modules)), *names]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return VIEWS.validate_json(done.stdout)


def distributions_of(module: str) -> set[str]:
    """The names of those that bring a top-level module."""
    return {canonicalize_name(name) for name in packages_distributions()[module.partition(".")[0]]}


def test_some_providers_need_more_than_others() -> None:
    """Those of which it is known."""
    assert {"email", "ffmpeg", "google_sheets", "mcp", "remote_browser"} <= NEEDY.keys()
    assert {provider.extra for provider in PROVIDERS.values()} == {None, "integrations", "browser", "media"}
    assert {name for name, provider in PROVIDERS.items() if provider.extra} == NEEDY.keys()


@pytest.mark.parametrize("provider", NEEDY.values(), ids=NEEDY)
def test_the_extra_of_a_provider_brings_what_it_needs(provider: Provider) -> None:
    """It is in pyproject.toml, and one of its own requirements has each module that the provider cannot do without."""
    assert provider.extra in EXTRAS
    asked = {canonicalize_name(text.partition(">")[0].partition("[")[0]) for text in EXTRAS[provider.extra]}
    for module in provider.needs:
        assert distributions_of(module) & asked, f"{provider.name}: toolbus[{provider.extra}] lacks {module}"


@pytest.mark.parametrize("provider", NEEDY.values(), ids=NEEDY)
def test_where_its_library_is_missing_a_provider_names_the_extra(provider: Provider) -> None:
    """Its module is imported all the same, and what to install is said in the catalogue; its neighbour has no fault."""
    lacking, neighbour = described_without(set(provider.needs), provider.name, "dummy")
    assert lacking.fault is not None
    assert lacking.fault.code == "provider_missing"
    assert lacking.fault.message.endswith(f'which is not installed: pip install "toolbus[{provider.extra}]"')
    assert all(module in lacking.fault.message for module in provider.needs)
    assert neighbour.fault is None
    assert [method.method for method in neighbour.methods] == ["echo"]


def test_nobody_else_imports_what_an_extra_brings() -> None:
    """Without any library that only extras bring, each other provider is there, and so are the modules of all."""
    allowed = needed([*PROJECT["dependencies"], *EXTRAS["server"]])
    extra = needed(text for name in ("integrations", "browser", "media") for text in EXTRAS[name])
    hidden = {
        module
        for module, names in packages_distributions().items()
        if {canonicalize_name(name) for name in names} <= extra - allowed
    }
    assert {"aiosmtplib", "imageio_ffmpeg", "mcp", "playwright"} <= hidden
    views = {view.provider: view for view in described_without(hidden, *ours())}
    faults = {name: view.fault.code for name, view in views.items() if view.fault is not None}
    assert faults == dict.fromkeys(NEEDY.keys() - {"google_sheets"}, "provider_missing")  # its library is the server's


def test_a_provider_is_where_it_is_looked_for() -> None:
    """As `provider` of the module of its name, so that its needs are known before anything else of it."""
    assert all(import_module(f"{OURS}.{name}").provider is provider for name, provider in PROVIDERS.items())
