"""`python -m toolbus.shelf docs/integrations.md`: write the page of the integrations that come with Toolbus."""

import sys
from pathlib import Path

from toolbus.documents.integrations import integrations
from toolbus_integrations.host.loading import describe, find, origin
from toolbus_integrations.hosting.shelf import ours


def document() -> str:
    """The page as it is kept in `docs/`; whether what a provider needs is installed here does not matter."""
    return integrations(describe(find(name), *origin(name)) for name in ours())


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(document(), "utf-8")
