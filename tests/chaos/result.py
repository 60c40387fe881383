"""What came of a run, as one line of JSON; many of them are summed up in a table."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import orjson


@dataclass(frozen=True)
class Result:
    """
    The counts of one run.

    `violations` are texts; a run that broke off by itself has its error there. `remarks` are worth a look and no
    violation: services that ended by themselves and were started again. `ends` counts the accepted calls by how
    they stand, `faults` by kind, `left_out` those that cannot be made on this machine. `duration_s` is the whole run,
    `settled_s` the time from the last fault until everything stood.
    """

    seed: int
    store: str
    duration_s: float = 0.0
    calls: int = 0
    unsafe: int = 0
    requests: int = 0
    offers: int = 0
    ends: Mapping[str, int] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    redeliveries: int = 0
    doubts: int = 0
    probed: int = 0
    settled: int = 0
    waits: int = 0
    words: int = 0
    retries: int = 0
    resent: int = 0
    dead: int = 0
    settled_s: float = 0.0
    violations: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def count(self, *rules: str) -> int:
        """How many violations of these rules."""
        return sum(text.partition(":")[0] in rules for text in self.violations)

    def to_json(self) -> bytes:
        """One line."""
        return orjson.dumps(asdict(self)) + b"\n"

    @classmethod
    def from_json(cls, line: bytes) -> "Result":
        """What `to_json` wrote."""
        told = orjson.loads(line)
        return cls(**{**told, "violations": tuple(told["violations"]), "remarks": tuple(told["remarks"])})
