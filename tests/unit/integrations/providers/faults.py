"""Everything that a vendor's server can do instead of answering, and what a method has to make of it."""

import json
import re
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.unit.integrations.providers.calling import OwnCall
from toolbus.provider import ToolFailed

ANY = re.compile(r".*")
WORDS = "the vendor's own words"


@dataclass(frozen=True)
class Fault:
    """A status with what is to be made of it, or one of the other ways to fail."""

    name: str
    status: int = 200
    code: str = "http_status"
    retryable: bool = False
    retry_after_s: float | None = None


REFUSED = Fault("refused", 401)
LIMITED = Fault("limited", 429, retryable=True, retry_after_s=7.0)
BROKEN = Fault("broken", 500)
AWAY = Fault("away", 503, retryable=True)
MALFORMED = Fault("malformed", code="response_invalid")
OTHER = Fault("other", code="response_invalid")
LARGE = Fault("large", code="response_too_large")
SLOW = Fault("slow")
FAULTS = [REFUSED, LIMITED, BROKEN, AWAY, MALFORMED, OTHER, LARGE, SLOW]


async def check_fault(
    fault: Fault,
    server: HTTPServer,
    call: OwnCall,
    *,
    perform: Callable[[float | None], Awaitable[object]],
    told: Callable[[str], object],
) -> None:
    """
    The method makes of the fault what is to be made of it.

    `perform` does the method, with a time; `told` makes the vendor's error body around words.
    """
    is_over = threading.Event()
    call.max_output_bytes = 100_000

    def answer(request: Request) -> Response:
        request.get_data()
        match fault.name:
            case "malformed":
                return Response("{'no': json", content_type="application/json")
            case "other":
                return Response("[]", content_type="application/json")
            case "large":
                return Response(b" " * 200_000, content_type="application/json")
            case "slow":
                is_over.wait(20)
                return Response("{}")
        headers = {"retry-after": str(int(fault.retry_after_s))} if fault.retry_after_s else {}
        return _json(told(WORDS), fault.status, headers)

    server.expect_request(ANY).respond_with_handler(answer)
    if fault is SLOW:
        with pytest.raises(TimeoutError):
            await perform(0.3)
        is_over.set()
        assert call.is_sent
        return
    with pytest.raises(ToolFailed) as failed:
        await perform(None)
    found = failed.value
    assert (found.code, found.retryable, found.retry_after_s) == (fault.code, fault.retryable, fault.retry_after_s)
    assert fault.status == 200 or WORDS in found.message


def _json(body: object, status: int, headers: dict[str, str]) -> Response:
    return Response(json.dumps(body), status=status, headers=headers, content_type="application/json")
