"""From what an MCP server wants to know to a form."""

from typing import Any

import pytest

from toolbus_contracts.calls import MAX_FORM_BYTES, MAX_STATE_BYTES, InputAsked, Question, responses_to
from toolbus_contracts.errors import Refused
from toolbus_contracts.executing.outcomes import MAX_DETAILS
from toolbus_contracts.tools import Terms
from toolbus_integrations.core.mcp_answers import judge_result
from toolbus_integrations.core.mcp_questions import MAX_NAME_CHARS, asked_by

TEXT = {"type": "string"}


def form(message: str = "Which?", required: Any = None, /, **properties: Any) -> dict[str, Any]:
    """A question with these properties."""
    schema = {"type": "object", "properties": properties}
    if required is not None:
        schema["required"] = required
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def url(address: str, message: str = "Sign in") -> dict[str, Any]:
    """A question that sends a person somewhere."""
    return {"method": "elicitation/create", "params": {"mode": "url", "message": message, "url": address}}


def asked(state: str | None = None, /, **requests: Any) -> InputAsked:
    """What a server wants."""
    result: dict[str, Any] = {"resultType": "input_required", "inputRequests": requests}
    return asked_by({**result, "requestState": state} if state is not None else result)


def refusal(state: str | None = None, /, **requests: Any) -> Refused:
    """Why it is asked of nobody."""
    with pytest.raises(Refused) as found:
        asked(state, **requests)
    return found.value


def test_the_properties_of_a_question_are_the_fields() -> None:
    """With its message, and what of it must be given; the state of the server is kept as it is."""
    found = asked("s/1 ü", where=form("Which city?", ["city", "gone"], city=TEXT, floor={"type": "integer"}))
    assert found.form is not None
    assert (found.form.fields, found.form.required) == ({"city": TEXT, "floor": {"type": "integer"}}, ("city",))
    assert (found.form.message, found.request_state) == ("Which city?", "s/1 ü")
    assert found.questions == (Question(name="where", properties={"city": "city", "floor": "floor"}),)
    told = {"where": {"action": "accept", "content": {"city": "Rome"}}}
    assert responses_to(found, {"city": "Rome"}) == told


def test_two_questions_make_one_form() -> None:
    """Names that both have stand behind that of their question; the answers find their way back."""
    apart = asked(a=form("A?", x=TEXT), b=form("B?", y=TEXT))
    assert apart.form is not None
    assert (list(apart.form.fields), apart.form.message) == (["x", "y"], "A?\n\nB?")
    shared = asked(a=form("", ["x"], x=TEXT), b=form("", x=TEXT))
    assert shared.form is not None
    assert (list(shared.form.fields), shared.form.required, shared.form.message) == (["a.x", "b.x"], ("a.x",), "")
    assert responses_to(shared, {"a.x": 1, "b.x": 2}) == {
        "a": {"action": "accept", "content": {"x": 1}},
        "b": {"action": "accept", "content": {"x": 2}},
    }


def test_what_has_no_properties_is_answered_with_yes_or_no() -> None:
    """And so is a url, which a person opens; the page that it leads to is no business of ours."""
    found = asked(go=form("Really?"), sign=url("https://id.example/x"))
    assert found.form is not None
    assert found.form.required == ("go", "sign")
    assert [schema["type"] for schema in found.form.fields.values()] == ["boolean", "boolean"]
    assert found.form.message == "Really?\n\nSign in\nhttps://id.example/x"
    assert responses_to(found, {"go": True, "sign": False}) == {
        "go": {"action": "accept", "content": {}},
        "sign": {"action": "decline"},
    }


def test_a_server_may_want_the_same_call_again() -> None:
    """Then nobody is asked."""
    assert asked("s1") == InputAsked(request_state="s1")


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"method": "sampling/createMessage", "params": {"messages": []}}, "sampling/createMessage"),
        ({"method": "roots/list"}, "roots/list"),
        (url("javascript:alert(1)"), "its url is none of the web"),
        (url("https://x.example/\x1b[2J"), "its url is none of the web"),
        (1, "unnamed"),
    ],
)
def test_what_is_for_no_person_is_refused_by_its_name(request_: Any, told: str) -> None:
    """The whole call, with the names of what cannot be answered."""
    found = refusal(fine=form(x=TEXT), other=request_)
    assert found.code == "input_required"
    assert [tuple(fault) for fault in found.faults] == [("/other", told)]
    outcome = judge_result({"resultType": "input_required", "inputRequests": {"other": request_}}, Terms())
    assert outcome.error is not None
    assert (outcome.result, outcome.error.code, outcome.error.effect_happened) == ("failed", "input_required", "no")
    assert [(detail.path, detail.message) for detail in outcome.error.details] == [("/other", told)]


def test_an_odd_schema_is_taken_for_none() -> None:
    """The question is answered with yes or no, and not with values of which nobody knows anything."""
    odd = {"method": "elicitation/create", "params": {"message": 7, "requestedSchema": [1]}}
    found = asked(q=odd)
    assert (found.questions[0].consent, found.form and found.form.message) == ("q", "7")
    none = {"method": "elicitation/create", "params": {"requestedSchema": {"properties": 1, "required": 2}}}
    assert asked(q=none).questions[0].consent == "q"


def test_what_is_too_large_is_refused() -> None:
    """The state, the form, and their number; a long message is cut."""
    assert asked("s" * MAX_STATE_BYTES).request_state
    assert refusal("ü" * MAX_STATE_BYTES).code == "response_too_large"
    assert refusal(q=form(x={"title": "x" * MAX_FORM_BYTES})).code == "response_too_large"
    assert refusal(q=form(**{f"x{number}": TEXT for number in range(51)})).code == "input_required"
    cut = asked(q=form("m" * 5000, x=TEXT)).form
    assert cut is not None
    assert (len(cut.message), cut.message[-1]) == (4096, "…")


def test_a_name_without_end_is_refused() -> None:
    """It would go with the call from here on, into every message about it."""
    longest = "n" * MAX_NAME_CHARS
    assert asked(**{longest: form(x=TEXT)}).questions[0].name == longest
    found = refusal(**{longest + "n": form(x=TEXT)})
    assert (found.code, len(found.message) < 200) == ("response_too_large", True)


@pytest.mark.parametrize("questions", [{}, {"q": form(x=TEXT)}])
def test_what_is_too_large_when_it_is_escaped_is_refused(questions: dict[str, Any]) -> None:
    """The state alone, or with a form: a control character is one byte, and six on its way."""
    assert refusal("\x01" * MAX_STATE_BYTES, **questions).code == "response_too_large"


@pytest.mark.parametrize(
    "requests",
    [
        {f"r{number}": {"method": "roots/list"} for number in range(30_000)},
        {"r" * 2_000_000: {"method": "roots/list"}},
        {"r" * 2_000_000: form(x=TEXT)},
    ],
)
def test_a_refusal_fits_into_a_message_however_much_is_wanted(requests: dict[str, Any]) -> None:
    """As many faults are told as of any other refusal, and of a path as much as of any other."""
    outcome = judge_result({"resultType": "input_required", "inputRequests": requests}, Terms())
    assert outcome.error is not None
    assert len(outcome.error.details) <= MAX_DETAILS
    assert len(outcome.error.model_dump_json()) < 64 * 1024


def test_what_must_be_given_is_named_once() -> None:
    """However often the server says it; and what is no name is none."""
    found = asked(q=form("", [*["x"] * 100_000, {}, 7, "gone"], y=TEXT, x=TEXT)).form
    assert found is not None
    assert found.required == ("x",)


def test_names_that_cannot_be_told_apart_are_refused() -> None:
    """An answer must not go to the wrong question."""
    found = refusal(**{"a": form(**{"b.x": TEXT}), "a.b": form(x=TEXT), "c": form(x=TEXT)})
    assert (found.code, "both called a.b.x" in found.message) == ("input_required", True)
    name = "x" * 2_000_000
    found = refusal(**{"a": form(**{f"b.{name}": TEXT}), "a.b": form(**{name: TEXT}), "c": form(**{name: TEXT})})
    assert (found.code, len(found.message) < 500) == ("input_required", True)


@pytest.mark.parametrize("value", ["\x00", "\ud800", 2**60])
def test_what_is_no_strict_json_is_asked_of_nobody(value: Any) -> None:
    """It could not be kept as it is."""
    assert "cannot be kept" in refusal(q=form(x={"default": value})).message


def test_a_server_that_does_not_say_what_it_wants_is_refused() -> None:
    """There is nothing to answer."""
    assert "does not say what" in refusal().message
