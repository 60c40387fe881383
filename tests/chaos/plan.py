"""What a run is made of, drawn from its seed alone: the same seed gives the same plan."""

from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Literal

import orjson

from tests.chaos.faults import KINDS
from tests.chaos.faults.kind import Fault, Shape

Way = Literal["http", "wait", "batch", "ask", "bus"]
WAYS: dict[Way, int] = {"http": 30, "wait": 20, "batch": 3, "ask": 24, "bus": 23}
SERVICES = {
    "sqlite": ("dispatcher", "api_caller"),
    "postgres": ("dispatcher", "dispatcher2", "api_caller", "api_caller2"),
}
BATCH = (4, 30)  # calls in one request
FAULTS = (4, 8)  # in one run
UNSAFE, READ, KEYED = "act", "look", "put"


@dataclass(frozen=True, slots=True)
class Options:
    """What is wanted of every run: how many calls over how many seconds, which faults, whether the target is moody."""

    calls: int = 520
    window_s: float = 10.0
    kinds: tuple[str, ...] = tuple(KINDS)
    is_target_moody: bool = True

    def to_json(self) -> str:
        """On one line."""
        return orjson.dumps(asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str) -> "Options":
        """What `to_json` wrote."""
        told = orjson.loads(text)
        return cls(**{**told, "kinds": tuple(told["kinds"])})


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
        unsafe = sum(wanted.tool == UNSAFE for wanted in calls)
        mood = "moody" if self.is_target_moody else "kind"
        head = (
            f"seed {self.seed}: {self.shape.store}, {', '.join(self.shape.services)}; {len(calls)} calls, {unsafe} "
            f"unsafe, in {len(self.submissions)} submissions over {self.window_s:g} s; the target is {mood}"
        )
        return "\n".join((head, *(str(fault) for fault in self.faults)))


def make_plan(seed: int, options: Options) -> Plan:
    """Draw the run of this seed: even seeds run on PostgreSQL, odd ones on SQLite."""
    random = Random(seed)
    store = ("postgres", "sqlite")[seed % 2]
    shape = Shape(store, SERVICES[store])
    window_s = options.window_s if options.kinds or options.is_target_moody else 0.0
    return Plan(
        seed=seed,
        shape=shape,
        window_s=window_s,
        faults=_faults(random, shape, options),
        submissions=_submissions(random, options.calls, window_s),
        is_target_moody=options.is_target_moody,
    )


def _faults(random: Random, shape: Shape, options: Options) -> tuple[Fault, ...]:
    kinds = [KINDS[name] for name in options.kinds if shape.store in KINDS[name].stores]
    if not kinds:
        return ()
    chosen = random.choices(kinds, [kind.weight for kind in kinds], k=random.randint(*FAULTS))
    drawn = [
        replace(kind.draw(random, shape), at_s=round(random.uniform(0.2, options.window_s * 0.9), 2)) for kind in chosen
    ]
    return tuple(sorted(drawn, key=lambda fault: fault.at_s))


def _submissions(random: Random, count: int, window_s: float) -> tuple[Submission, ...]:
    tools = [UNSAFE] * (count // 2) + [READ] * (count // 4) + [KEYED] * (count - count // 2 - count // 4)
    random.shuffle(tools)
    calls = [Wanted(f"n{number}", tool) for number, tool in enumerate(tools)]
    found: list[Submission] = []
    while calls:
        way = random.choices(list(WAYS), list(WAYS.values()))[0]
        size = random.randint(*BATCH) if way == "batch" else 1
        found.append(Submission(round(random.uniform(0, window_s), 3), way, tuple(calls[:size])))
        del calls[:size]
    return tuple(sorted(found, key=lambda submission: submission.at_s))
