"""Requests about dead letters."""

from toolbus.client.exchange import Answer, Page, Request, reading, reading_page
from toolbus.client.failures import UnexpectedAnswer
from toolbus.client.requests.parts import part, query_of
from toolbus_contracts.dead import DeadLetterView, OpenedLetterView, Redriven


def list_letters(
    reason: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Request[Page[DeadLetterView]]:
    """GET /v1/dead."""
    query = query_of(reason=reason, limit=limit, cursor=cursor)
    return Request("GET", "/v1/dead", reading_page(DeadLetterView), query)


def count_letters() -> Request[dict[str, int]]:
    """GET /v1/dead, for its counts alone."""

    def read(answer: Answer) -> dict[str, int]:
        found = answer.json()
        counts = found.get("counts") if isinstance(found, dict) else None
        if not isinstance(counts, dict) or not all(isinstance(count, int) for count in counts.values()):
            raise UnexpectedAnswer("the answer tells no counts")
        return counts

    return Request("GET", "/v1/dead", read, query_of(limit=1))


def get_letter(letter_id: str) -> Request[OpenedLetterView]:
    """GET /v1/dead/{id}."""
    return Request("GET", f"/v1/dead/{part(letter_id)}", reading(OpenedLetterView))


def redrive_letter(letter_id: str) -> Request[Redriven]:
    """POST /v1/dead/{id}/redrive; not repeatable, for a second time there is no such letter."""
    return Request("POST", f"/v1/dead/{part(letter_id)}/redrive", reading(Redriven), is_repeatable=False)
