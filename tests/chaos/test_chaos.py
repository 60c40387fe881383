"""Two short runs, one on each store: what `make chaos` does two hundred times."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.drawing import Options, make_plan
from tests.chaos.nest import Nest
from tests.chaos.run import run

SEEDS = (4, 7)  # PostgreSQL, SQLite
SHORT = Options(calls=150, window_s=5.0)
LONGEST_S = 5.0  # of a fault: a whole start's time is left to the long series


@pytest.mark.timeout(150)
async def test_nothing_is_lost_and_nothing_doubled(nest: Nest, tmp_path: Path) -> None:
    """Every accepted call ends or stands in doubt, every unsafe effect happens at most once, the log is whole."""
    plans = [make_plan(seed, SHORT) for seed in SEEDS]
    short = [
        replace(plan, faults=tuple(replace(fault, for_s=min(fault.for_s, LONGEST_S)) for fault in plan.faults))
        for plan in plans
    ]
    results = await asyncio.gather(*(run(plan, tmp_path / str(plan.seed), nest) for plan in short))
    for plan, result in zip(short, results, strict=True):
        print(f"{plan}\n{result.to_json().decode()}")
        assert result.violations == ()
        assert sum(result.ends.values()) == SHORT.calls
        assert sum(result.faults.values()) + sum(result.left_out.values()) == len(plan.faults)
