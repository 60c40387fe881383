"""The provider of a host: found by its name, loaded, and described."""

import importlib.util
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from typing import Final

from pydantic import BaseModel, RootModel
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError

from toolbus.provider import ENTRY_POINTS, Method, Provider
from toolbus_contracts.errors import Unreadable
from toolbus_contracts.integrations import MethodView, ProviderFault, ProviderInfo, ProviderView
from toolbus_contracts.tools import JsonObject
from toolbus_contracts.values import parse_json, storable

OURS: Final = "toolbus_integrations.providers"


class LoadingFailed(Exception):
    """The provider cannot be used; `fault` tells why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.fault = ProviderFault(code=code, message=storable(message)[:2000])


def load(name: str) -> Provider:
    """
    The provider of this name, which can be used.

    Raises:
        LoadingFailed: `provider_missing` when an optional dependency of it is not installed, else `provider_failed`.
    """
    found = find(name)
    missing = [module for module in found.needs if importlib.util.find_spec(module) is None]
    if missing:
        hint = f': pip install "toolbus[{found.extra}]"' if found.extra else ""
        raise LoadingFailed("provider_missing", f"{name} needs {', '.join(missing)}, which is not installed{hint}")
    return found


def find(name: str) -> Provider:
    """
    The provider of this name: a module of ours, else what a package offers under that entry point.

    Raises:
        LoadingFailed: `provider_failed`.
    """
    found = _object(name)
    if not isinstance(found, Provider) or found.name != name:
        raise LoadingFailed("provider_failed", f"{name}: what was found there is not the provider of this name")
    if not found.methods:
        raise LoadingFailed("provider_failed", f"{name}: it has no methods")
    return found


def describe(provider: Provider, package: str, version: str) -> ProviderView:
    """
    What the catalogue shows of it.

    Raises:
        LoadingFailed: `provider_failed`, one of its models has no schema, or what it says cannot be stored.
    """
    info = provider.info
    try:
        view = ProviderView(
            provider=provider.name,
            package=package,
            version=version,
            info=ProviderInfo(friendly_name=info.friendly_name, url=info.url, docs=info.docs, icon=info.icon),
            extra=provider.extra,
            setup=None if provider.setup is None else provider.setup.model_json_schema(),
            methods=tuple(_view(method) for method in provider.methods.values()),
        )
        parse_json(b'{"view":' + view.model_dump_json().encode() + b"}")
    except (PydanticUserError, PydanticSerializationError) as error:
        raise LoadingFailed("provider_failed", f"{provider.name}: {error}") from error
    except Unreadable as error:
        told = "; ".join(f"{fault.path}: {fault.message}" for fault in error.faults[:3]) or error.message
        raise LoadingFailed(
            "provider_failed", f"{provider.name}: what it says of itself cannot be stored: {told}"
        ) from error
    return view


def origin(name: str) -> tuple[str, str]:
    """The package that brings the provider, and its version; `0` when it runs from source."""
    if _is_ours(name):
        package = "toolbus"
    else:
        offer = _offer(name)
        package = "" if offer.dist is None else offer.dist.name
    try:
        return package, version(package)
    except (PackageNotFoundError, ValueError):
        return package, "0"


def offered() -> dict[str, list[EntryPoint]]:
    """What installed packages offer, by name; nothing of it is imported."""
    found: dict[str, list[EntryPoint]] = {}
    for one in entry_points(group=ENTRY_POINTS):
        found.setdefault(one.name, []).append(one)
    return found


def _is_ours(name: str) -> bool:
    return importlib.util.find_spec(f"{OURS}.{name}") is not None


def _offer(name: str) -> EntryPoint:
    offers = offered().get(name, [])
    if len(offers) != 1:
        raise LoadingFailed("provider_failed", f"{name}: {len(offers)} packages offer it; one has to")
    return offers[0]


def _object(name: str) -> object:
    try:
        if _is_ours(name):
            return getattr(import_module(f"{OURS}.{name}"), "provider", None)
        return _offer(name).load()
    except LoadingFailed:
        raise
    except Exception as error:  # whatever a third party's module does while it is imported
        raise LoadingFailed("provider_failed", f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def _view(method: Method) -> MethodView:
    return MethodView(
        method=method.name,
        description=method.description,
        arguments=method.arguments.model_json_schema(),
        output=_output(method.output),
        contract=method.contract,
        timeout_s=method.timeout_s,
        retry_on=method.retry_on,
    )


def _output(model: type[BaseModel]) -> JsonObject:
    if issubclass(model, RootModel):
        raise LoadingFailed("provider_failed", f"{model.__name__}: an output is an object, with fields")
    return model.model_json_schema(mode="serialization")
