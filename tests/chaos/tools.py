"""The tools of a run: what may be repeated, what may not, what is limited, and what can be asked about afterwards."""

from typing import Any

from tests.chaos.place import Place
from tests.chaos.plan import ACT, FIND, LOOK, PAY, PUT

TIMEOUT_S = 2.0  # short: what is left in doubt is known as such 12 s after its start
CALM_TIMEOUT_S = 30.0
SETTLE_AFTER_S = 2.0  # longer than a link to the target holds anything back: a probe before that may err
RETRY_ON = frozenset({502})  # of the two faults that the target answers, this one asks for another attempt
RETRY = {"attempts": 4, "first_delay_s": 0.2, "factor": 2.0, "max_delay_s": 2.0, "retry_on": sorted(RETRY_ON)}
METHODS = {ACT: "POST", PAY: "POST", LOOK: "GET", PUT: "PUT", FIND: "GET"}
MORE: dict[str, dict[str, Any]] = {
    ACT: {},
    PAY: {
        "limits": {"concurrency": 16},
        "probe": {
            "tool": FIND,
            "arguments": {"name": "$ call.id"},
            "happened": "output.json.happened",
            "settle_after_s": SETTLE_AFTER_S,
        },
    },
    LOOK: {"limits": {"concurrency": 8, "rate": {"calls": 60, "per_s": 1.0}}},
    PUT: {"contract": {"effect": "write", "idempotency": "required"}},
    FIND: {},
}


def definition(name: str, url: str, timeout_s: float) -> dict[str, Any]:
    """A tool as its owner would write it."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    section = {"method": METHODS[name], "url": f"{url}/{name}/{{name}}", "params_schema": schema}
    return {"name": name, "timeout_s": timeout_s, "retry": RETRY, "api_call": section, **MORE[name]}


async def define(place: Place, *, timeout_s: float) -> None:
    """The tools are there."""
    http = (await place.clients())[0]
    for name in METHODS:
        answer = await http.put(f"/v1/tools/{name}", json=definition(name, place.target_url, timeout_s))
        assert answer.is_success, answer.text
