"""Each rule, shown failing on a made-up bad history, and keeping silent on a good one."""

import pytest

from tests.chaos.evidence import Request, Span
from tests.chaos.made_up import T0, Log, asked, broken
from toolbus_contracts.values import Json

LOST = {"code": "connection_lost", "effect_happened": "unknown"}
NOT_SENT = {"code": "connection_failed", "effect_happened": "no"}
BAD_GATEWAY = {"code": "http_status", "effect_happened": "no", "response": {"status_code": 502}}
SERVER_ERROR = {"code": "http_status", "effect_happened": "no", "response": {"status_code": 500}}


def test_a_good_history_breaks_nothing() -> None:
    """One start, one request, one end."""
    assert broken(Log().begun().started().add("c1", "succeeded", attempt=1), asked(3.5)) == set()


def test_a_call_that_was_accepted_and_is_not_in_the_log_is_lost() -> None:
    """Accepted means kept."""
    assert broken(Log()) == {"lost"}


@pytest.mark.parametrize("verbs", [(), ("attempt_failed",)], ids=["dispatched", "retrying"])
def test_a_call_that_goes_nowhere_is_lost(verbs: tuple[str, ...]) -> None:
    """Neither an end nor a wait that a person can see."""
    log = Log().begun("look")
    for verb in verbs:
        log.add("c1", verb, attempt=1, error=NOT_SENT)
    assert broken(log, tool="look") == {"lost"}


def test_a_call_that_nobody_was_told_of_must_end_too() -> None:
    """The answer may have been lost on the way; the call is in the store all the same."""
    log = Log().begun().started().add("c1", "succeeded", attempt=1).begun("look", "c2", "n2")
    assert broken(log, asked(3.5)) == {"orphan"}


def test_what_the_product_counts_as_orphans_is_told() -> None:
    """Its own count must be 0, too."""
    log = Log().begun().started().add("c1", "succeeded", attempt=1)
    assert broken(log, asked(3.5), orphans=2) == {"orphan"}


def test_two_ends_are_one_too_many() -> None:
    """The store admits one terminal event."""
    log = Log().begun().started().add("c1", "succeeded", attempt=1).add("c1", "failed", attempt=1, error=LOST)
    assert broken(log, asked(3.5)) == {"ended_twice"}


def test_one_wish_is_one_call() -> None:
    """A retried submission with the same key makes no second call."""
    log = Log().begun().started().add("c1", "succeeded", attempt=1)
    log.begun("look", "c2", "n1").add("c2", "failed", attempt=1, error=NOT_SENT)
    assert broken(log, asked(3.5)) == {"made_twice"}


def test_two_requests_of_one_start_are_a_doubled_effect() -> None:
    """The one thing that must never happen, in doubt or not."""
    log = Log().begun().started().add("c1", "in_doubt", attempt=1)
    assert broken(log, asked(3.5, mood="hang"), asked(5.0)) == {"doubled"}


def test_a_request_of_a_call_that_was_never_started_is_a_doubled_effect() -> None:
    """Nothing may leave before the start is on disk."""
    assert broken(Log().begun().add("c1", "cancelled"), asked(1.0)) == {"doubled"}


def test_an_attempt_that_says_nothing_was_sent_must_not_have_reached_the_target() -> None:
    """Otherwise the next attempt is a second effect."""
    log = Log().begun().started().add("c1", "attempt_failed", attempt=1, error=NOT_SENT)
    log.add("c1", "dispatched", attempt=2).started(2).add("c1", "succeeded", attempt=2)
    assert broken(log, asked(7.0)) == set()
    assert broken(log, asked(3.5), asked(7.0)) == {"doubled"}


def test_the_log_may_say_itself_that_an_effect_was_doubled() -> None:
    """Then it is one."""
    log = Log().begun().started().add("c1", "effect_doubled", attempt=1).add("c1", "succeeded", attempt=1)
    assert broken(log, asked(3.5)) == {"doubled"}


@pytest.mark.parametrize(
    ("error", "rules"), [(BAD_GATEWAY, set()), (SERVER_ERROR, {"unreasoned_attempt"}), (LOST, {"unreasoned_attempt"})]
)
def test_an_unsafe_call_is_tried_again_only_for_a_reason(error: dict[str, Json], rules: set[str]) -> None:
    """An answer of `retry_on`, or nothing sent; no other answer, and no silence."""
    log = Log().begun().started().add("c1", "attempt_failed", attempt=1, error=error)
    log.add("c1", "dispatched", attempt=2).started(2).add("c1", "succeeded", attempt=2)
    assert broken(log, asked(3.5, mood="error"), asked(7.0)) == rules


def test_an_attempt_that_was_answered_with_an_error_had_no_effect() -> None:
    """Otherwise the next one is the second."""
    log = Log().begun().started().add("c1", "attempt_failed", attempt=1, error=BAD_GATEWAY)
    log.add("c1", "dispatched", attempt=2).started(2).add("c1", "succeeded", attempt=2)
    assert broken(log, asked(3.5), asked(7.0)) == {"doubled"}


def test_an_attempt_out_of_nothing_has_no_reason() -> None:
    """Sending the work again is not another attempt."""
    log = Log().begun("look").add("c1", "dispatched", attempt=2).add("c1", "succeeded", attempt=2)
    assert broken(log, asked(3.5, call_id="", method="GET"), tool="look") == {"unreasoned_attempt"}


def test_a_doubt_that_was_settled_as_failed_had_its_request() -> None:
    """It was sent, and somebody found out that it had no effect; with an effect he was wrong."""
    log = Log().begun().started().add("c1", "in_doubt", attempt=1)
    log.add("c1", "doubt_settled", attempt=1, outcome="failed").add("c1", "failed", attempt=1, error=NOT_SENT)
    assert broken(log, asked(3.5, mood="cut_request")) == set()
    assert broken(log, asked(3.5, mood="hang")) == {"doubled"}


def test_a_doubt_that_a_probe_will_be_asked_about_does_not_stand_yet() -> None:
    """Nor does a call whose probe was never asked."""
    log = Log().begun().started().add("c1", "in_doubt", attempt=1, probe_at="2026-01-01T00:00:09Z")
    assert broken(log, asked(3.5, mood="hang")) == {"lost"}
    log.add("c1", "doubt_probed", attempt=1, verdict="unclear")
    assert broken(log, asked(3.5, mood="hang")) == set()


@pytest.mark.parametrize(
    ("verb", "said"), [("doubt_settled", {"outcome": "retry"}), ("doubt_probed", {"verdict": "not_happened"})]
)
def test_who_found_out_that_it_did_not_happen_may_have_it_tried_again(verb: str, said: dict[str, Json]) -> None:
    """A second request is allowed then, a second effect is not."""
    log = Log().begun().started().add("c1", "in_doubt", attempt=1).add("c1", verb, attempt=1, **said)
    log.add("c1", "dispatched", attempt=2).started(2).add("c1", "succeeded", attempt=2)
    assert broken(log, asked(3.5, mood="cut_request"), asked(8.0)) == set()
    assert broken(log, asked(3.5, mood="hang"), asked(8.0)) == {"doubled"}


def test_an_attempt_is_started_once() -> None:
    """Two starts of one attempt are two permissions."""
    log = Log().begun().started().started().add("c1", "succeeded", attempt=1)
    assert broken(log, asked(3.5)) == {"started_twice"}


def test_a_success_that_the_target_does_not_know_is_invented() -> None:
    """An executor's word is held against the journal."""
    log = Log().begun().started().add("c1", "succeeded", attempt=1)
    assert broken(log) == {"invented_success"}
    assert broken(log, asked(3.5, mood="cut_after")) == {"invented_success"}


def test_a_success_that_was_found_out_has_had_its_effect() -> None:
    """A probe, or a person, does not make up what happened."""
    log = Log().begun().started().add("c1", "in_doubt", attempt=1)
    log.add("c1", "doubt_probed", attempt=1, verdict="happened").add("c1", "succeeded", attempt=1)
    assert broken(log, asked(3.5, mood="hang")) == set()
    assert broken(log, asked(3.5, mood="cut_request")) == {"invented_success"}


def test_a_request_that_is_no_read_carries_the_call_it_belongs_to() -> None:
    """An Idempotency-Key that no call has protects nobody."""
    log = Log().begun().started().add("c1", "succeeded", attempt=1)
    assert broken(log, asked(3.5), asked(3.6, call_id="", method="PUT")) == {"unsigned", "doubled"}


def test_a_doubt_needs_a_start() -> None:
    """What was never permitted cannot have happened."""
    log = Log().begun().add("c1", "in_doubt", attempt=1)
    assert broken(log) == {"baseless_doubt"}


def test_a_doubt_does_not_follow_an_outcome() -> None:
    """What is known is not in doubt."""
    log = (
        Log().begun().started().add("c1", "attempt_failed", attempt=1, error=NOT_SENT).add("c1", "in_doubt", attempt=1)
    )
    assert "baseless_doubt" in broken(log)


@pytest.mark.parametrize(
    ("began", "ended", "rules"),
    [(1, 2, set()), (10, 11, set()), (-20, -10, {"causeless_doubt"}), (17, 18, {"causeless_doubt"})],
)
def test_a_doubt_needs_a_fault_at_its_time(began: float, ended: float, rules: set[str]) -> None:
    """Within the time of the attempt before or after its start, which was at 3 s and had 12 s."""
    log = Log().begun().started().add("c1", "in_doubt", attempt=1)
    span = Span("kill_api_caller", "api_caller", T0.timestamp() + began, T0.timestamp() + ended)
    assert broken(log, asked(3.5), faults=(span,)) == rules


def test_a_clock_that_was_off_moves_the_times_of_the_log() -> None:
    """What an hour ahead was written is held against the fault of an hour before."""
    log = Log().begun().started().add("c1", "in_doubt", attempt=1)
    hour_s = 3600.0
    began = T0.timestamp() - hour_s
    kill = Span("kill_api_caller", "api_caller", began + 4, began + 5)
    jump = Span("clock_jump", "dispatcher", began - 40, began - 30, hour_s)
    assert broken(log, asked(3.5), faults=(kill,)) == {"causeless_doubt"}
    assert broken(log, asked(3.5), faults=(kill, jump)) == set()


def test_the_target_itself_may_be_the_cause_of_a_doubt() -> None:
    """It hung, or cut a connection before it read whose it was."""
    log = Log().begun().started().add("c1", "in_doubt", attempt=1)
    nameless = Request("", "", "", T0.timestamp() + 4, "cut_before", 0, has_effect=False)
    assert broken(log, asked(3.5, mood="hang")) == set()
    assert broken(log, asked(3.5)) == {"causeless_doubt"}
    assert broken(log, asked(3.5), nameless) == set()


def test_a_chain_that_does_not_hold_is_told() -> None:
    """Whatever the verification of the store found."""
    log = Log().begun().started().add("c1", "succeeded", attempt=1)
    assert broken(log, asked(3.5), chain_fault="at position 3: version 2 is missing") == {"chain"}


def test_lists_that_tell_something_else_are_wrong() -> None:
    """A read table that stands still would hide a call that ended, or a doubt."""
    log = Log().begun().started().add("c1", "succeeded", attempt=1)
    assert broken(log, asked(3.5), shown={"c1": "succeeded"}) == set()
    assert broken(log, asked(3.5), shown={"c1": "running"}) == {"shown_wrongly"}
