"""What errors say."""

import pytest

import toolbus
from tests.unit.client import shapes
from toolbus.cli.failures import command_for
from toolbus.client.failures import CLIENT_CODES, CallFailed, CallParked, code_of
from toolbus_contracts.calls import CallView
from toolbus_contracts.errors import CODES, ToolbusError


def view(**changes: object) -> CallView:
    """A call as the client reads it."""
    return CallView.model_validate(shapes.call(**changes), extra="ignore")


def test_every_error_has_one_root() -> None:
    """Whoever catches ToolbusError catches them all; what providers raise is an outcome, and reaches no client."""
    for name in set(toolbus.__all__) - toolbus.PLUG_IN:
        found = getattr(toolbus, name)
        if isinstance(found, type) and issubclass(found, Exception):
            assert issubclass(found, toolbus.ClientError)
            assert issubclass(found, ToolbusError)


def test_codes_of_the_client_are_no_codes_of_the_server() -> None:
    """A code has one meaning."""
    assert not CLIENT_CODES.keys() & CODES.keys()
    assert code_of("of_a_newer_server") is None


def test_a_failed_call_tells_tool_id_reason_and_what_to_do() -> None:
    """The message alone is enough to go on with."""
    error = CallFailed(view(status="failed", error=shapes.error(details=[{"path": "/city", "message": "unknown"}])))
    assert str(error).splitlines() == [
        f"get_weather ({shapes.CALL}) failed: the target answered 500",
        "  /city: unknown",
        f"→ {CODES['http_status'].next_step}",
    ]
    assert error.details == (("/city", "unknown"),)


def test_a_code_of_a_newer_server_is_no_obstacle() -> None:
    """It is told as it is, without a next step."""
    error = CallFailed(view(status="failed", error=shapes.error("of_a_newer_server")))
    assert (error.code, error.next_step, error.status) == ("of_a_newer_server", "", 0)


def test_a_parked_call_names_its_wait() -> None:
    """Who must act stands in the message, once; and the command that goes on from there is about the wait."""
    told = "waits for approval by role:finance since 0.0 s, expires in 3600.0 s"
    error = CallParked(view(status="waiting", wait=shapes.wait(), why=told))
    assert str(error).partition("\n")[0].endswith(f") {told}")
    unexplained = CallParked(view(status="waiting", wait=shapes.wait(), why=None))
    assert str(unexplained).partition("\n")[0].endswith(") waits for approval")
    assert command_for(error) == "toolbus waits show wait_1"


def test_public_names_are_loaded_lazily_and_unknown_ones_refused() -> None:
    """The package names what it has."""
    assert set(dir(toolbus)) == set(toolbus.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = toolbus.nothing
