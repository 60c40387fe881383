"""The collector: what lives is hardly looked at, and what is garbage goes."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import gc, json, sys
from toolbus_runtime.process import spare_collections

class Cycle:
    alive = 0

    def __init__(self):
        self.own = self
        Cycle.alive += 1

    def __del__(self):
        Cycle.alive -= 1

spare_collections(holds_much=json.loads(sys.argv[1]))
looks = []
gc.callbacks.append(lambda phase, info: looks.append(info["generation"]) if phase == "start" else None)
short, long, kept = Cycle(), Cycle(), []
del short
for number in range(500_000):
    kept.append([number])
    if number == 50_000:
        del long
print(json.dumps([Cycle.alive, looks.count(0), sum(look > 0 for look in looks)]))
"""


@pytest.mark.parametrize(("holds_much", "left", "more_looks"), [(True, 1, 0), (False, 0, 5)])
def test_what_lives_on_is_looked_at_again_only_where_there_is_little_of_it(
    holds_much: bool, left: int, more_looks: int
) -> None:
    """What was garbage at once goes everywhere; what lived for a while stays until it is calm where much does."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(holds_much)]
    alive, young, more = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert (alive, young > 100, more) == (left, True, more_looks)
