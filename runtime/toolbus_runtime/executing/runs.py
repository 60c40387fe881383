"""Work in progress in this process, and what was heard of its calls meanwhile."""

from collections.abc import Callable, Sequence

from toolbus_runtime.executing.body_budget import BodyBudget


class Run:
    """
    One run of the work on an attempt.

    `is_ended`: its call has ended, so that nobody waits for it. `is_unwanted`: somebody asked for its call
    to be stopped while its effect may already be on its way. `on_heard` is called when either changes.
    `sent_s` is when its last request was handed to the socket, on the steady clock.
    """

    __slots__ = ("_budget", "_held", "attempt", "call_id", "is_ended", "is_unwanted", "on_heard", "sent_s")

    def __init__(self, call_id: str = "", attempt: int = 1, budget: BodyBudget | None = None) -> None:
        self.call_id = call_id
        self.attempt = attempt
        self.is_ended = False
        self.is_unwanted = False
        self.on_heard: Callable[[], None] | None = None
        self.sent_s: float | None = None
        self._budget = budget
        self._held = 0

    def is_wanted(self, *, is_sent: bool) -> bool:
        """Whether to go on: until its call has ended, once it was sent; an answer is worth more than a doubt."""
        return not (self.is_ended or (self.is_unwanted and not is_sent))

    def end(self) -> None:
        """Hear that the call has ended."""
        self.is_ended = True
        self._tell()

    def stop(self) -> None:
        """Hear that the call is to be stopped."""
        self.is_unwanted = True
        self._tell()

    def _tell(self) -> None:
        if self.on_heard is not None:
            self.on_heard()

    async def take_room(self, wanted: int) -> None:
        """There is room for so many bytes of a body; asked once, and held until the run is done."""
        if self._budget is not None:
            self._held = await self._budget.take(wanted)

    def keep_room(self, needed: int) -> None:
        """Give back what is more than so many bytes."""
        if self._budget is not None and self._held > needed:
            self._budget.give_back(self._held - needed)
            self._held = needed


class Runs:
    """Every run that is in progress here, by its call: several when work was delivered again."""

    def __init__(self, budget: BodyBudget | None = None) -> None:
        self._budget = budget
        self._running: dict[str, list[Run]] = {}

    def begin(self, call_id: str, attempt: int) -> Run:
        """A run has begun; it hears of its call until `done`."""
        run = Run(call_id, attempt, self._budget)
        others = self._running.get(call_id)
        if others is None:
            self._running[call_id] = [run]
        else:
            others.append(run)
        return run

    def done(self, run: Run) -> None:
        """The run is over; its room is free."""
        run.keep_room(0)
        others = self._running[run.call_id]
        others.remove(run)
        if not others:
            del self._running[run.call_id]

    def of(self, call_id: str) -> Sequence[Run]:
        """The runs of a call."""
        return self._running.get(call_id, ())
