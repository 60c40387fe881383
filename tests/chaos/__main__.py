"""
Break Toolbus on purpose: `python -m tests.chaos [--runs N] [--seed S] [--jobs J] [--calls C] [--faults LIST] …`.

The exit code is 1 when any rule was broken; the run's folder is left for inspection. The same seed makes the same plan.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.chaos import table
from tests.chaos.drawing import Options, make_plan
from tests.chaos.faults import KINDS
from tests.chaos.result import Result
from tests.chaos.series import ROOT, Kept, Tell, carry_out

FOLDER = ROOT / "build" / "chaos"
CALM_FOLDER = FOLDER / "calm"
RESULTS = "results.jsonl"
DOCUMENT = ROOT / "docs" / "reliability.md"
TARGET = "target"  # the moods of the target, as a name among the faults
PAPER_COLUMNS = 200
INTERRUPTED = 130


def main(words: Sequence[str]) -> int:
    """Run the series; the exit code."""
    asked = _asked(words)
    options = _options(asked)
    seeds = range(asked.seed, asked.seed + asked.runs)
    if asked.plan:
        print("\n\n".join(str(make_plan(seed, options)) for seed in seeds))
        return 0
    folder = asked.folder or (CALM_FOLDER if options.is_calm else FOLDER)
    kept = Kept(folder / RESULTS, options)
    results = [result for result in _earlier(kept, is_wanted=asked.resume) if result.seed in seeds]
    left = [seed for seed in seeds if seed not in {result.seed for result in results}]
    with _progress(results, asked.runs) as tell:

        def on_result(result: Result) -> None:
            kept.add(result)
            results.append(result)
            tell(result)

        try:
            asyncio.run(carry_out(left, options, folder, jobs=asked.jobs, tell=on_result))
        except KeyboardInterrupt:
            print(f"chaos: {len(results)} of {asked.runs} runs are kept; --resume goes on", file=sys.stderr)
            return INTERRUPTED
    results.sort(key=lambda result: result.seed)
    table.show(results, Console(width=None if sys.stdout.isatty() else PAPER_COLUMNS))
    if asked.write_docs:
        with_faults, without = (FOLDER, folder) if options.is_calm else (folder, CALM_FOLDER)
        _write_docs(with_faults, without)
    return 1 if any(result.violations for result in results) else 0


def _earlier(kept: Kept, *, is_wanted: bool) -> list[Result]:
    """
    What an interrupted series left, or nothing.

    Raises:
        SystemExit: it had other options.
    """
    try:
        if is_wanted:
            return kept.read()
    except ValueError as error:
        raise SystemExit(f"chaos: {error}") from error
    kept.begin()
    return []


def _asked(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="chaos", description="Break Toolbus on purpose, and check what became of it.")
    parser.add_argument("--runs", type=int, default=10, help="how many runs (10)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first run; the others count on from it (1)")
    parser.add_argument("--jobs", type=int, default=4, help="runs at once (4); they are waiting mostly")
    parser.add_argument("--calls", type=int, default=Options().calls, help="calls in each run (520)")
    parser.add_argument("--window", type=float, default=Options().window_s, help="seconds of load and faults (10)")
    parser.add_argument(
        "--faults", default="all", help=f"`all`, `none`, or some of: {', '.join((*KINDS, TARGET))}; -NAME: not this one"
    )
    parser.add_argument("--folder", type=Path, help="where runs and results lie (build/chaos, build/chaos/calm)")
    parser.add_argument("--plan", action="store_true", help="print what would be done, and do nothing")
    parser.add_argument(
        "--resume", action="store_true", help="do what an interrupted series left, and sum up all of it"
    )
    parser.add_argument(
        "--write-docs", action="store_true", help="write docs/reliability.md from the results kept in build/chaos"
    )
    return parser.parse_args(list(words))


def _options(asked: argparse.Namespace) -> Options:
    """
    The options that were asked for.

    Raises:
        SystemExit: there is no such fault.
    """
    names = [name for name in str(asked.faults).split(",") if name]
    known = {*KINDS, TARGET}
    chosen = known if "all" in names or all(name.startswith("-") for name in names) else set()
    chosen |= {name for name in names if name not in {"all", "none"} and not name.startswith("-")}
    chosen -= {name.removeprefix("-") for name in names if name.startswith("-")}
    if unknown := chosen - known:
        raise SystemExit(f"chaos: there is no fault {', '.join(sorted(unknown))}")
    kinds = tuple(name for name in KINDS if name in chosen)
    return Options(calls=asked.calls, window_s=asked.window, kinds=kinds, is_target_moody=TARGET in chosen)


def _write_docs(folder: Path, calm_folder: Path) -> None:
    """The page holds the series with faults that is kept in one folder, and the one without in the other."""
    (results, command), (calm, calm_command) = _kept(folder / RESULTS), _kept(calm_folder / RESULTS)
    DOCUMENT.write_text(table.document(results, command, calm, calm_command))


def _kept(path: Path) -> tuple[list[Result], str]:
    """The results of a series, and the command that makes the same again."""
    if not path.exists():
        return [], ""
    options, results = Kept.load(path)
    words = ["make chaos", f"RUNS={len(results)}", f"SEED={min((result.seed for result in results), default=1)}"]
    words += [f"CALLS={options.calls}"] if options.calls != Options().calls else []
    words += ["FAULTS=none"] if options.is_calm else []
    words += [f"FAULTS={','.join(options.kinds)}"] if options.kinds not in {Options().kinds, ()} else []
    return results, " ".join(words)


@contextmanager
def _progress(results: Sequence[Result], runs: int) -> Iterator[Tell]:
    """A bar on a terminal, nothing elsewhere; what went wrong is told at once in both."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("0 calls", total=runs, completed=len(results))

        def tell(result: Result) -> None:
            calls = sum(one.calls for one in results)
            progress.update(bar, description=f"{calls:,} calls", completed=len(results))
            table.tell(result, console)

        yield tell


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
