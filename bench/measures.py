"""What is measured: one step's throughput or latency, with counts and CPU time, and medians over runs."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from bench.processes import Roots, cpu_times
from bench.target_process import TargetProcess

ROUND = 3


@dataclass
class Measure:
    """
    One step of one run.

    `lost`: calls without their effect or their recorded end. `doubled`: calls whose effect happened
    more than once. `cpu_us`: CPU microseconds per call of each process.
    """

    step: str
    calls: int
    per_s: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    lost: int = 0
    doubled: int = 0
    cpu_us: dict[str, float] = field(default_factory=dict)
    notes: dict[str, float] = field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        """True when every call had exactly one effect and one recorded end."""
        return self.lost == 0 and self.doubled == 0

    def as_json(self) -> dict[str, Any]:
        """The measure with figures rounded for reading."""
        return {name: _rounded(value) for name, value in asdict(self).items() if value not in (None, {})}


def _rounded(value: object) -> object:
    match value:
        case float():
            return round(value, ROUND)
        case dict():
            return {name: _rounded(item) for name, item in value.items()}
        case _:
            return value


@dataclass(frozen=True)
class Plan:
    """How many calls each step makes; the weights of slower contenders are in their own modules."""

    runs: int
    scale: float
    concurrency: int = 200

    def calls(self, full: int) -> int:
        """Calls of a step that makes `full` of them at scale 1; never less than the concurrency."""
        return max(self.concurrency, int(full * self.scale))

    def samples(self, full: int) -> int:
        """Samples of a latency step; never less than 100, so that p99 means something."""
        return max(100, int(full * self.scale))


Tell = Callable[[str], None]


@dataclass(frozen=True)
class Round:
    """What a contender is given for one run; `tell` is called when a step begins."""

    plan: Plan
    target: TargetProcess
    tell: Tell


class Contender(Protocol):
    """One system that does the job; it starts its processes, runs its steps, and stops them."""

    name: str
    steps: Sequence[str]

    def absent(self) -> str | None:
        """Why it cannot take part here, or none."""
        ...

    async def run(self, task: Round) -> list[Measure]:
        """One run: every step once, on freshly started processes."""
        ...


@dataclass(frozen=True)
class Flood:
    """A throughput step: how many calls it makes, and the processes whose CPU time it counts."""

    step: str
    calls: int
    roots: Roots


async def throughput(flood: Flood, target: TargetProcess, work: Callable[[], Any]) -> Measure:
    """
    Time `work`, an async function that gives (seconds, ends recorded), and check the target's journal.

    The journal must hold exactly one request for each call.
    """
    await target.reset()
    calls, roots = flood.calls, flood.roots
    before = cpu_times(roots)
    seconds, recorded = await work()
    after = cpu_times(roots)
    seen = await target.journal()
    return Measure(
        flood.step,
        calls,
        per_s=calls / seconds,
        lost=max(calls - min(seen.keys, recorded), 0),
        doubled=seen.doubled,
        cpu_us={name: (after[name] - before[name]) * 1e6 / calls for name in roots},
    )


async def latency(step: str, target: TargetProcess, samples: Callable[[], Any]) -> Measure:
    """Take samples in milliseconds, one call at a time, and check the target's journal."""
    await target.reset()
    taken: list[float] = await samples()
    seen = await target.journal()
    return Measure(
        step,
        len(taken),
        p50_ms=quantile(taken, 0.50),
        p99_ms=quantile(taken, 0.99),
        lost=max(len(taken) - seen.keys, 0),
        doubled=seen.doubled,
    )


def quantile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least this share of all samples does not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def medians(runs: Sequence[Measure]) -> Measure:
    """The median of every figure over the runs of one step; wrong counts are added up."""
    names = {name for run in runs for name in run.cpu_us}
    notes = {name for run in runs for name in run.notes}
    return Measure(
        runs[0].step,
        runs[0].calls,
        per_s=_median([run.per_s for run in runs]),
        p50_ms=_median([run.p50_ms for run in runs]),
        p99_ms=_median([run.p99_ms for run in runs]),
        lost=sum(run.lost for run in runs),
        doubled=sum(run.doubled for run in runs),
        cpu_us=_medians([run.cpu_us for run in runs], names),
        notes=_medians([run.notes for run in runs], notes),
    )


def _medians(runs: Sequence[Mapping[str, float]], names: set[str]) -> dict[str, float]:
    return {name: statistics.median(run.get(name, 0.0) for run in runs) for name in sorted(names)}


def _median(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return statistics.median(present) if present else None
