"""A server as a process of its own, and the effect of a call on it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.integration.integrations.mcp.forking import forked, kill
from tests.integration.integrations.mcp.server import serve
from tests.ports import free_port
from toolbus_contracts.calls import Continued
from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.executing.permits import Permit
from toolbus_contracts.mcp import PutMcpServer
from toolbus_contracts.tools import Surface, Terms, ToolDefinition
from toolbus_contracts.work import WorkItem
from toolbus_integrations.core.mcp_commands import AllowedCommand
from toolbus_integrations.mcp.connections import Connections
from toolbus_integrations.mcp.describing import Describing
from toolbus_integrations.mcp.effect import McpEffect
from toolbus_integrations.mcp.parts import checked_by
from toolbus_integrations.mcp.reaching import opener
from toolbus_runtime.egress import EgressGuard
from toolbus_runtime.executing.clock import SystemClock
from toolbus_runtime.executing.runs import Run
from toolbus_runtime.secrets.held import HeldSecrets
from toolbus_runtime.secrets.resolver import Resolver
from toolbus_runtime.secrets.sources import Environment

PROGRAM = str(Path(__file__).with_name("server.py"))
TENANT = "acme"
READ = Terms(effect="read", idempotency="native", is_asserted=True, provenance="definition")
PATIENCE_S = 20.0


@dataclass
class Process:
    """The server over HTTP; killed and started again on the same port."""

    journal: Path
    env: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    running: BaseProcess | None = None

    @property
    def url(self) -> str:
        """Where it is served."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self, **changed: str) -> None:
        """It listens on return."""
        self.running = forked(serve, self.port, {"JOURNAL": str(self.journal), **self.env, **changed})

    def kill(self) -> None:
        """It is gone on return, as after a power failure."""
        if self.running is not None:
            kill(self.running)
            self.running = None

    def ran(self) -> list[str]:
        """The tools that ran, in order."""
        return self.journal.read_text().split() if self.journal.exists() else []


class Kept:
    """Servers of one tenant, in memory."""

    def __init__(self, servers: Mapping[str, PutMcpServer]) -> None:
        self.servers = dict(servers)

    async def get(self, tenant: str, name: str) -> PutMcpServer | None:
        """The server of this name."""
        return self.servers.get(name) if tenant == TENANT else None


class Rig:
    """The effect as the service has it, with servers and secrets of the test's own."""

    def __init__(
        self,
        *,
        allowed: tuple[AllowedCommand, ...] = (),
        secrets: Mapping[str, str] | None = None,
        egress: str = "127.0.0.0/8",
        idle_s: float = 60.0,
    ) -> None:
        self.clock = SystemClock()
        self.guard = EgressGuard(EgressRules(parse_allowances(egress)))
        make = opener(checked_by(self.guard), self.clock, allowed=allowed)
        self.connections = Connections(make, self.clock, idle_s=idle_s)
        self.kept = Kept({})
        self.effect = McpEffect(self.connections, self.kept, self.clock)
        variables = {f"TOOLBUS_SECRET_ACME__{name.upper()}": value for name, value in (secrets or {}).items()}
        self.resolver = Resolver((Environment(variables),))
        self.describing = Describing(self.connections, self.kept, self.resolver)

    def put(self, name: str = "thing", **settings: Any) -> None:
        """There is a server of this name now."""
        self.kept.servers[name] = PutMcpServer.model_validate(settings)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        terms: Terms | None = None,
        surface: Surface | None = None,
        timeout_s: float = PATIENCE_S,
        run: Run | None = None,
        permit: Permit | None = None,
        max_output_bytes: int = 1024 * 1024,
        continued: Continued | None = None,
    ) -> Outcome:
        """What one attempt came to."""
        definition = ToolDefinition.model_validate(
            {
                "name": "t",
                "mcp": {"server": "thing", "tool": tool},
                "timeout_s": timeout_s,
                "max_output_bytes": max_output_bytes,
            }
        )
        item = WorkItem(
            call_id="call_1",
            tenant=TENANT,
            execution_id="exec_1",
            attempt=1,
            definition=definition,
            surface=surface,
            arguments=dict(arguments or {}),
            continued=continued,
            terms=terms or Terms(),
            needs_start=True,
        )
        with HeldSecrets(self.resolver, item) as held:
            prepared = await self.effect.prepare(item, held, is_large=False)
            found = await self.effect.perform(item, prepared, permit or Permit(), run or Run())
            return await held.redacted(found)

    async def surface(self, tool: str) -> Surface:
        """The tool as the server describes it now."""
        definition = ToolDefinition.model_validate({"name": "t", "mcp": {"server": "thing", "tool": tool}})
        return await self.describing.describe(TENANT, definition)

    async def aclose(self) -> None:
        """Nothing is connected any more."""
        await self.connections.aclose()
        await self.guard.close()


@asynccontextmanager
async def rigged(**options: Any) -> AsyncIterator[Rig]:
    """A rig, closed at the end."""
    rig = Rig(**options)
    try:
        yield rig
    finally:
        await rig.aclose()
