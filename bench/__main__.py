"""
Process entry: `python -m bench [--quick] [--runs N] [--scale F] [--only NAME]… [--profile] [--write-docs]`.

The exit code is 1 when a contender failed or an effect was lost or doubled, whatever the speed.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import nats.errors
import orjson
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import environment, machine, report
from bench.failures import BenchError
from bench.measures import Contender, Plan, Round, Tell
from bench.peer_dbos import Dbos
from bench.peer_restate import AS_DOCUMENTED, TUNED, Restate
from bench.processes import Crew
from bench.raw import Raw
from bench.results import Results
from bench.system import System
from bench.target_process import TargetProcess

RESULTS = environment.ROOT / "bench" / "results"
DOCUMENT = environment.ROOT / "docs" / "benchmarks.md"
QUICK_SCALE = 0.1
SHOWN_CHARS = 600
PAPER_COLUMNS = 140


def main(words: Sequence[str] = ()) -> int:
    """Run the bench; the exit code."""
    options = _options(words)
    folder = RESULTS / time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    if options.profile:
        folder.mkdir(parents=True)
    environment.prepare()
    contenders = _contenders(options.only, folder if options.profile else None)
    plan = Plan(1, options.scale or QUICK_SCALE) if options.quick else Plan(options.runs, options.scale or 1.0)
    results = Results(plan, machine.describe())
    uvloop.run(_take(contenders, results))
    RESULTS.mkdir(exist_ok=True)
    folder.with_suffix(".json").write_bytes(orjson.dumps(results.as_json(), option=orjson.OPT_INDENT_2))
    report.show(results, Console(width=None if sys.stdout.isatty() else PAPER_COLUMNS))
    if options.write_docs:
        DOCUMENT.write_text(report.document(results))
    return 0 if results.is_right else 1


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Measure Toolbus, the raw limit and two peers.")
    parser.add_argument("--quick", action="store_true", help="one short run of about a minute")
    parser.add_argument("--runs", type=int, default=3, help="interleaved runs (3)")
    parser.add_argument("--scale", type=float, help="share of the usual number of calls")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="contenders whose name has this")
    parser.add_argument("--profile", action="store_true", help="record the services with py-spy; slows them down")
    parser.add_argument("--write-docs", action="store_true", help="write docs/benchmarks.md")
    return parser.parse_args(list(words))


def _contenders(only: Sequence[str], profiles: Path | None) -> list[Contender]:
    every: list[Contender] = [
        System("PostgreSQL", profiles),
        Raw(),
        Dbos(),
        Restate(TUNED),
        System("SQLite"),
        Restate(AS_DOCUMENTED),
    ]
    return [one for one in every if not only or any(part.lower() in one.name.lower() for part in only)]


async def _take(contenders: Sequence[Contender], results: Results) -> None:
    """Let all contenders take turns, as often as the plan says."""
    present = []
    for contender in contenders:
        if (why := contender.absent()) is None:
            present.append(contender)
        else:
            results.absent[contender.name] = why
    folder = Path(tempfile.mkdtemp(prefix="toolbus-bench-target-"))
    try:
        with Crew(folder) as crew, _progress(results.plan, present) as tell:
            target = await TargetProcess.start(crew)
            for _ in range(results.plan.runs):
                for contender in present:
                    await _turn(contender, results, Round(results.plan, target, _named(tell, contender.name)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _named(tell: Tell, name: str) -> Tell:
    return lambda step: tell(f"{name}: {step}")


async def _turn(contender: Contender, results: Results, task: Round) -> None:
    """One run of one contender; what goes wrong is noted, and the others still take their turns."""
    try:
        measures = await contender.run(task)
    except* (BenchError, OSError, TimeoutError, nats.errors.Error) as group:
        results.failed[contender.name] = "; ".join(_leaves(group))[:SHOWN_CHARS]
    else:
        results.runs.setdefault(contender.name, []).append(measures)


def _leaves(group: BaseExceptionGroup[Exception]) -> Iterator[str]:
    """What the single errors of a group say."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield f"{type(error).__name__} {error}"


@contextmanager
def _progress(plan: Plan, contenders: Sequence[Contender]) -> Iterator[Tell]:
    """A bar on a terminal, nothing elsewhere; it is drawn between steps, so that it takes no time from them."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, auto_refresh=False, disable=not console.is_terminal) as progress:
        steps = plan.runs * sum(len(contender.steps) for contender in contenders)
        bar = progress.add_task("starting", total=steps)
        begun = 0

        def tell(step: str) -> None:
            nonlocal begun
            progress.update(bar, description=step, completed=begun, refresh=True)
            begun += 1

        yield tell
        progress.update(bar, description="done", completed=steps, refresh=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
