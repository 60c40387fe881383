"""Where the CPU time goes: py-spy on the services while they are flooded."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SERVICES = ("dispatcher", "api_caller")
RATE_HZ = 200


@contextmanager
def profiled(folder: Path | None, roots: Mapping[str, int]) -> Iterator[None]:
    """
    Record the services that are among the processes while the context is open, if there is a folder.

    Each gives a flame graph and the same stacks as text: `<folder>/<service>.svg` and `.txt`.
    """
    spies = []
    for service in SERVICES if folder is not None else ():
        for ending, form in (("svg", "flamegraph"), ("txt", "raw")):
            output = f"{folder}/{service}.{ending}"
            program = [str(Path(sys.executable).parent / "py-spy"), "record", "--pid", str(roots[service])]
            options = ["--rate", str(RATE_HZ), "--format", form, "--output", output, "--nonblocking"]
            spies.append(subprocess.Popen([*program, *options], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
    try:
        yield
    finally:
        for spy in spies:
            spy.send_signal(signal.SIGINT)
        for spy in spies:
            spy.wait(30)
