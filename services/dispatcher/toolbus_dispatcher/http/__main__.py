"""`python -m toolbus_dispatcher.http docs/openapi.json`: write the OpenAPI document."""

import json
import sys
from pathlib import Path

from toolbus_dispatcher.http.application import make_application


def document() -> str:
    """The document as it is kept in `docs/`."""
    return json.dumps(make_application(None, {}).openapi(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document(), "utf-8")
