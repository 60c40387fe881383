"""Results of all runs: medians, ratios inside this one bench, and the bars of the design held against them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.measures import Measure, Plan, medians

OURS = "Toolbus PostgreSQL"
RAW = "raw limit"
PEERS = ("DBOS", "Restate as documented", "Restate tuned")


@dataclass
class Results:
    """
    What every contender measured in every run.

    `absent`: why a contender did not take part; `failed`: what went wrong in its runs.
    """

    plan: Plan
    machine: Mapping[str, str]
    runs: dict[str, list[list[Measure]]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def medians(self) -> dict[str, list[Measure]]:
        """The median of every step of every contender."""
        found = {}
        for name, runs in self.runs.items():
            steps = [measure.step for measure in runs[0]]
            found[name] = [medians([m for run in runs for m in run if m.step == step]) for step in steps]
        return found

    @property
    def is_right(self) -> bool:
        """True when nobody failed and no effect was lost or doubled."""
        return not self.failed and all(m.is_right for runs in self.runs.values() for run in runs for m in run)

    def as_json(self) -> dict[str, Any]:
        """Everything, for a file."""
        middle = self.medians()
        return {
            "machine": dict(self.machine),
            "runs_each": self.plan.runs,
            "scale": self.plan.scale,
            "medians": {name: [measure.as_json() for measure in steps] for name, steps in middle.items()},
            "runs": {name: [[m.as_json() for m in run] for run in runs] for name, runs in self.runs.items()},
            "bars": [vars(bar) for bar in bars(middle)],
            "absent": self.absent,
            "failed": self.failed,
        }


Medians = Mapping[str, Sequence[Measure]]


@dataclass(frozen=True)
class Bar:
    """One number to hold: `measured` is none when a part of it did not take part in the bench."""

    what: str
    wanted: str
    measured: float | None
    holds: bool | None


def best(middle: Medians, name: str) -> float | None:
    """The highest throughput of a contender over all ways of submitting."""
    return max((m.per_s for m in middle.get(name, ()) if m.per_s is not None), default=None)


def step(middle: Medians, name: str, wanted: str) -> Measure | None:
    """One step of a contender, if it was measured."""
    return next((measure for measure in middle.get(name, ()) if measure.step == wanted), None)


def bars(middle: Medians) -> list[Bar]:
    """The bars of DESIGN §9 that this bench measures."""
    return [*_own(middle), *_ratios(middle), *_peer_latencies(middle)]


def _own(middle: Medians) -> list[Bar]:
    def figure(name: str, attribute: str) -> float | None:
        found = step(middle, OURS, name)
        return getattr(found, attribute) if found is not None else None

    store = step(middle, OURS, "store")
    rates = {"bus safe": 2000, "bus unsafe": 1200, "http one by one": 800, "http batches": 1500}
    return [
        *(_at_least(f"{name}, calls/s", figure(name, "per_s"), bar) for name, bar in rates.items()),
        _at_most("one call on an idle system by bus, p50 ms", figure("bus latency", "p50_ms"), 5),
        _at_most("one call on an idle system by bus, p99 ms", figure("bus latency", "p99_ms"), 15),
        _at_most("`toolbus up` ready, s", store.notes.get("ready_s") if store is not None else None, 3),
    ]


def _ratios(middle: Medians) -> list[Bar]:
    safe = step(middle, OURS, "bus safe")
    wanted = {RAW: 0.5, "DBOS": 8.0, "Restate as documented": 5.0, "Restate tuned": 5.0}
    found = []
    for name, bar in wanted.items():
        other = best(middle, name)
        is_known = safe is not None and safe.per_s is not None and other is not None
        ratio = safe.per_s / other if is_known else None  # type: ignore[union-attr, operator]
        found.append(_at_least(f"bus safe ÷ {name}", ratio, bar))
    return found


def _peer_latencies(middle: Medians) -> list[Bar]:
    ours = step(middle, OURS, "bus latency")
    found = []
    for name in PEERS:
        theirs = [m.p50_ms for m in middle.get(name, ()) if m.p50_ms is not None]
        is_known = ours is not None and ours.p50_ms is not None and theirs
        ratio = ours.p50_ms / min(theirs) if is_known else None  # type: ignore[union-attr, operator]
        found.append(_at_most(f"idle p50 ÷ {name}", ratio, 1))
    return found


def _at_least(what: str, measured: float | None, bar: float) -> Bar:
    return Bar(what, f"≥ {bar:g}", measured, None if measured is None else measured >= bar)


def _at_most(what: str, measured: float | None, bar: float) -> Bar:
    return Bar(what, f"≤ {bar:g}", measured, None if measured is None else measured <= bar)
