"""What a frame of a provider's process may hold."""

import pytest

from toolbus_contracts.errors import Unreadable
from toolbus_integrations.core.hearing import heard
from toolbus_integrations.host.messages import Gave


def gave(value: str) -> bytes:
    """An output, as text of JSON."""
    return f'{{"type":"gave","id":1,"output":{{"a":{value}}}}}'.encode()


@pytest.mark.parametrize(
    "body",
    [
        gave("NaN"),
        gave("-Infinity"),
        gave("1e999"),
        gave("9" * 40),
        gave('"a\\u0000b"'),
        gave('"\\ud800"'),
        gave('{"\\u0000":1}'),
        gave('1,"a":2'),
        gave('{"a":' * 70 + "1" + "}" * 70),
        gave("[" * 5000 + "]" * 5000),
        b'{"type":"gave","id":1,"output":{"a":"\xff"}}',
        b"{no json",
        b"[]",
        b"",
        b'{"type":"gave","id":"one","output":{}}',
        b'{"type":"gave","id":1,"output":{},"more":1}',
        b'{"type":"ready","view":{}}',
        b'{"type":"nothing"}',
    ],
    ids=lambda body: body[:40].decode(errors="replace"),
)
def test_what_could_not_be_stored_is_not_read(body: bytes) -> None:
    """Nor what is no message, whatever it is instead."""
    with pytest.raises(Unreadable):
        heard(body)


def test_what_can_be_stored_is_read() -> None:
    """As it is, in any language."""
    assert heard(gave('["grüße", 1.5, 9007199254740991, null]')) == Gave(
        id=1, output={"a": ["grüße", 1.5, 2**53 - 1, None]}
    )
