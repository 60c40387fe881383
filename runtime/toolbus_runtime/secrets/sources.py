"""Where values of secrets are found: the table of the integrations service, a mounted folder, the environment."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from toolbus_contracts.errors import Unavailable
from toolbus_contracts.executing.secrets import UNNUMBERED
from toolbus_contracts.secrets import MAX_VALUE_BYTES
from toolbus_runtime.sealing import KeyRing, open_sealed
from toolbus_runtime.secrets.published import SecretsBus, published_secret

PREFIX = "TOOLBUS_SECRET_"


class Found(NamedTuple):
    """A value, and what it is bound to."""

    value: str
    generation: int = UNNUMBERED
    hosts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Found(generation={self.generation}, hosts={self.hosts}, tools={self.tools})"


class Source(Protocol):
    """One place where secrets may lie."""

    async def find(self, tenant: str, name: str) -> Found | None:
        """
        The value of this name for this tenant; None when it does not lie here.

        Raises:
            Unavailable: it cannot be told now.
        """
        ...

    def place(self, tenant: str, name: str) -> str:
        """Where it was looked for, in words for whoever has to put it there."""
        ...


class StoredSecrets:
    """The table: sealed copies lie on the bus, and are opened with the master key. Each use asks for the newest."""

    def __init__(self, bus: SecretsBus, keys: KeyRing) -> None:
        self._bus = bus
        self._keys = keys

    async def find(self, tenant: str, name: str) -> Found | None:
        """
        The newest generation.

        Raises:
            Unavailable: the bus is away, or the master key is not here.
        """
        sealed = await published_secret(self._bus, tenant, name)
        if sealed is None:
            return None
        return Found(open_sealed(self._keys, tenant, sealed), sealed.generation, sealed.hosts, sealed.tools)

    def place(self, tenant: str, name: str) -> str:
        """The command that stores it."""
        del tenant
        return f"the stored secrets (toolbus secrets set {name})"


class MountedFolder:
    """Files `<folder>/<tenant>/<name>`, as orchestrators mount them; one line break at the end does not count."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def find(self, tenant: str, name: str) -> Found | None:
        """
        What the file holds.

        Raises:
            Unavailable: it cannot be read, is no text, or is longer than a secret may be.
        """
        raw = await asyncio.to_thread(self._read, tenant, name)
        if raw is None:
            return None
        if len(raw) > MAX_VALUE_BYTES:
            raise Unavailable(f"{self._folder / tenant / name} is longer than {MAX_VALUE_BYTES} bytes")
        try:
            return Found(raw.decode().removesuffix("\n").removesuffix("\r"))
        except UnicodeDecodeError:
            raise Unavailable(f"{self._folder / tenant / name} holds no text") from None  # the cause would quote it

    def place(self, tenant: str, name: str) -> str:
        """The path of the file."""
        return f"the file {self._folder / tenant / name}"

    def _read(self, tenant: str, name: str) -> bytes | None:
        try:
            with (self._folder / tenant / name).open("rb") as file:
                return file.read(MAX_VALUE_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Unavailable(f"{self._folder / tenant / name} cannot be read: {error.strerror}") from error


class Environment:
    """
    Variables `TOOLBUS_SECRET_<TENANT>__<NAME>`, upper case, hyphens and dots written as `_`.

    A tenant with two hyphens in a row has none here: its variables could be taken for those of another tenant.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    async def find(self, tenant: str, name: str) -> Found | None:
        """What the variable holds; an empty one is none."""
        value = self._variables.get(self._variable(tenant, name)) if "--" not in tenant else None
        return Found(value) if value else None

    def place(self, tenant: str, name: str) -> str:
        """The name of the variable."""
        return f"the variable {self._variable(tenant, name)}"

    @staticmethod
    def _variable(tenant: str, name: str) -> str:
        written = name.replace("-", "_").replace(".", "_")
        return f"{PREFIX}{tenant.replace('-', '_')}__{written}".upper()
