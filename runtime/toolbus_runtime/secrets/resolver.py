"""From names to secrets: the first source that has one gives it, to a tool that may use it."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.redaction import LEAST_CHARS
from toolbus_contracts.executing.secrets import Secret
from toolbus_contracts.secrets import SCHEME, name_in, server_user
from toolbus_runtime.sealing import KeyRing
from toolbus_runtime.secrets.known import KNOWN
from toolbus_runtime.secrets.published import SecretsBus
from toolbus_runtime.secrets.sources import Environment, MountedFolder, Source, StoredSecrets
from toolbus_runtime.settings import SecretSettings


class _User(NamedTuple):
    """Who wants a secret: a tool, an MCP server that is asked what it has, or a tool of such a server."""

    tool: str | None
    server: str | None

    def is_among(self, bound: Sequence[str]) -> bool:
        return self.tool in bound or (self.server is not None and server_user(self.server) in bound)

    def told(self, secret: str) -> str:
        if self.server is None:
            return f"{self.tool}"
        who = self.tool or f"asking the MCP server {self.server} what it has"
        return f"{who}; for all of that server: toolbus secrets set {secret} --tool {server_user(self.server)}"


class Resolver:
    """
    Asks its sources in their order, anew for each use.

    Nothing is kept: a new generation holds for the next call, and one that was approved is the one that is sent.
    """

    def __init__(self, sources: Sequence[Source] = ()) -> None:
        self._sources = tuple(sources)

    @classmethod
    def of(cls, settings: SecretSettings, bus: SecretsBus, variables: Mapping[str, str]) -> "Resolver":
        """The sources that the settings name: table, folder, environment."""
        folder = () if settings.secrets_folder is None else (MountedFolder(settings.secrets_folder),)
        return cls((StoredSecrets(bus, KeyRing.of(settings)), *folder, Environment(variables)))

    async def resolve(
        self, tenant: str, names: Iterable[str], *, tool: str | None = None, server: str | None = None
    ) -> dict[str, Secret]:
        """
        Every secret by its name, for a call of this tool; logs are searched for them from now on.

        `server`: the MCP server that it is for; without a tool it is only asked what it has.

        Raises:
            Refused: `secret_unavailable`, nobody has one, or it is too short to be kept out of answers;
                `secret_not_allowed`, it is bound to other tools.
            Unavailable: a source cannot be asked now.
        """
        wanted = sorted(set(names))
        by = _User(tool, server)
        if len(wanted) == 1:
            found = [await self._find(tenant, wanted[0], by)]
        else:
            found = await asyncio.gather(*(self._find(tenant, name, by) for name in wanted))
        KNOWN.remember(found)
        return dict(zip(wanted, found, strict=True))

    async def _find(self, tenant: str, name: str, by: "_User") -> Secret:
        if name_in(SCHEME + name) is None:  # it becomes a subject, a path and a variable
            raise Refused("secret_unavailable", f"{name!r}: no secret can have this name")
        for source in self._sources:
            found = await source.find(tenant, name)
            if found is None:
                continue
            if found.tools and not by.is_among(found.tools):
                allowed = ", ".join(found.tools)
                message = f"{SCHEME}{name} is for the tools {allowed} only, not for {by.told(name)}"
                raise Refused("secret_not_allowed", message)
            if len(found.value) < LEAST_CHARS:
                message = f"{SCHEME}{name} has fewer than {LEAST_CHARS} characters: it could not be kept out of answers"
                raise Refused("secret_unavailable", message)
            return Secret(name, found.value, found.generation, found.hosts)
        looked = ", nor in ".join(source.place(tenant, name) for source in self._sources)
        raise Refused("secret_unavailable", f"{SCHEME}{name} is not in {looked or 'any source: there is none'}")
