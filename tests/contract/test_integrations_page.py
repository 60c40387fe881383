"""The page of integrations says what the providers say, and each of ours is whole."""

import pytest

from tests.source import ROOT
from toolbus.documents.integrations import integrations
from toolbus.shelf import document
from toolbus_contracts.integrations import ProviderView
from toolbus_integrations.host.describing import described
from toolbus_integrations.host.loading import describe, find
from toolbus_integrations.hosting.shelf import ours
from toolbus_integrations.providers import SHARED

PUBLISHED = {
    "algolia": {"search"},
    "arxiv": {"search"},
    "brave": {"search"},
    "browserbase": {
        "list_sessions",
        "create_session",
        "get_session",
        "complete_session",
        "get_live_urls",
        "install_extension_from_github",
    },
    "cloudinary": {"media_upload", "media_edit"},
    "dummy": {"echo"},
    "email": {"send"},
    "ffmpeg": {"bash_cmd"},
    "google_sheets": {
        "read_values",
        "write_values",
        "append_values",
        "clear_values",
        "batch_read",
        "batch_write",
    },
    "llama_parse": {"parse"},
    "mailgun": {"send_email"},
    "mcp": {"list_tools", "call_tool"},
    "remote_browser": {"perform_action"},
    "spider": {"crawl", "links", "screenshot", "search"},
    "unstructured": {"parse"},
    "weather": {"get"},
    "wikipedia": {"search"},
}


def test_the_page_is_that_of_the_source() -> None:
    """`make schemas` writes it."""
    assert (ROOT / "docs" / "integrations.md").read_text("utf-8") == document()


def test_every_method_of_the_published_shelf_is_there() -> None:
    """None is missing, and a module that is no provider is named as shared."""
    found = {name: {method.method for method in describe(find(name), "", "").methods} for name in ours()}
    assert {name: found.get(name) for name in PUBLISHED} == PUBLISHED
    assert not SHARED & found.keys()


@pytest.mark.parametrize("name", ours())
def test_every_provider_of_ours_is_described(name: str) -> None:
    """With words for people and models; one that cannot be used here tells what to install, and nothing else."""
    view = describe(find(name), "", "")
    assert view.info.friendly_name
    assert all(method.description for method in view.methods)
    fault = described(name).fault
    assert fault is None or fault.code == "provider_missing"


def test_what_a_schema_says_is_told_in_few_words() -> None:
    """References, choices, lists and what is not told."""
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/A"},
            "b": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "description": "one |\n two"},
            "c": {"type": "array", "items": {"type": "integer"}},
            "d": {},
            "e": {"const": 1},
        },
        "required": ["a"],
        "$defs": {"A": {"enum": ["x", "y"]}},
    }
    method = {
        "method": "m",
        "description": "Do.",
        "arguments": schema,
        "output": {"type": "object", "additionalProperties": True},
        "contract": {"effect": "read", "idempotency": "native"},
        "timeout_s": 5.0,
    }
    view = ProviderView.model_validate(
        {
            "provider": "p",
            "info": {"friendly_name": "P"},
            "extra": "x",
            "setup": {"type": "object"},
            "methods": [method],
        }
    )
    page = integrations([view])
    assert 'P · needs `pip install "toolbus[x]"`' in page
    assert '| `a` | `"x"` or `"y"` | required |  |' in page
    assert "| `b` | string or null | `null` | one \\| two |" in page
    assert "| `c` | list of integer |  |  |" in page
    assert "| `d` | any |  |  |" in page
    assert "| `e` | `1` |  |  |" in page
    assert "Setup: nothing." in page
    assert "Output: whatever is given." in page
    assert "Contract: read, idempotency native · 5 s an attempt" in page
