"""What a fault is: drawn from the seed, done to a place, and written down with its time."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.chaos.place import Place


@dataclass(frozen=True, slots=True)
class Shape:
    """What a run consists of: its store (`sqlite` or `postgres`), and its services by name."""

    store: str
    services: tuple[str, ...]

    def replicas(self, service: str) -> list[str]:
        """The names of a service's processes."""
        return [name for name in self.services if name.rstrip("0123456789") == service]

    @property
    def links(self) -> list[str]:
        """The ways on which bytes pass: `<from>-<to>`."""
        found = [f"{name}-nats" for name in self.services]
        if self.store == "postgres":
            found += [f"{name}-postgres" for name in (*self.replicas("dispatcher"), *self.replicas("approvals"))]
        found += [f"people-{name}" for name in self.replicas("approvals")]
        return [*found, "api_caller-target"]


@dataclass(frozen=True, slots=True)
class Fault:
    """
    One fault of a plan: it begins `at_s` after the load and lasts about `for_s`.

    `whom` is a process or a link; `how` are the kind's own numbers and words.
    """

    kind: str
    at_s: float
    for_s: float
    whom: str
    how: Mapping[str, str | float] = field(default_factory=dict)

    def __str__(self) -> str:
        told = "".join(f" {name}={value}" for name, value in self.how.items())
        return f"{self.at_s:6.2f} s  {self.kind} {self.whom} for {self.for_s:.2f} s{told}"


Draw = Callable[[Random, Shape], Fault]  # `at_s` is drawn by the plan
Strike = Callable[["Place", Fault], Awaitable[None]]
Locks = Callable[[Fault, Shape], list[str]]


def _only_whom(fault: Fault, _: Shape) -> list[str]:
    return [fault.whom]


@dataclass(frozen=True, slots=True)
class Kind:
    """
    A kind of fault; `about` tells a person what it is.

    `strike` begins it, waits and ends it: on return the place works again, as far as the fault goes. Meanwhile no
    other fault touches the parties that `locks` names. `needs_shim`: it is made by the C library, and left out
    where no compiler is; `touches_disk`: that has to see every write of the database.
    """

    name: str
    about: str
    draw: Draw
    strike: Strike
    stores: frozenset[str] = frozenset({"sqlite", "postgres"})
    weight: float = 1.0
    locks: Locks = _only_whom
    needs_shim: bool = False
    touches_disk: bool = False
