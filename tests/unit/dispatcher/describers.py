"""A bus on which somebody, or nobody, says what a tool takes."""

from typing import Any, NamedTuple, cast

import orjson

from toolbus_contracts.errors import Unavailable
from toolbus_dispatcher.describing import Describing
from toolbus_dispatcher.holding import Holding
from toolbus_dispatcher.intake import Intake
from toolbus_runtime.batcher import Batcher


class Said(NamedTuple):
    """An answer."""

    data: bytes


class Bus:
    """Answers what it was told to answer; without that nobody is there. `asked` are the questions."""

    def __init__(self, **answer: Any) -> None:
        """Answer this to all who ask."""
        self.answer = answer
        self.asked: list[dict[str, Any]] = []

    async def request(self, subject: str, data: bytes, *, timeout_s: float) -> Said:
        """The answer."""
        assert (subject, timeout_s) == ("toolbus.intask.describe", 5.0)
        self.asked.append(orjson.loads(data))
        if not self.answer:
            raise Unavailable("nobody is there")
        return Said(orjson.dumps(self.answer))


def intake_of(
    batcher: Batcher, store: Any, holding: Holding, *, bus: Bus | None = None, generations: dict[str, int] | None = None
) -> Intake:
    """Intake over this store; what tools take, this bus tells, and these are the secrets that there are."""

    async def generation(tenant: str, name: str) -> int:
        assert tenant == "acme"
        return (generations or {}).get(name, 0)

    return Intake(batcher, store, holding, describing=Describing(cast("Any", bus or Bus())), generation=generation)
