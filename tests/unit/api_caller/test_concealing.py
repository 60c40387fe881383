"""Secrets in answers that are odd: what is told of the oddity holds none, nor a part of one."""

import pytest

from tests.unit.api_caller.making import JSON, READ, answer, judged
from tests.unit.runtime.secret_sources import VALUE
from toolbus_api_caller.core.concealing import concealed
from toolbus_api_caller.core.reading import AnswerReader
from toolbus_api_caller.core.response import Wanted
from toolbus_contracts.executing.redaction import Redactor

LONG = VALUE * 4


@pytest.mark.parametrize("value", [VALUE, LONG])
def test_an_encoding_that_is_a_secret_is_not_told(value: str) -> None:
    """The reason why a body cannot be unpacked quotes the header, and cuts it."""
    reader = AnswerReader(1000)
    reader.begin(200, ((b"content-encoding", value.encode()), (b"content-type", b"application/json")))
    reader.take(b"{}")
    found = judged(concealed(reader.answer(), Redactor([("key", value)])), Wanted(READ))
    assert found.output is not None
    assert found.output["json_error"] == "the body could not be unpacked"
    assert value[:20] not in repr(found)


def test_a_secret_in_a_name_or_a_number_is_taken_out() -> None:
    """Where that leaves no JSON behind, the answer is kept as it then reads."""
    redactor = Redactor([("key", VALUE), ("pin", "74629513")])
    named = judged(concealed(answer(200, f'{{"{VALUE}":1}}'.encode(), headers=JSON), redactor), Wanted(READ))
    assert (named.output or {})["json"] == {"[secret:key]": 1}
    number = judged(concealed(answer(200, b'{"pin":74629513}', headers=JSON), redactor), Wanted(READ))
    assert number.output is not None
    assert (number.output["json"], "json_error" in number.output) == (None, True)
    assert "74629513" not in repr(number)
