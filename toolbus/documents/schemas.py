"""JSON Schemas of every command, event and view, each a document of its own."""

from toolbus_contracts.catalogue import COMMANDS, VIEWS, event_types

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[str, dict[str, object]]:
    """Every schema by its name: `commands/call.submit`, `events/call.requested.v1`, `views/call`."""
    groups = (("commands", COMMANDS), ("events", event_types()), ("views", VIEWS))
    return {
        f"{group}/{name}": {
            "$schema": DIALECT,
            "$id": f"urn:toolbus:{group}:{name}",
            **model.model_json_schema(mode="serialization" if group == "views" else "validation"),
        }
        for group, models in groups
        for name, model in models.items()
    }
