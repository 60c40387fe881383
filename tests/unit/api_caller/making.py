"""Work items and answers for the tests of the api caller."""

from datetime import UTC, datetime
from typing import Any

from toolbus_api_caller.core.request import build_request
from toolbus_api_caller.core.response import HttpAnswer, Wanted, judge_answer
from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.outcomes import Outcome
from toolbus_contracts.requests.request import HttpRequest
from toolbus_contracts.tools import Terms, ToolDefinition
from toolbus_contracts.work import WorkItem

URL = "https://api.example.com/v1/things"
AGENT = "toolbus/test"
NOW = datetime(2030, 1, 1, tzinfo=UTC)
READ = Terms(effect="read", idempotency="native", is_asserted=True, provenance="definition")
REPEATABLE = Terms(effect="write", idempotency="required", is_asserted=True, provenance="definition")
UNSAFE = Terms()


def item(section: dict[str, Any], arguments: Any = None, *, terms: Terms | None = None, **more: Any) -> WorkItem:
    """A work item for this api_call section; fields of the definition under `definition`."""
    whole = {"method": "GET", "url": URL, **section}
    definition = ToolDefinition.model_validate({"name": "tool", "api_call": whole, **more.pop("definition", {})})
    fields: dict[str, Any] = {
        "call_id": "call_00000000000000000000000000000001",
        "tenant": "acme",
        "execution_id": "exec_00000000000000000000000000000001",
        "attempt": 1,
        "needs_start": False,
        **more,
    }
    return WorkItem(
        definition=definition,
        arguments={} if arguments is None else arguments,
        terms=terms or definition.terms(),
        **fields,
    )


def request(section: dict[str, Any], arguments: Any = None, **more: Any) -> HttpRequest:
    """The request that such a work item stands for."""
    return build_request(item(section, arguments, **more), user_agent=AGENT)


def refusal(section: dict[str, Any], arguments: Any = None, **more: Any) -> str:
    """The code and message with which such a work item is refused."""
    try:
        made = request(section, arguments, **more)
    except Refused as error:
        return f"{error.code}: {error.message}"
    raise AssertionError(f"not refused: {made}")


def schema(*names: str) -> dict[str, Any]:
    """A params_schema that declares these properties."""
    return {"type": "object", "properties": {name: {} for name in names}}


def answer(
    status_code: int = 200, body: bytes = b"", *, headers: dict[str, str] | None = None, **more: Any
) -> HttpAnswer:
    """An answer with these headers."""
    raw = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in (headers or {}).items())
    return HttpAnswer(status_code, raw, body, **more)


def judged(found: HttpAnswer, wanted: Wanted) -> Outcome:
    """What an answer means that comes now."""
    return judge_answer(found, wanted, NOW)


JSON = {"Content-Type": "application/json"}
