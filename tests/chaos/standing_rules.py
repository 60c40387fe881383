"""The rules of calls that stand still for somebody: nothing happens without a word, and no word is lost or doubled."""

from collections import Counter
from collections.abc import Iterator

from tests.chaos.case import Case, Rule, Violation
from tests.chaos.evidence import Event, Word
from tests.chaos.history import ENDS, History, error_of
from tests.chaos.standing import WaitHistory, loose_ends
from toolbus_contracts.values import Json

OK = range(200, 300)
OUTCOMES = {"approval": "approved", "input": "answered"}
ENDED_BY = {"denied": {"denied"}, "expired": {"denied", "expired"}, "completed": {"succeeded"}, "failed": {"failed"}}


def nothing_happens_without_a_word(case: Case) -> Iterator[Violation]:
    """A call that needs an approval or a value is released, and has an effect, only after it was given."""
    for history, kind in _standing(case):
        waits = [wait for wait in case.waits_of(history.call_id, kind) if wait.outcome == OUTCOMES[kind]]
        given = [wait for wait in waits if _is_given(wait)]
        for event in history.of("dispatched", "attempt_started"):
            if not any(wait.closed and wait.closed.position < event.position for wait in given):
                told = f"{event} has no word before it; {_seen(case, history)}"
                yield Violation("released", history.call_id, told)
        agreed = [wait.arguments(wait.closed.data["digest"]) for wait in given if wait.closed]
        for request in case.requests.get(history.call_id, ()):
            if request.said is not None and dict(request.said) not in agreed:
                told = f"{dict(request.said)} arrived where {agreed} was agreed to; {_seen(case, history)}"
                yield Violation("unapproved", history.call_id, told)


def _standing(case: Case) -> Iterator[tuple[History, str]]:
    for history in case.histories.values():
        if history.tool in case.evidence.guarded_tools:
            yield history, "approval"
        elif history.tool in case.evidence.filled_tools:
            yield history, "input"


def _is_given(wait: WaitHistory) -> bool:
    """Whether it was closed by those who may: of an edit, by somebody besides the one who made it."""
    if wait.kind != "approval" or wait.closed is None:
        return True
    digest = wait.closed.data["digest"]
    before = [event for event in wait.events if event.position < wait.closed.position]
    earlier = WaitHistory(wait.wait_id, wait.call_id, before)
    return bool(earlier.deciders("approve", digest) - earlier.editors(digest))


def no_word_is_lost(case: Case) -> Iterator[Violation]:
    """What was answered with 2xx is on the record, and the call goes the way it was sent."""
    for word in case.evidence.words:
        wait = _wait_of(case, word)
        history = case.history(word.call_id)
        if word.status not in OK:
            continue
        if wait is None or not _is_recorded(word, wait):
            yield Violation("lost_word", word.call_id, f"{word}; {_seen(case, history)}")
    for wait in case.waits.values():
        history = case.history(wait.call_id)
        if wait.closed is not None and not _is_followed(wait, history):
            yield Violation("not_followed", wait.call_id, f"{wait.outcome} changed nothing; {_seen(case, history)}")


def _wait_of(case: Case, word: Word) -> WaitHistory | None:
    if word.wait_id:
        return case.waits.get(word.wait_id)
    return next(iter(case.waits_of(word.call_id, "function")), None)


def _is_recorded(word: Word, wait: WaitHistory) -> bool:
    match word.what:
        case "approve":
            return word.subject in wait.deciders("approve", word.digest)
        case "deny":
            return word.subject in wait.deciders("deny", word.digest) and wait.outcome == "denied"
        case "edit":
            return word.subject in wait.editors(word.digest) and wait.arguments(word.digest) == word.value
        case "fill":
            return wait.closed is not None and wait.closed.data.get("arguments") == word.value
        case "complete":
            return wait.closed is not None and _came_to(wait.closed) == word.value
        case other:
            raise AssertionError(f"nobody says {other}")


def _came_to(event: Event) -> Json:
    """What a function came to, as its client would say it."""
    error = error_of(event)
    return (
        {"error": {"message": error["message"], "code": error["code"]}}
        if error
        else {"output": event.data.get("output")}
    )


def _is_followed(wait: WaitHistory, history: History) -> bool:
    """Whether the call did what the wait's end means."""
    resumed = [event for event in history.of("resumed") if event.data.get("wait_id") == wait.wait_id]
    ended = history.status in ENDS
    match wait.outcome:
        case "withdrawn":
            return True
        case "approved" | "answered":
            return bool(resumed) or ended
        case outcome:
            return not resumed and (history.status in ENDED_BY[outcome] or history.status == "cancelled")


def no_word_that_was_refused_counts(case: Case) -> Iterator[Violation]:
    """Who hears that the wait is over, or that another answer was taken, has changed nothing."""
    for word in case.evidence.words:
        wait = _wait_of(case, word)
        if word.status in OK or wait is None or word.code not in {"wait_closed", "answer_taken"}:
            continue
        if _is_recorded(word, wait):
            yield Violation("refused_word", word.call_id, f"{word}; {_seen(case, case.history(word.call_id))}")


def waits_close_once(case: Case) -> Iterator[Violation]:
    """A wait is opened and closed once, each word is recorded once, and its call goes on once."""
    for wait in case.waits.values():
        told = _seen(case, case.history(wait.call_id))
        for verb in ("opened", "closed"):
            if len(wait.of(verb)) > 1:
                yield Violation(f"{verb}_twice", wait.call_id, told)
        words = Counter(
            (str(event.data["subject"]), str(event.data["decision"]), str(event.data["digest"]))
            for event in wait.of("decision_recorded")
        )
        edits = Counter((str(event.data["subject"]), str(event.data["digest"])) for event in wait.of("edited"))
        goings = Counter(str(event.data["wait_id"]) for event in case.history(wait.call_id).of("resumed"))
        if any(count > 1 for count in (*words.values(), *edits.values(), *goings.values())):
            yield Violation("applied_twice", wait.call_id, told)


def waits_and_calls_agree(case: Case) -> Iterator[Violation]:
    """No call stands still without its open wait, and none is open that nobody needs."""
    for rule, call_id, what in loose_ends(case.histories, case.waits):
        yield Violation(rule, call_id, f"{what}; {_seen(case, case.history(call_id))}")


def functions_have_one_outcome(case: Case) -> Iterator[Violation]:
    """What a client's function came to is one answer that some client gave."""
    offered: dict[str, list[Json]] = {}
    for word in case.evidence.words:
        if word.what == "complete":
            offered.setdefault(word.call_id, []).append(word.value)
    for history in case.histories.values():
        if history.tool not in case.evidence.functions:
            continue
        for event in history.of("succeeded", "failed"):
            found = _came_to(event)
            closed = [wait.closed for wait in case.waits_of(history.call_id, "function") if wait.closed]
            if found not in offered.get(history.call_id, []) or found not in [_came_to(one) for one in closed]:
                told = f"{found} of {offered.get(history.call_id)}; {_seen(case, history)}"
                yield Violation("invented_answer", history.call_id, told)


def everybody_is_heard(case: Case) -> Iterator[Violation]:
    """Who keeps saying it is answered, once nothing is broken any more."""
    for what in case.evidence.unheard:
        yield Violation("unheard", "wait", what)


def open_waits_are_shown(case: Case) -> Iterator[Violation]:
    """The list of open waits shows those, and no other."""
    shown = case.evidence.open_shown
    if shown is None:
        return
    for wait in case.waits.values():
        if (wait.closed is None) != (wait.wait_id in shown):
            told = f"{'shown' if wait.wait_id in shown else 'not shown'} as open: {wait.told()}"
            yield Violation("shown_wrongly", wait.call_id, told)


def _seen(case: Case, history: History) -> str:
    waits = " | ".join(wait.told() for wait in case.waits.values() if wait.call_id == history.call_id)
    return f"{case.seen(history)} | waits: {waits or 'none'}"


STANDING_RULES: tuple[Rule, ...] = (
    nothing_happens_without_a_word,
    no_word_is_lost,
    no_word_that_was_refused_counts,
    waits_close_once,
    waits_and_calls_agree,
    functions_have_one_outcome,
    everybody_is_heard,
    open_waits_are_shown,
)
