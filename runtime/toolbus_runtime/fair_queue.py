"""A queue that tenants share: each waits behind its own commands, not behind those of others."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """
    Taken from in turns, one of each tenant; what is of one tenant stays in its order.

    `tenant_of` says whose an item is.
    """

    def __init__(self, tenant_of: Callable[[T], str]) -> None:
        self._tenant_of = tenant_of
        self._lines: dict[str, deque[T]] = {}
        self._length = 0

    def __len__(self) -> int:
        """How many wait."""
        return self._length

    def waiting(self, tenant: str) -> int:
        """How many of this tenant wait."""
        line = self._lines.get(tenant)
        return len(line) if line else 0

    def add(self, item: T) -> None:
        """Put one behind the others of its tenant."""
        self._line(item).append(item)
        self._length += 1

    def put_back(self, items: Iterable[T]) -> None:
        """Put these, in their order, before the others of their tenants: nobody is overtaken."""
        for item in reversed(list(items)):
            self._line(item).appendleft(item)
            self._length += 1

    def take(self, at_most: int) -> list[T]:
        """The next ones, in turns."""
        taken: list[T] = []
        while self._lines and len(taken) < at_most:
            if len(self._lines) == 1:
                self._take_line(taken, at_most)
            else:
                self._take_turn(taken, at_most)
        self._length -= len(taken)
        return taken

    def _line(self, item: T) -> deque[T]:
        tenant = self._tenant_of(item)
        line = self._lines.get(tenant)
        if line is None:
            line = self._lines[tenant] = deque()
        return line

    def _take_line(self, taken: list[T], at_most: int) -> None:
        """One tenant alone: as many as it has."""
        ((tenant, line),) = self._lines.items()
        taken += [line.popleft() for _ in range(min(at_most - len(taken), len(line)))]
        if not line:
            del self._lines[tenant]

    def _take_turn(self, taken: list[T], at_most: int) -> None:
        """One of each; who was served stands last in the next turn."""
        for tenant in list(self._lines)[: at_most - len(taken)]:
            line = self._lines.pop(tenant)
            taken.append(line.popleft())
            if line:
                self._lines[tenant] = line
