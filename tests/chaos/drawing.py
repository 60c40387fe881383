"""Plans are drawn from a seed alone: the same seed gives the same plan."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from random import Random

import orjson

from tests.chaos.fault import Fault, Shape
from tests.chaos.faults import KINDS
from tests.chaos.plan import ACT, BRIEF, FILL, GUARD, LOOK, PAY, PUT, WORK, Plan, Submission, Wanted, Way

WAYS: dict[Way, int] = {"http": 30, "wait": 20, "batch": 3, "ask": 24, "bus": 23}
SERVICES = {
    "sqlite": ("approvals", "dispatcher", "api_caller"),
    "postgres": ("approvals", "approvals2", "dispatcher", "dispatcher2", "api_caller", "api_caller2"),
}
TOOLS = (ACT, LOOK, PAY, PUT, ACT, LOOK, PAY, PUT, GUARD, WORK, FILL, BRIEF)  # every other one is unsafe
BATCH = (4, 30)  # calls in one request
FAULTS = (4, 8)  # in one run
LONG_S = 9.5


@dataclass(frozen=True, slots=True)
class Options:
    """What is wanted of every run: how many calls over how many seconds, which faults, whether the target is moody."""

    calls: int = 520
    window_s: float = 10.0
    kinds: tuple[str, ...] = tuple(KINDS)
    is_target_moody: bool = True

    @property
    def is_calm(self) -> bool:
        """Whether nothing is to break."""
        return not self.kinds and not self.is_target_moody

    def to_json(self) -> str:
        """On one line."""
        return orjson.dumps(asdict(self)).decode()

    @classmethod
    def from_json(cls, text: str) -> "Options":
        """What `to_json` wrote."""
        told = orjson.loads(text)
        return cls(**{**told, "kinds": tuple(told["kinds"])})


def make_plan(seed: int, options: Options) -> Plan:
    """Draw the run of this seed: even seeds run on PostgreSQL, odd ones on SQLite."""
    random = Random(seed)
    store = ("postgres", "sqlite")[seed % 2]
    shape = Shape(store, SERVICES[store])
    window_s = 0.0 if options.is_calm else options.window_s
    faults = _faults(random, shape, options)
    return Plan(
        seed=seed,
        shape=shape,
        window_s=window_s,
        faults=faults,
        submissions=_submissions(random, options.calls, window_s),
        is_target_moody=options.is_target_moody,
        touches_disk=any(KINDS[fault.kind].touches_disk for fault in faults),
    )


def _faults(random: Random, shape: Shape, options: Options) -> tuple[Fault, ...]:
    kinds = [KINDS[name] for name in options.kinds if shape.store in KINDS[name].stores]
    if not kinds:
        return ()
    chosen = random.choices(kinds, [kind.weight for kind in kinds], k=random.randint(*FAULTS))
    drawn = [
        replace(kind.draw(random, shape), at_s=round(random.uniform(0.2, options.window_s * 0.9), 2)) for kind in chosen
    ]
    return _with_one_long(sorted(drawn, key=lambda fault: fault.at_s))


def _with_one_long(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """The first long fault stays as it is, others are cut short: several would wait for one another."""
    long = [fault for fault in faults if fault.for_s > LONG_S]
    return tuple(replace(fault, for_s=LONG_S / 2) if fault in long[1:] else fault for fault in faults)


def _submissions(random: Random, count: int, window_s: float) -> tuple[Submission, ...]:
    tools = [TOOLS[number % len(TOOLS)] for number in range(count)]
    random.shuffle(tools)
    calls = [Wanted(f"n{number}", tool) for number, tool in enumerate(tools)]
    found: list[Submission] = []
    while calls:
        way = random.choices(list(WAYS), list(WAYS.values()))[0]
        size = random.randint(*BATCH) if way == "batch" else 1
        found.append(Submission(round(random.uniform(0, window_s), 3), way, tuple(calls[:size])))
        del calls[:size]
    return tuple(sorted(found, key=lambda submission: submission.at_s))
