"""An answer that is there counts, however long it takes to look at it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from toolbus_contracts.executing.permits import Permit
from toolbus_contracts.executing.redaction import Redactor
from toolbus_contracts.mcp import McpSurfaceView, McpToolView, PutMcpServer
from toolbus_contracts.tools import JsonObject, Terms, ToolDefinition
from toolbus_contracts.work import WorkItem
from toolbus_integrations.mcp.connections import Connections
from toolbus_integrations.mcp.effect import McpCall, McpEffect
from toolbus_integrations.mcp.targets import Target
from toolbus_runtime.executing.clock import SystemClock
from toolbus_runtime.executing.runs import Run

TIMEOUT_S = 0.05
LATER_S = 8 * TIMEOUT_S
OUTPUT: JsonObject = {"type": "object", "properties": {"id": {"type": "integer"}}}
TOOL = McpToolView(name="echo", arguments={"type": "object"}, output=OUTPUT)
SURFACE = McpSurfaceView(protocol="2025-11-25", tools=(TOOL,))


class Slow(Redactor):
    """Looks at things until their time is over."""

    def __init__(self, while_looking: Callable[[], None]) -> None:
        super().__init__([("token", "correct-horse-battery")])
        self._while_looking = while_looking

    def in_json(self, value: Any) -> Any:
        """The same, later."""
        self._while_looking()
        return super().in_json(value)


class Answering:
    """Connections to one server whose only tool answers this at once."""

    def __init__(self, answer: JsonObject) -> None:
        self._answer = answer

    @asynccontextmanager
    async def use(self, target: Target) -> AsyncIterator["Answering"]:
        """Itself."""
        del target
        yield self

    async def tools(self, *, is_pinned: bool = True) -> McpSurfaceView:
        """One tool, with a schema for what it gives."""
        del is_pinned
        return SURFACE

    async def call(self, *asked: object) -> JsonObject:
        """The answer."""
        del asked
        return self._answer


def call(redactor: Redactor) -> McpCall:
    """The call, ready to be made."""
    settings = PutMcpServer(transport="http", url="https://x/mcp")
    return McpCall(Target("key", "thing", settings, headers={}, env={}, redactor=redactor), "echo", {})


def work() -> WorkItem:
    """A call of that tool, which changes something."""
    definition = {"name": "t", "mcp": {"server": "thing", "tool": "echo"}, "timeout_s": TIMEOUT_S}
    return WorkItem(
        call_id="call_1",
        tenant="acme",
        execution_id="exec_1",
        attempt=1,
        definition=ToolDefinition.model_validate(definition),
        arguments={},
        terms=Terms(),
        needs_start=True,
    )


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, ("failed", "tool_error", "unknown")),
        ({"content": [], "structuredContent": {"id": "i-7"}}, ("failed", "response_invalid", "yes")),
    ],
    ids=["concealing", "judging"],
)
@pytest.mark.parametrize("ending", ["time", "nobody waits"])
async def test_an_answer_is_not_thrown_away_while_it_is_looked_at(
    answer: JsonObject, wanted: tuple[str, str, str], ending: str
) -> None:
    """The time of the attempt ends meanwhile, or its call does: what the tool did is known all the same."""
    loop, run, is_later = asyncio.get_running_loop(), Run(), threading.Event()

    def end() -> None:
        if ending == "nobody waits":
            run.end()
        loop.call_later(LATER_S, is_later.set)

    def while_looking() -> None:
        loop.call_soon_threadsafe(end)
        assert is_later.wait(20)

    effect = McpEffect(cast("Connections", Answering(answer)), cast("Any", None), SystemClock())
    found = await effect.perform(work(), call(Slow(while_looking)), Permit(), run)
    assert found.error is not None
    assert (found.result, found.error.code, found.error.effect_happened) == wanted
