"""Probes: what is asked about a call in doubt, and what the answer says."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.dispatcher.making import define, dispatched
from toolbus_contracts.calls import Call
from toolbus_contracts.errors import Refused
from toolbus_contracts.expressions import MAX_CHARS, MAX_LOOPS, Inexpressible
from toolbus_contracts.tools import Probe
from toolbus_contracts.values import Json
from toolbus_dispatcher.core.probes import about, arguments_of, faults_of, verdict_on
from toolbus_dispatcher.core.resources import check_definition

NESTED = {"items": [{"key": "call_1", "state": "done"}, {"key": "call_2"}], "status_code": 200}


def call(**changes: Any) -> Call:
    """A call in doubt."""
    told = {"arguments": {"charge": "ch_1", "amount": 7, "tags": ["a"]}, "labels": {"team": "billing"}, **changes}
    return dispatched(**told)


def probe(happened: str = "true", **arguments: Json) -> Probe:
    """A probe that is asked with these arguments."""
    return Probe(tool="find_refund", happened=happened, arguments=arguments)


def test_an_expression_may_know_this_of_a_call() -> None:
    """What it was asked with, and by which names others know it; nothing of what came of it."""
    assert about(call(external_id="toolu_1")) == {
        "id": "call_1",
        "tool": "refund",
        "arguments": {"charge": "ch_1", "amount": 7, "tags": ["a"]},
        "attempt": 1,
        "execution_id": "exec_1",
        "external_id": "toolu_1",
        "idempotency_key": "order-7",
        "labels": {"team": "billing"},
        "requested_at": datetime(2026, 1, 2, tzinfo=UTC).isoformat(),
    }


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("$ call.id", "call_1"),
        ("$ call.arguments.amount", 7),
        ("$ call.arguments.amount + 1", 8),
        ("$ call.arguments.charge + '/' + call.id", "ch_1/call_1"),
        ("$ call.arguments", {"charge": "ch_1", "amount": 7, "tags": ["a"]}),
        ("$ call.arguments.tags", ["a"]),
        ("$ call.external_id", None),
        ("$ call.labels['team'] == 'billing'", True),
        ("$ double(call.attempt) * 1.5", 1.5),
        ("$ 9007199254740991", 2**53 - 1),
        ("$ -9007199254740991", 1 - 2**53),
        ("$ -1.5e300", -1.5e300),
        ("$ [null, true, {'a': 'b'}]", [None, True, {"a": "b"}]),
        ("call.id", "call_1 as text, since no $ stands before it"),
        ("$call.id", "a price, since no blank follows"),
        (7, 7),
        (None, None),
        (True, True),
        ({"where": [{"key": "$ call.id"}, "plain"], "n": 1.5}, {"where": [{"key": "call_1"}, "plain"], "n": 1.5}),
        ([], []),
    ],
)
def test_arguments_are_filled_in(argument: Json, value: Json) -> None:
    """Texts that begin with `$ ` are expressions, wherever they stand; all else stays as it is."""
    is_plain = isinstance(argument, str) and not argument.startswith("$ ")
    found = arguments_of(probe(key=argument), dispatched(arguments=call().arguments, labels={"team": "billing"}))
    assert found == {"key": argument if is_plain else value}


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("$ call.arguments.missing", "missing"),
        ("$ call.arguments.charge + 1", ""),
        ("$ 1 / 0", ""),
        ("$ unknown.id", "unknown"),
        ("$ timestamp('2026-01-02T00:00:00Z')", "gives a datetime, which JSON does not know"),
        ("$ b'abc'", "gives a bytes, which JSON does not know"),
        ("$ [b'abc']", "gives a list, which JSON does not know"),
        ("$ {'a': duration('1s')}", "gives a dict, which JSON does not know"),
        ("$ {1: 'a'}", "gives a dict, which JSON does not know"),
        ("$ 0.0 / 0.0", "gives a float, which JSON does not know"),
        ("$ [1.0 / 0.0]", "gives a list, which JSON does not know"),
        ("$ 9007199254740992", "gives a int, which JSON does not know"),
        ("$ -9007199254740992", "gives a int, which JSON does not know"),
        ("$ 'a\\u0000b'", "gives a str, which JSON does not know"),
        ("$ call.", ""),
    ],
)
def test_an_expression_without_a_value_asks_nothing(expression: str, why: str) -> None:
    """The expression and the reason are told; nobody guesses an argument."""
    with pytest.raises(Inexpressible) as caught:
        arguments_of(probe(key=expression), call())
    assert str(caught.value).startswith(expression)
    assert why in str(caught.value)
    assert len(str(caught.value)) <= 500


@pytest.mark.parametrize(
    ("happened", "output", "verdict"),
    [
        ("output.count > 0", {"count": 1}, "happened"),
        ("output.count > 0", {"count": 0}, "not_happened"),
        ("$ output.count > 0", {"count": 1}, "happened"),
        ("output.items.exists(one, one.key == call.id && one.state == 'done')", NESTED, "happened"),
        ("output.items.exists(one, one.key == call.arguments.charge)", NESTED, "not_happened"),
        ("output.status_code == 200 && size(output.items) == 2", NESTED, "happened"),
        ("has(output.items)", {}, "not_happened"),
        ("output == null", None, "happened"),
        ("output.count", {"count": 1}, "unclear"),
        ("output.missing > 0", {"count": 1}, "unclear"),
        ("output.count > 0", {"count": "many"}, "unclear"),
        ("output.count > 0", None, "unclear"),
        ("b'abc'", None, "unclear"),
        ("'true'", None, "unclear"),
    ],
)
def test_an_answer_is_true_or_false_or_says_nothing(happened: str, output: Json, verdict: str) -> None:
    """What is neither, or cannot be evaluated, is left to a person."""
    assert verdict_on(probe(happened), call(), output)[0] == verdict


@pytest.mark.parametrize(
    ("happened", "note"),
    [
        ("output > 0", "output > 0 is true"),
        ("output > 1", "output > 1 is false"),
        ("output", "output is neither true nor false"),
        ("output.a", "output.a: "),
    ],
)
def test_a_verdict_comes_with_a_note_for_people(happened: str, note: str) -> None:
    """The expression, and what it came to."""
    assert verdict_on(probe(happened), call(), 1)[1].startswith(note)


def test_a_probe_that_can_be_asked_has_no_faults() -> None:
    """With and without expressions."""
    assert faults_of(probe("output.count > 0", key="$ call.id", plain="call.", n=[1, "$ call.attempt"])) == ()
    check_definition(define().model_copy(update={"probe": probe("output.count > 0")}))


@pytest.mark.parametrize(
    ("found", "path"),
    [
        (probe("output."), "/probe/happened"),
        (probe("$ output."), "/probe/happened"),
        (probe(key="$ call."), "/probe/arguments/key"),
        (probe(key={"a/b": ["x", "$ ("]}), "/probe/arguments/key/a~1b/1"),
        (probe("t" * (MAX_CHARS + 1)), "/probe/happened"),
        (probe(key="$ " + "t" * MAX_CHARS), "/probe/arguments/key"),
    ],
)
def test_a_fault_is_told_with_its_place(found: Probe, path: str) -> None:
    """When the tool is defined, and not when a doubt waits for it."""
    (fault,) = faults_of(found)
    assert fault.path == path
    assert 0 < len(fault.message) <= 500
    assert "\n" not in fault.message
    with pytest.raises(Refused) as caught:
        check_definition(define().model_copy(update={"probe": found}))
    assert (caught.value.code, caught.value.faults) == ("invalid_definition", (fault,))


def test_every_fault_is_told() -> None:
    """Whoever mends them sees all at once, in their order."""
    faults = faults_of(probe("(", a="$ (", b="$ call.id", c="$ ["))
    assert [fault.path for fault in faults] == ["/probe/happened", "/probe/arguments/a", "/probe/arguments/c"]


def test_an_expression_may_be_so_long() -> None:
    """Up to the bound."""
    longest = "true" + " " * (MAX_CHARS - 4)
    assert faults_of(probe(longest)) == ()
    (fault,) = faults_of(probe(longest + " "))
    assert fault.message == f"an expression has at most {MAX_CHARS} characters"


@pytest.mark.parametrize(
    "loop",
    ["all(a, true)", "exists(a, true)", "exists_one(a, true)", "filter(a, true)", "map(a, a)", " exists (a, true)"],
)
def test_an_expression_may_have_so_many_loops(loop: str) -> None:
    """Loops in loops multiply: a short expression over a large output must not take minutes."""
    one = f"size([output].{loop}) > 0 && " if "map" in loop or "filter" in loop else f"[output].{loop} && "
    assert faults_of(probe(one * MAX_LOOPS + "true")) == ()
    (fault,) = faults_of(probe(one * (MAX_LOOPS + 1) + "true"))
    assert fault.message == f"an expression has at most {MAX_LOOPS} loops"


def test_a_name_like_a_loop_is_none() -> None:
    """Fields may be called as they like."""
    assert faults_of(probe("output.all == 1 || output.map == 2 || output.filter == 3 || output.exists == 4")) == ()
