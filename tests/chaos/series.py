"""Many runs: their seeds are given out to a few worker processes, their results kept in a file as they come."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from signal import SIGINT

from tests.chaos.drawing import Options, make_plan
from tests.chaos.result import Result

LEAVE_S = 30.0  # an interrupted worker takes down what it built
LINE_BYTES = 16 * 1024 * 1024
ROOT = Path(__file__).resolve().parents[2]
Tell = Callable[[Result], None]


class Kept:
    """The results of a series in a file: what was wanted on the first line, then a line for each run."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path = path
        self._head = options.to_json().encode() + b"\n"

    def begin(self) -> None:
        """Nothing is kept any more."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_bytes(self._head)

    def read(self) -> list[Result]:
        """
        What an earlier series with the same options came to.

        Raises:
            ValueError: the options were others.
        """
        if not self._path.exists():
            self.begin()
        head, *lines = self._path.read_bytes().splitlines(keepends=True)
        if head != self._head:
            raise ValueError(f"{self._path} holds runs of other options: {head.decode().strip()}")
        return [Result.from_json(line) for line in lines if line.endswith(b"\n")]

    @staticmethod
    def load(path: Path) -> tuple[Options, list[Result]]:
        """A series as it was kept, whatever its options were, by seed."""
        head, *lines = path.read_bytes().splitlines()
        results = sorted((Result.from_json(line) for line in lines), key=lambda result: result.seed)
        return Options.from_json(head.decode()), results

    def add(self, result: Result) -> None:
        """The result is in the file."""
        with self._path.open("ab") as file:
            file.write(result.to_json())


async def carry_out(seeds: Sequence[int], options: Options, folder: Path, *, jobs: int, tell: Tell) -> None:
    """Every seed has been run; `tell` heard of each result as it came."""
    waiting = iter(seeds)
    async with asyncio.TaskGroup() as group:
        for number in range(min(jobs, len(seeds))):
            group.create_task(_work(waiting, options, folder / f"worker-{number}.log", tell))


async def _work(waiting: Iterator[int], options: Options, log: Path, tell: Tell) -> None:
    """One worker after the other, while there are seeds; a worker that died is followed by another."""
    seed = next(waiting, None)
    while seed is not None:
        async with _worker(options, log) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            line = b"-"
            while seed is not None and line:
                process.stdin.write(f"{seed}\n".encode())
                line = await process.stdout.readline()
                tell(Result.from_json(line) if line else _died(seed, options, log))
                seed = next(waiting, None)


def _died(seed: int, options: Options, log: Path) -> Result:
    store = make_plan(seed, options).shape.store
    return Result(seed, store, violations=(f"broken: the worker died; see {log}",))


@asynccontextmanager
async def _worker(options: Options, log: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker that works in the folder of its log until it is left; it ends in order, whatever happens here."""
    with log.open("ab") as said:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.chaos.worker", str(log.parent), options.to_json()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=said,
            cwd=ROOT,
            limit=LINE_BYTES,
            start_new_session=True,
        )
    is_done = False
    try:
        yield process
        is_done = True
    finally:
        if process.stdin is not None:
            process.stdin.close()
        with suppress(ProcessLookupError):
            if not is_done:
                process.send_signal(SIGINT)
        try:
            await asyncio.wait_for(process.wait(), LEAVE_S)
        except TimeoutError:
            process.kill()
