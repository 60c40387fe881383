"""
What is generated into `docs/` from the contracts: JSON Schemas, AsyncAPI, tables of codes, statuses, egress rules.

`render` gives every document by its path below `docs/`, without touching a file; `write` writes them.
`openapi.json` stands beside them but comes from the dispatcher's application, which this part may not import.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from toolbus.documents.asyncapi import asyncapi
from toolbus.documents.egress import egress
from toolbus.documents.schemas import schemas
from toolbus.documents.tables import codes_table, statuses_table

__all__ = ["render", "schemas", "write"]


def render() -> dict[str, str]:
    """Every generated document: its path below `docs/` and its text."""
    return {
        **{f"schemas/{name}.json": _text(schema) for name, schema in schemas().items()},
        "asyncapi.json": _text(asyncapi()),
        "egress.md": egress(),
        "errors.md": codes_table(),
        "statuses.md": statuses_table(),
    }


def write(folder: Path) -> list[Path]:
    """Every document stands in the folder as it is generated now; schemas that are no longer there are gone."""
    documents = render()
    for old in (folder / "schemas").rglob("*.json"):
        if str(old.relative_to(folder)) not in documents:
            old.unlink()
    return [_write(folder / name, text) for name, text in documents.items()]


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def _text(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
