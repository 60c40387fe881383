"""
The rules that a history must keep, whatever was broken. Pure: evidence in, violations out.

Each violation names the call and shows its events, so that it can be understood without the run.
"""

from collections.abc import Iterator

from tests.chaos.case import Case, Rule, Violation
from tests.chaos.evidence import Event, Evidence, Span
from tests.chaos.history import ENDS, History, answered, moment, says_nothing_was_sent, verb
from tests.chaos.standing_rules import STANDING_RULES
from toolbus_contracts.values import Json

BROKEN = frozenset({"hang", "slow", "cut_request", "cut_after", "cut_answer"})  # moods that may leave a doubt


def nothing_is_lost(case: Case) -> Iterator[Violation]:
    """An accepted call is in the store, and ended or waits visibly."""
    for one in case.accepted.values():
        history = case.history(one.call_id)
        if not history.stands:
            yield Violation("lost", one.call_id, f"{one.tool} {one.name} is {history.status}; {case.seen(history)}")


def nothing_is_orphaned(case: Case) -> Iterator[Violation]:
    """A call that nobody was told of, but is in the store, ended or waits visibly all the same."""
    for history in case.histories.values():
        if history.call_id not in case.accepted and not history.stands:
            yield Violation("orphan", history.call_id, f"it is {history.status}; {case.seen(history)}")


def the_product_counts_no_orphans(case: Case) -> Iterator[Violation]:
    """Its own count, as metric and doctor tell it, agrees."""
    if case.evidence.orphans:
        yield Violation("orphan", "metric", f"the product counts {case.evidence.orphans}")


def calls_end_once(case: Case) -> Iterator[Violation]:
    """At most one terminal event, and nothing but a remark after it."""
    for history in case.histories.values():
        ends = history.of(*ENDS)
        if len(ends) > 1:
            yield Violation("ended_twice", history.call_id, f"{len(ends)} terminal events; {case.seen(history)}")


def each_key_is_one_call(case: Case) -> Iterator[Violation]:
    """What was wanted once, and offered until it was accepted, is one call."""
    known: dict[str, str] = {}
    for history in case.histories.values():
        for event in history.of("requested"):
            key = event.data.get("idempotency_key")
            if isinstance(key, str) and known.setdefault(key, history.call_id) != history.call_id:
                yield Violation("made_twice", history.call_id, f"{key} is {known[key]} already; {case.seen(history)}")


def unsafe_effects_happen_once(case: Case) -> Iterator[Violation]:
    """
    A call that may not be repeated reaches the target once for each start, and not at all if nothing was sent.

    An attempt that was found not to have happened, before another one began, has no effect either.
    """
    for history in case.of_unsafe():
        requests = case.requests.get(history.call_id, [])
        effects = [request for request in requests if request.has_effect]
        started = {event.data["attempt"] for event in history.of("attempt_started")}
        unsent, without_effect = _told(history)
        for what, count, attempts in (
            ("requests", len(requests), started - unsent),
            ("effects", len(effects), started - without_effect),
        ):
            if count > len(attempts):
                told = f"{count} {what} where {len(attempts)} may be; {case.seen(history)}"
                yield Violation("doubled", history.call_id, told)
        for event in history.of("effect_doubled"):
            yield Violation("doubled", history.call_id, f"the log says so itself at {event}; {case.seen(history)}")


def _told(history: History) -> tuple[set[Json], set[Json]]:
    """The attempts of which is told that nothing was sent, and those of which is told that they had no effect."""
    found_out = history.of("doubt_probed", "doubt_settled")
    denied = {event.data["attempt"] for event in found_out if _verdict(event) in {"not_happened", "retry", "failed"}}
    # What follows from such a word is a failure too, but no executor's.
    failed = [event for event in history.of("attempt_failed", "failed") if event.data["attempt"] not in denied]
    unsent = {event.data["attempt"] for event in failed if says_nothing_was_sent(event)}
    refused = {event.data["attempt"] for event in failed if answered(event)}
    return unsent, unsent | refused | denied


def _verdict(event: Event) -> Json:
    return event.data.get("verdict") or event.data.get("outcome")


def attempts_follow_a_reason(case: Case) -> Iterator[Violation]:
    """A further attempt follows a failure that allows it, or somebody's word; an attempt is started once."""
    for history in case.histories.values():
        is_unsafe = any(event.data.get("tool") in case.evidence.unsafe_tools for event in history.of("requested"))
        for event in history.of("dispatched"):
            number = event.data["attempt"]
            if number == 1:
                continue
            reasons = [
                one
                for one in history.of("attempt_failed", "doubt_settled", "doubt_probed")
                if one.position < event.position and one.data["attempt"] == int(str(number)) - 1
            ]
            if not any(_allows_another(one, case.evidence, is_unsafe=is_unsafe) for one in reasons):
                yield Violation("unreasoned_attempt", history.call_id, f"attempt {number}; {case.seen(history)}")
        starts = [event.data["attempt"] for event in history.of("attempt_started")]
        if len(set(starts)) < len(starts):
            yield Violation("started_twice", history.call_id, case.seen(history))


def _allows_another(event: Event, evidence: Evidence, *, is_unsafe: bool) -> bool:
    match verb(event):
        case "attempt_failed":
            return not is_unsafe or says_nothing_was_sent(event) or answered(event) in evidence.retry_on
        case "doubt_settled":
            return event.data.get("outcome") == "retry"
        case _:
            return event.data.get("verdict") == "not_happened"


def successes_are_real(case: Case) -> Iterator[Violation]:
    """
    What succeeded was answered with 2xx; by the word of a probe or of a person its effect happened at least.

    Of functions, which no executor does, another rule tells.
    """
    for history in case.histories.values():
        if history.tool in case.evidence.functions:
            continue
        is_read = not any(event.data.get("tool") in case.evidence.writing_tools for event in history.of("requested"))
        if not history.of("succeeded") or (is_read and history.call_id not in case.accepted):
            continue
        requests = case.requests.get(history.call_id, ())
        is_found_out = bool(history.of("doubt_settled", "doubt_probed"))
        if not any(request.has_effect if is_found_out else request.status // 100 == 2 for request in requests):
            yield Violation("invented_success", history.call_id, case.seen(history))


def requests_are_signed(case: Case) -> Iterator[Violation]:
    """Every request but a read carries the id of a call that was started as its Idempotency-Key."""
    for request in case.evidence.requests:
        if request.name and request.method != "GET" and request.call_id not in case.histories:
            yield Violation("unsigned", request.call_id or "no key", f"{request} belongs to no call of the log")


def doubts_have_a_cause(case: Case) -> Iterator[Violation]:
    """A doubt follows a recorded start without outcome, and something was broken at that time."""
    for history in case.histories.values():
        for doubt in history.of("in_doubt"):
            starts = [
                event
                for event in history.of("attempt_started")
                if event.position < doubt.position and event.data["attempt"] == doubt.data["attempt"]
            ]
            between = [
                event
                for event in history.of("attempt_failed", *ENDS)
                if event.position < doubt.position and event.data.get("attempt") == doubt.data["attempt"]
            ]
            if not starts or between:
                yield Violation(
                    "baseless_doubt", history.call_id, f"no open start before {doubt}; {case.seen(history)}"
                )
            elif not _was_broken(case, history, starts[0]):
                yield Violation("causeless_doubt", history.call_id, f"nothing was broken; {case.seen(history)}")


def _was_broken(case: Case, history: History, start: Event) -> bool:
    """
    Whether a fault, widened by the time of the attempt, covers its start, or the target treated it badly.

    Of a start two clocks tell the time: that of the dispatcher which decided it, and that of the store. Each may
    have been off by what a fault did to it.
    """
    decided, stop_by = moment(start.data["at"]), moment(start.data["stop_by"])
    width_s = (stop_by - decided).total_seconds()
    skews = {0.0, *(span.skew_s for span in case.evidence.faults)}
    times = [told.timestamp() - skew_s for told in (decided, start.at) for skew_s in skews]
    if any(_covers(span, at, width_s) for span in case.evidence.faults for at in times):
        return True
    requests = case.requests.get(history.call_id, ())
    nameless = [one for one in case.requests.get("", ()) if any(0 <= one.at - at <= width_s for at in times)]
    return any(request.mood in BROKEN for request in requests) or bool(nameless)


def _covers(span: Span, at: float, width_s: float) -> bool:
    return span.began - width_s <= at <= span.ended + width_s


def chains_hold(case: Case) -> Iterator[Violation]:
    """Positions are gapless and every hash follows from the one before."""
    if case.evidence.chain_fault is not None:
        yield Violation("chain", "log", case.evidence.chain_fault)


def lists_tell_the_truth(case: Case) -> Iterator[Violation]:
    """What the product shows of a call is what its events say."""
    for one in case.accepted.values():
        shown, status = case.evidence.shown.get(one.call_id, "nothing"), case.history(one.call_id).status
        if case.evidence.shown and shown != status:
            yield Violation("shown_wrongly", one.call_id, f"{shown} is shown where it is {status}")


RULES: tuple[Rule, ...] = (
    nothing_is_lost,
    nothing_is_orphaned,
    the_product_counts_no_orphans,
    calls_end_once,
    each_key_is_one_call,
    unsafe_effects_happen_once,
    attempts_follow_a_reason,
    successes_are_real,
    requests_are_signed,
    doubts_have_a_cause,
    chains_hold,
    lists_tell_the_truth,
    *STANDING_RULES,
)


def check(evidence: Evidence) -> list[Violation]:
    """Every violation of every rule."""
    case = Case(evidence)
    return [violation for rule in RULES for violation in rule(case)]
