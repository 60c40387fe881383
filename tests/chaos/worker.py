"""
A process that carries out one run after the other: `python -m tests.chaos.worker FOLDER OPTIONS`.

Seeds come on stdin, results go out on stdout, one line each.
"""

import asyncio
import sys
import traceback
from pathlib import Path

import uvloop

from tests.chaos.drawing import Options, make_plan
from tests.chaos.nest import Nest
from tests.chaos.result import Result
from tests.chaos.run import run
from toolbus_runtime.logging import configure_logging
from toolbus_runtime.settings import Settings

LIMIT_S = 240.0  # a run that takes longer hangs
CALLS_PER_S = 20  # at least, in a run with many calls


async def bounded(seed: int, options: Options, folder: Path, nest: Nest) -> Result:
    """The result of a run; one that broke off says so as a violation."""
    plan = make_plan(seed, options)
    try:
        async with asyncio.timeout(LIMIT_S + options.calls / CALLS_PER_S):
            return await run(plan, folder / str(seed), nest)
    except Exception:  # noqa: BLE001 - whatever it was: the series goes on, and this run has failed
        return Result(seed, plan.shape.store, violations=(f"broken: the run itself\n{traceback.format_exc()}",))


def main(folder: Path, options: Options) -> None:
    """Work until there are no more seeds."""
    configure_logging(Settings(log_level="error"))
    with Nest() as nest:
        for line in sys.stdin:
            result = uvloop.run(bounded(int(line), options, folder, nest))
            sys.stdout.buffer.write(result.to_json())
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Options.from_json(sys.argv[2]))
