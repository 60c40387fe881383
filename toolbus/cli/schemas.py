"""`toolbus schemas`: the JSON Schemas of every command, event and view, from the contracts of this version."""

import json
from pathlib import Path
from typing import Annotated

import typer

from toolbus.cli.options import TABLE, Output
from toolbus.cli.output import note, show_value
from toolbus_contracts.errors import Unreadable

app = typer.Typer(help="JSON Schemas of commands, events and views.", no_args_is_help=True)


@app.command("export")
def export(
    *,
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where the files go; without it all are printed as one object.")
    ] = None,
    output: Output = TABLE,
) -> None:
    """Write one JSON Schema for each command, event and view."""
    found = schemas()
    if folder is None:
        show_value(found, output)
        return
    try:
        for name, schema in found.items():
            path = folder / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise Unreadable("invalid_request", f"{folder} cannot be written: {error.strerror}") from error
    note(f"{len(found)} schemas are in {folder}.")


def schemas() -> dict[str, object]:
    """Every schema by the name of its file."""
    from toolbus_contracts.catalogue import COMMANDS, VIEWS, event_types

    groups = (("commands", COMMANDS), ("events", event_types()), ("views", VIEWS))
    return {
        f"{group}/{name}": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **model.model_json_schema(mode="serialization" if group == "views" else "validation"),
        }
        for group, models in groups
        for name, model in models.items()
    }
