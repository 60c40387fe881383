"""
Where the processes of these tests are born: one process that has read all the code and forks a service on each order.

Every service is a process of its own, killed by its own pid; only reading the code, two seconds of CPU, is not
paid for again at each of a hundred restarts. Run as a module it is that process; orders come on stdin, pids go out.
"""

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from toolbus import embedded

REPOSITORY = Path(__file__).resolve().parents[2]


class Nursery:
    """Starts services; `environment` is added to ours for all of them, and there before any library is loaded."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
            env=self._environment,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it has read the code
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        if process is not None and process.stdin is not None and process.stdout is not None:
            process.stdin.close()
            process.wait(10)
            process.stdout.close()

    def serve(self, service: str, environment: Mapping[str, str], log: Path, folder: Path) -> int:
        """The service runs in the folder; its pid."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        order = {"service": service, "environment": dict(environment), "log": str(log), "folder": str(folder)}
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        return int(process.stdout.readline())


def _be(order: dict[str, object]) -> None:
    """Become the service; never returns."""
    os.setsid()
    os.chdir(str(order["folder"]))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(str(order["log"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, source in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
        os.dup2(source, number)
    environment = order["environment"]
    assert isinstance(environment, dict)
    os.environ.update(environment)
    code = 1
    try:
        code = embedded.serve(str(order["service"]))
    except BaseException:  # noqa: BLE001 - told in its log, for there is nobody to raise it to
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Fork a service for each line until there are no more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are gone at once
    print(flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _be(json.loads(line))
        print(pid, flush=True)


if __name__ == "__main__":
    main()
