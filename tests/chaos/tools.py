"""The tools of a run: what may be repeated, what may not, what is limited, and what can be asked about afterwards."""

from typing import Any

from tests.chaos.place import Place
from tests.chaos.plan import ACT, BRIEF, FILL, FIND, FUNCTIONS, GUARD, LOOK, PAY, PUT, WORK

TIMEOUT_S = 2.0  # short: what is left in doubt is known as such 12 s after its start
CALM_TIMEOUT_S = 30.0
SETTLE_AFTER_S = 2.0  # longer than a link to the target holds anything back: a probe before that may err
RETRY_ON = frozenset({502})  # of the two faults that the target answers, this one asks for another attempt
RETRY = {"attempts": 4, "first_delay_s": 0.2, "factor": 2.0, "max_delay_s": 2.0, "retry_on": sorted(RETRY_ON)}
METHODS = {ACT: "POST", PAY: "POST", LOOK: "GET", PUT: "PUT", FIND: "GET", GUARD: "POST", FILL: "POST"}
PATIENT_S, BRIEF_S = 3600.0, 4.0  # nobody comes too late but for what is brief
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
    GUARD: {"approval": {"approvers": ["user:bo", "user:cy"], "may_edit": True, "expires_s": PATIENT_S}},
    FILL: {"ask_user": {"fields": {"reason": {"type": "string"}}, "expires_s": PATIENT_S}},
    WORK: {"expires_s": PATIENT_S},
    BRIEF: {"expires_s": BRIEF_S},
}
VALUES = {GUARD: {"amount": {"type": "integer"}}, FILL: {"reason": {"type": "string"}}}


def definition(name: str, url: str, timeout_s: float) -> dict[str, Any]:
    """A tool as its owner would write it."""
    properties = {"name": {"type": "string"}, **VALUES.get(name, {})}
    schema = {"type": "object", "properties": properties, "required": ["name"]}
    if name in FUNCTIONS:
        return {"name": name, "function": {"parameters": schema}, **MORE[name]}
    section = {"method": METHODS[name], "url": f"{url}/{name}/{{name}}", "params_schema": schema}
    return {"name": name, "timeout_s": timeout_s, "retry": RETRY, "api_call": section, **MORE[name]}


async def define(place: Place, *, timeout_s: float) -> None:
    """The tools are there."""
    http = (await place.clients())[0]
    for name in MORE:
        answer = await http.put(f"/v1/tools/{name}", json=definition(name, place.target_url, timeout_s))
        assert answer.is_success, answer.text
