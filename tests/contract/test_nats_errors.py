"""Every error of the NATS client has a place in our own tree."""

import inspect

import nats.errors
import nats.js.errors
import pytest

from toolbus_contracts.errors import BusRefused, Unavailable
from toolbus_runtime.bus.translate import AWAY, NATS_ERRORS, NOT_TAKEN, api_error, translated

ALL = {
    found
    for module in (nats.errors, nats.js.errors)
    for _, found in inspect.getmembers(module, inspect.isclass)
    if issubclass(found, nats.errors.Error)
}


def test_every_error_of_the_client_is_mapped_once() -> None:
    """A new version of nats-py with a new error fails here until somebody decides what it means."""
    assert ALL == AWAY | NOT_TAKEN
    assert not AWAY & NOT_TAKEN


def test_an_error_keeps_its_words() -> None:
    """What the library said is in the message; the kind says whether trying again helps."""
    assert isinstance(translated(nats.errors.TimeoutError()), Unavailable)
    refused = translated(nats.errors.MaxPayloadError())
    assert isinstance(refused, BusRefused)
    assert refused.message == "maximum payload exceeded"
    assert isinstance(translated(ConnectionResetError("reset")), Unavailable)


def test_a_connection_that_the_loop_has_closed_is_away() -> None:
    """The client writes to it until it has heard of that; the loop says so in an error of its own."""
    closed = RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")
    assert isinstance(closed, NATS_ERRORS)
    assert isinstance(translated(closed), Unavailable)


@pytest.mark.parametrize(
    ("status", "kind"), [(400, BusRefused), (404, BusRefused), (500, Unavailable), (503, Unavailable)]
)
def test_an_answer_of_jetstream_is_told_apart_by_its_class(status: int, kind: type[Exception]) -> None:
    """A fault of the server passes, a wrong request stays wrong."""
    error = api_error({"code": status, "err_code": 10077, "description": "maximum bytes exceeded"})
    assert type(error) is kind
    assert error.message == "maximum bytes exceeded"
