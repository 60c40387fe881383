"""The error tree: each error has a code of the table and keeps what it knows."""

from collections.abc import Callable

import pytest

from toolbus_contracts import errors
from toolbus_contracts.errors import CODES, Fault, ToolbusError


@pytest.mark.parametrize(
    ("error", "arguments", "code", "status"),
    [
        (errors.Refused, ("unsupported_format", "no"), "unsupported_format", 422),
        (errors.NotFound, ("no",), "not_found", 404),
        (errors.NotAllowed, ("no",), "forbidden", 403),
        (errors.NotAllowed, ("no", "unauthenticated"), "unauthenticated", 401),
        (errors.Conflict, ("already_exists", "no"), "already_exists", 409),
        (errors.Unreadable, ("invalid_json", "no"), "invalid_json", 422),
        (errors.StreamMoved, ("no",), "busy", 503),
        (errors.BusRefused, ("no",), "refused_by_bus", 500),
        (errors.Unavailable, ("no",), "unavailable", 503),
    ],
)
def test_each_error_tells_its_code_and_status(
    error: Callable[..., ToolbusError], arguments: tuple[str, ...], code: str, status: int
) -> None:
    """Clients branch on the code; the status follows from the table; the message is kept."""
    found = error(*arguments)
    assert (found.code, found.status, found.faults) == (code, status, ())
    assert found.message == str(found)
    assert found.message.startswith("no")


def test_errors_keep_what_callers_need() -> None:
    """The time to wait, the bus's own numbers and the faults survive."""
    assert errors.Unavailable("away", retry_after_s=2.5).retry_after_s == 2.5
    assert errors.Unavailable("away").retry_after_s == 1
    refused, unknown = errors.BusRefused("no", 503, 10077), errors.BusRefused("no")
    assert (refused.reply_status, refused.error_number) == (503, 10077)
    assert (unknown.reply_status, unknown.error_number) == (0, 0)
    fault = Fault("/a", "wrong")
    assert errors.Unreadable("invalid_value", "wrong", (fault,)).faults == (fault,)


@pytest.mark.parametrize("code", CODES)
def test_a_row_of_the_table_is_complete(code: str) -> None:
    """Status, exit code, title and next step are there, and the code is a stable word."""
    row = CODES[code]
    assert 400 <= row.status <= 599
    assert row.exit_code in {1, 2, 3, 4, 5, 6, 69, 75}
    assert row.title
    assert row.next_step.endswith(".")
    assert code.replace("_", "").isalnum()
    assert code == code.lower()


@pytest.mark.parametrize(("status", "exit_code"), [(401, 4), (403, 4), (404, 3)])
def test_exit_codes_follow_statuses(status: int, exit_code: int) -> None:
    """Not allowed is 4 and not found is 3, whatever the code."""
    rows = [row for row in CODES.values() if row.status == status]
    assert rows
    assert {row.exit_code for row in rows} == {exit_code}
