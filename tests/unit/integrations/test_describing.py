"""What is answered to whoever defines a tool."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from toolbus_contracts.tools import DescribeTool, IntegrationSection, Surface, ToolDefinition
from toolbus_integrations.handlers import MAX_SURFACE_BYTES, Handlers
from toolbus_runtime.bus.listening import Incoming

DEFINITION = ToolDefinition.model_validate({"name": "look_up", "integration": {"provider": "wikipedia"}})


class Answers:
    """A bus that keeps what is answered."""

    def __init__(self) -> None:
        self.told: Any = None

    async def respond(self, to: Incoming, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        """It was answered."""
        del to, headers
        self.told = orjson.loads(data)


class Says:
    """A provider that describes its tool with so many letters."""

    def __init__(self, letters: int) -> None:
        self._surface = Surface(description="x" * letters)

    async def surface(self, section: IntegrationSection) -> Surface:
        """The surface of any tool."""
        del section
        return self._surface


@pytest.mark.parametrize(("letters", "code"), [(10, None), (MAX_SURFACE_BYTES, "invalid_definition")])
async def test_what_is_too_large_to_be_told_is_refused(letters: int, code: str | None) -> None:
    """Whoever asks hears so, instead of nothing."""
    bus = Answers()
    handlers = Handlers(bus, Says(letters), servers=None)  # type: ignore[arg-type]
    question = DescribeTool(tenant="acme", definition=DEFINITION).model_dump_json(by_alias=True, exclude_none=True)
    await handlers.on_describe(Incoming("toolbus.intask.describe", question.encode(), {}, "_INBOX_.x"))
    if code is None:
        assert bus.told["surface"]["description"] == "x" * letters
    else:
        assert bus.told["problem"]["code"] == code
        assert "bytes" in bus.told["problem"]["detail"]
