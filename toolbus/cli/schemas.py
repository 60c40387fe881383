"""`toolbus schemas`: the JSON Schemas of every command, event and view, from the contracts of this version."""

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
    """Write one JSON Schema for each command, event and view; AsyncAPI and the tables of codes and statuses beside."""
    from toolbus import documents

    if folder is None:
        show_value(documents.schemas(), output)
        return
    try:
        written = documents.write(folder)
    except OSError as error:
        raise Unreadable("invalid_request", f"{folder} cannot be written: {error.strerror}") from error
    note(f"{len(written)} documents are in {folder}.")
