"""A process to try the faults on."""

import os
import subprocess
import sys

# Answers each line of Python with one line; what fails is answered with the error's name.
LISTENER = """
import datetime, os, sqlite3, sys, time
print("ready", flush=True)
for line in sys.stdin:
    try:
        print(eval(line), flush=True)
    except Exception as error:
        print(type(error).__name__, error, flush=True)
"""


class Child:
    """A Python process under faults that evaluates what it is told."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", LISTENER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        assert self._line() == "ready"

    def tell(self, expression: str) -> str:
        """The value of an expression, as text, or the error it raised."""
        assert self.process.stdin is not None
        self.process.stdin.write(expression + "\n")
        self.process.stdin.flush()
        return self._line()

    def kill(self) -> None:
        """The process is dead and had no chance to tidy up (kill -9)."""
        self.process.kill()
        self.process.communicate()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")
