"""The tools of a run: one that may not be repeated, one that reads, one whose contract allows another try."""

from typing import Any

from tests.chaos.place import Place
from tests.chaos.plan import KEYED, READ, UNSAFE
from toolbus_contracts.tools import ToolDefinition

TIMEOUT_S = 2.0  # short: what is left in doubt is known as such 12 s after its start
CALM_TIMEOUT_S = 30.0
RETRY_ON = frozenset({502})  # of the two faults that the target answers, this one asks for another attempt
METHODS = {UNSAFE: "POST", READ: "GET", KEYED: "PUT"}
RETRY = {"attempts": 4, "first_delay_s": 0.2, "factor": 2.0, "max_delay_s": 2.0, "retry_on": sorted(RETRY_ON)}


def definition(name: str, url: str, timeout_s: float) -> dict[str, Any]:
    """A tool as its owner would write it."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    section = {"method": METHODS[name], "url": f"{url}/{name}/{{name}}", "params_schema": schema}
    found: dict[str, Any] = {"name": name, "timeout_s": timeout_s, "api_call": section}
    if name == KEYED:
        found["contract"] = {"effect": "write", "idempotency": "required"}
    if "retry" in ToolDefinition.model_fields:
        found["retry"] = RETRY
    return found


async def define(place: Place, *, timeout_s: float) -> None:
    """The tools are there."""
    http = (await place.clients())[0]
    for name in METHODS:
        answer = await http.put(f"/v1/tools/{name}", json=definition(name, place.target_url, timeout_s))
        assert answer.is_success, answer.text
