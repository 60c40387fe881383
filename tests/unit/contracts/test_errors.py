"""The error tree: each error has a code of the table and keeps what it knows."""

import pytest

from toolbus_contracts import errors
from toolbus_contracts.errors import CODES, Fault


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (errors.Refused("unsupported_format", "no"), "unsupported_format", 422),
        (errors.NotFound("gone"), "not_found", 404),
        (errors.NotAllowed("no"), "forbidden", 403),
        (errors.NotAllowed("who?", "unauthenticated"), "unauthenticated", 401),
        (errors.Conflict("already_exists", "there"), "already_exists", 409),
        (errors.Unreadable("invalid_json", "what?"), "invalid_json", 422),
        (errors.StreamMoved("t/call/1"), "busy", 503),
        (errors.BusRefused("too large", 400, 10054), "refused_by_bus", 500),
        (errors.Unavailable("no database", retry_after_s=3), "unavailable", 503),
    ],
)
def test_each_error_tells_its_code_and_status(error: errors.ToolbusError, code: str, status: int) -> None:
    """Clients branch on the code; the status follows from the table."""
    assert (error.code, error.status) == (code, status)
    assert str(error) == error.message


def test_errors_keep_what_callers_need() -> None:
    """The time to wait, the bus's own numbers and the faults survive."""
    assert errors.Unavailable("away", retry_after_s=2.5).retry_after_s == 2.5
    assert errors.BusRefused("no", 503, 10077).error_number == 10077
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
