"""What a run is made of: its services, what is submitted when and how, and what breaks."""

from dataclasses import dataclass
from typing import Literal

from tests.chaos.fault import Fault, Shape

Way = Literal["http", "wait", "batch", "ask", "bus"]
ACT, PAY, LOOK, PUT, FIND = "act", "pay", "look", "put", "find"
GUARD, FILL, WORK, BRIEF = "guard", "fill", "work", "brief"
UNSAFE = frozenset({ACT, PAY, GUARD, FILL})  # may not be repeated; `pay` has a probe, `find`, which asks the target
GUARDED = frozenset({GUARD})  # need an approval
FILLED = frozenset({FILL})  # ask a person for a value
FUNCTIONS = frozenset({WORK, BRIEF})  # a client does them; nobody does `brief`, which expires
STANDING = GUARDED | FILLED | FUNCTIONS


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that is to be made once; its name is unique in the run."""

    name: str
    tool: str


@dataclass(frozen=True, slots=True)
class Submission:
    """Calls that are offered together, at a time in seconds from the beginning, in one way."""

    at_s: float
    way: Way
    calls: tuple[Wanted, ...]


@dataclass(frozen=True)
class Plan:
    """One run."""

    seed: int
    shape: Shape
    window_s: float
    submissions: tuple[Submission, ...]
    faults: tuple[Fault, ...]
    is_target_moody: bool
    touches_disk: bool  # a fault needs to see every write of the database

    @property
    def calls(self) -> list[Wanted]:
        """Every call of the run."""
        return [wanted for submission in self.submissions for wanted in submission.calls]

    @property
    def is_calm(self) -> bool:
        """Whether nothing breaks."""
        return not self.faults and not self.is_target_moody

    def __str__(self) -> str:
        calls = self.calls
        unsafe = sum(wanted.tool in UNSAFE for wanted in calls)
        standing = sum(wanted.tool in STANDING for wanted in calls)
        mood = "moody" if self.is_target_moody else "kind"
        head = (
            f"seed {self.seed}: {self.shape.store}, {', '.join(self.shape.services)}; {len(calls)} calls, {unsafe} "
            f"unsafe, {standing} that wait for somebody, in {len(self.submissions)} submissions over "
            f"{self.window_s:g} s; the target is {mood}"
        )
        return "\n".join((head, *(str(fault) for fault in self.faults)))
