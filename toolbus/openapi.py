"""`python -m toolbus.openapi docs/openapi.json`: write the OpenAPI document of all services together."""

import json
import sys
from pathlib import Path

from toolbus_approvals.http.application import make_application as make_approvals
from toolbus_dispatcher.http.application import make_application as make_dispatcher
from toolbus_integrations.http.application import make_application as make_integrations
from toolbus_runtime.http.front import merged


def document() -> str:
    """The document as it is kept in `docs/`, and as `toolbus up` serves it."""
    makers = (make_dispatcher, make_approvals, make_integrations)
    whole = merged(*(make(None, {}).openapi() for make in makers))
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document(), "utf-8")
