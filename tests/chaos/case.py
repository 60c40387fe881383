"""The evidence of a run, looked up by call, and what a rule is."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from tests.chaos.evidence import Evidence, Request
from tests.chaos.history import History, histories
from tests.chaos.standing import WaitHistory, wait_histories


class Violation(NamedTuple):
    """A rule that was broken, by which call, and what shows it."""

    rule: str
    call_id: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.call_id}: {self.what}"


class Case:
    """The evidence, looked up by call."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.histories = histories(evidence.events)
        self.accepted = {one.call_id: one for one in evidence.accepted}

    @cached_property
    def requests(self) -> Mapping[str, list[Request]]:
        """The requests of each call; those without Idempotency-Key by their name."""
        ids = {one.name: one.call_id for one in self.evidence.accepted}
        found: dict[str, list[Request]] = defaultdict(list)
        for request in self.evidence.requests:
            found[request.call_id or ids.get(request.name, "")].append(request)
        return found

    @cached_property
    def waits(self) -> Mapping[str, WaitHistory]:
        """The history of each wait, by its id."""
        return wait_histories(self.evidence.waits)

    def waits_of(self, call_id: str, *kinds: str) -> list[WaitHistory]:
        """The waits of a call, of these kinds."""
        return [wait for wait in self.waits.values() if wait.call_id == call_id and wait.kind in kinds]

    def history(self, call_id: str) -> History:
        """What the store has of this call."""
        return self.histories.get(call_id, History(call_id, ()))

    def of_unsafe(self) -> Iterator[History]:
        """The calls that may not be repeated, known to the client or not."""
        for history in self.histories.values():
            if any(event.data.get("tool") in self.evidence.unsafe_tools for event in history.of("requested")):
                yield history

    def seen(self, history: History) -> str:
        """What log and target tell of a call."""
        requests = "; ".join(str(request) for request in self.requests.get(history.call_id, ()))
        return f"log: {history.told()} | target: {requests or 'no request'}"


Rule = Callable[[Case], Iterator[Violation]]
