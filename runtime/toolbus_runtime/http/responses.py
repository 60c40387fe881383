"""JSON answers."""

from typing import Any

import orjson
from starlette.responses import Response


class JsonResponse(Response):
    """An answer as JSON, written by orjson."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Write the content."""
        return orjson.dumps(content)
