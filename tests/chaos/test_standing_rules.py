"""Each rule of standing calls, shown failing on a made-up bad history, and keeping silent on a good one."""

import pytest

from tests.chaos.evidence import Word
from tests.chaos.made_up import Log, asked, broken
from toolbus_contracts.values import Json

BO, CY = "user:bo", "user:cy"


def guarded() -> Log:
    """A call that waits for an approval of `d1`."""
    log = Log().requested("guard").add("c1", "wait_asked", wait_id="w1", wait_kind="approval")
    return log.said("opened", wait_kind="approval", digest="d1", arguments={"name": "n1"})


def approved(log: Log, digest: str = "d1", *subjects: str) -> Log:
    """It was agreed to, the call went on, and succeeded."""
    for subject in subjects or (BO,):
        log.said("decision_recorded", decision="approve", subject=subject, digest=digest)
    log.said("closed", outcome="approved", digest=digest)
    log.add("c1", "resumed", wait_id="w1", digest=digest)
    return log.add("c1", "dispatched", attempt=1).started().add("c1", "succeeded", attempt=1)


def working() -> Log:
    """A function that waits for its client."""
    log = Log().requested("work").add("c1", "wait_asked", wait_id="w1", wait_kind="function")
    return log.said("opened", wait_kind="function", digest="d1", arguments={"name": "n1"})


def word(what: str, subject: str = BO, value: Json = None, *, status: int = 200, code: str = "") -> Word:
    """What somebody said of the wait."""
    return Word("c1", "w1", what, subject, "d1", value, status, code)


def test_a_call_that_was_approved_breaks_nothing() -> None:
    """Asked, agreed to, done; the word was answered."""
    assert broken(approved(guarded()), asked(9), words=(word("approve"),)) == set()


def test_a_call_that_waits_breaks_nothing() -> None:
    """As long as its wait is open, and shown."""
    assert broken(guarded(), open_shown=frozenset({"w1"})) == set()


def test_nothing_is_released_without_a_word() -> None:
    """Neither without a wait, nor after one that was closed as approved with nobody's yes."""
    log = Log().begun("guard").started().add("c1", "succeeded", attempt=1)
    assert broken(log, asked(4)) == {"released", "unapproved"}
    log = guarded().said("closed", outcome="approved", digest="d1").add("c1", "resumed", wait_id="w1")
    log.add("c1", "dispatched", attempt=1).started().add("c1", "succeeded", attempt=1)
    assert broken(log, asked(9)) == {"released", "unapproved"}


def test_what_arrives_is_what_was_agreed_to() -> None:
    """Another argument makes another effect."""
    assert broken(approved(guarded()), asked(9, amount=7)) == {"unapproved"}


def test_who_edits_needs_another_one() -> None:
    """The editor's own yes is not enough; what arrives is what was made of it."""
    edited = {"name": "n1", "amount": 7}
    alone = guarded().said("edited", subject=BO, digest="d2", arguments=edited)
    assert broken(approved(alone, "d2", BO), asked(9, amount=7)) == {"released", "unapproved"}
    both = guarded().said("edited", subject=BO, digest="d2", arguments=edited)
    assert broken(approved(both, "d2", BO, CY), asked(9, amount=7)) == set()
    both = guarded().said("edited", subject=BO, digest="d2", arguments=edited)
    assert broken(approved(both, "d2", BO, CY), asked(9)) == {"unapproved"}


def test_what_a_person_supplied_arrives() -> None:
    """An input wait that was answered releases its call with the values."""
    log = Log().requested("fill").add("c1", "wait_asked", wait_id="w1", wait_kind="input")
    log.said("opened", wait_kind="input", digest="d1", arguments={"name": "n1"})
    log.said("closed", outcome="answered", digest="d2", arguments={"name": "n1", "reason": "r"})
    log.add("c1", "resumed", wait_id="w1").add("c1", "dispatched", attempt=1).started()
    log.add("c1", "succeeded", attempt=1)
    filled = word("fill", CY, {"name": "n1", "reason": "r"})
    assert broken(log, asked(9, reason="r"), tool="fill", words=(filled,)) == set()
    assert broken(log, asked(9), tool="fill") == {"unapproved"}
    assert broken(log, asked(9, reason="r"), tool="fill", words=(word("fill", CY, {}),)) == {"lost_word"}


@pytest.mark.parametrize("what", ["deny", "edit", "complete", "fill"])
def test_a_word_that_was_answered_is_on_the_record(what: str) -> None:
    """2xx means kept."""
    assert broken(approved(guarded()), asked(9), words=(word(what, value={"output": 1}),)) >= {"lost_word"}
    assert broken(approved(guarded()), asked(9), words=(word("approve", CY),)) == {"lost_word"}


def test_the_end_of_a_wait_is_followed() -> None:
    """A denied call has no effect, an approved one does not go on waiting."""
    log = guarded().said("decision_recorded", decision="deny", subject=BO, digest="d1")
    log.said("closed", outcome="denied", digest="d1")
    assert broken(log, words=(word("deny"),)) == {"not_followed", "without_wait"}
    assert broken(log.add("c1", "denied"), words=(word("deny"),)) == set()


def test_a_word_that_was_refused_does_not_count() -> None:
    """Who hears that it was too late has changed nothing."""
    late = word("approve", status=409, code="wait_closed")
    assert broken(approved(guarded()), asked(9), words=(late,)) == {"refused_word"}
    assert broken(approved(guarded(), "d1", CY), asked(9), words=(late,)) == set()


def test_a_wait_is_closed_once_and_a_word_recorded_once() -> None:
    """Whatever was said again."""
    log = approved(guarded()).said("closed", outcome="approved", digest="d1")
    assert broken(log, asked(9)) == {"closed_twice"}
    assert broken(approved(guarded(), "d1", BO, BO), asked(9)) == {"applied_twice"}
    assert broken(approved(guarded()).add("c1", "resumed", wait_id="w1"), asked(9)) == {"applied_twice"}


def test_no_call_waits_without_a_wait_and_no_wait_without_its_call() -> None:
    """Both, when nothing happens any more."""
    asked_for = Log().requested("guard").add("c1", "wait_asked", wait_id="w1", wait_kind="approval")
    assert broken(asked_for) == {"without_wait"}
    assert broken(guarded().add("c1", "cancelled")) == {"stale_wait"}


def test_an_older_doubt_is_not_the_present_one() -> None:
    """What stands open of an attempt that was tried again misleads whoever settles it."""
    log = Log().begun().started().add("c1", "in_doubt", attempt=1)
    log.said("opened", "w9", wait_kind="doubt", attempt=1)
    log.add("c1", "doubt_settled", attempt=1, outcome="retry").add("c1", "dispatched", attempt=2)
    log.started(2).add("c1", "in_doubt", attempt=2)
    assert "stale_wait" in broken(log, asked(4, mood="cut_request"), asked(9, mood="hang"))


def test_a_function_has_the_outcome_of_one_answer() -> None:
    """That of somebody who gave it, and what the wait was closed with."""
    log = working().said("closed", outcome="completed", output=1).add("c1", "succeeded", attempt=0, output=1)
    other = word("complete", value={"output": 2}, status=409, code="answer_taken")
    assert broken(log, tool="work", words=(word("complete", value={"output": 1}), other)) == set()
    assert broken(log, tool="work", words=(other,)) == {"invented_answer"}
    assert broken(log, tool="work", words=(word("complete", value={"output": 2}),)) == {"invented_answer", "lost_word"}
    failed = working().said("closed", outcome="failed", error={"code": "x", "message": "y"})
    failed.add("c1", "failed", attempt=0, error={"code": "x", "message": "y"})
    assert (
        broken(failed, tool="work", words=(word("complete", value={"error": {"code": "x", "message": "y"}}),)) == set()
    )


def test_everybody_is_heard_in_the_end() -> None:
    """A word without an answer, when nothing is broken any more."""
    assert broken(guarded(), unheard=("user:bo: /v1/waits/w1/approve",)) == {"unheard"}


def test_the_list_of_open_waits_tells_the_truth() -> None:
    """None is missing, none is shown that is over."""
    assert broken(guarded(), open_shown=frozenset()) == {"shown_wrongly"}
    assert broken(approved(guarded()), asked(9), open_shown=frozenset({"w1"})) == {"shown_wrongly"}
