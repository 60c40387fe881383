"""What the demo does, step by step, and what it shows."""

import time
from datetime import UTC, datetime

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from toolbus.cli.timeline import timeline
from toolbus.client import AsyncClient, Problem
from toolbus.demo.target import Target
from toolbus_contracts.calls import CallView
from toolbus_contracts.tools import ToolDefinition
from toolbus_runtime.store.database import open_store
from toolbus_runtime.store.verify import verify

CALLS = 1000
BATCH = 100


def definitions(url: str) -> list[ToolDefinition]:
    """The demo's tools: one that only reads, one that writes."""
    weather = {
        "name": "get_weather",
        "description": 'Weather of a city. Use for "is it warm today?"',
        "api_call": {
            "method": "GET",
            "url": url + "/v1/{city}/weather",
            "params_schema": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 7}},
                "required": ["city"],
            },
        },
    }
    note = {
        "name": "write_note",
        "description": "Keep a note.",
        "api_call": {
            "method": "POST",
            "url": url + "/v1/notes",
            "params_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        },
    }
    return [ToolDefinition.model_validate(one) for one in (weather, note)]


async def tell(console: Console, client: AsyncClient, target: Target, database_url: str) -> bool:
    """Register tools, make calls, show one of them, verify the log; true when all is as it should be."""
    for definition in definitions(target.url):
        tool = await client.tools.apply(definition)
        console.print(f"Tool registered: [bold]{tool.name}[/bold] v{tool.version} ({tool.contract.effect})")
    succeeded = await _many(console, client)
    note = await client.call("write_note", text="Toolbus was here", wait=20)
    console.print("\nOne call, from sentence to effect:")
    await _show(console, client, note)
    return await _totals(console, target, succeeded, database_url)


async def _many(console: Console, client: AsyncClient) -> int:
    """Submit calls in batches and wait until the last has ended; how many succeeded."""
    began = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    succeeded = 0
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(f"{CALLS} calls of get_weather", total=CALLS)
        for first in range(0, CALLS, BATCH):
            calls = [{"tool": "get_weather", "arguments": {"city": f"city-{n}"}} for n in range(first, first + BATCH)]
            for accepted in await client.submit_many(calls):
                if not isinstance(accepted, Problem):
                    ended = await client.wait_for(accepted.id, wait=20)
                    succeeded += ended.status == "succeeded"
                progress.advance(bar)
    seconds = time.monotonic() - began
    console.print(f"{succeeded} of {CALLS} calls succeeded in {seconds:.1f} s.")
    return succeeded


async def _show(console: Console, client: AsyncClient, call: CallView) -> None:
    execution = await client.executions.get(call.execution_id)
    events = [event async for event in client.executions.events(call.execution_id)]
    width = min(console.width, 100)
    console.print(timeline(execution, events, now=datetime.now(UTC), width=width))


async def _totals(console: Console, target: Target, succeeded: int, database_url: str) -> bool:
    store = open_store(database_url)
    try:
        began = time.monotonic()
        found = await verify(store)
        seconds = time.monotonic() - began
    finally:
        await store.close()
    console.print(f"\nTotals: {succeeded + 1} calls, {target.requests} requests at the target, {found.events} events.")
    if found.fault is not None:
        console.print(f"The log does not verify: {found.fault}", style="red")
    else:
        console.print(f"The log verifies: {found.events} events in {found.streams} streams ({seconds:.2f} s).")
    return succeeded == CALLS and target.requests == CALLS + 1 and found.fault is None
