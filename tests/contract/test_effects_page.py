"""Every definition on the pages about effects and waits can be defined as it stands there."""

import re
from pathlib import Path

import pytest
import yaml

from toolbus_contracts.tools import Approval, Retry, ToolDefinition
from toolbus_dispatcher.core.resources import check_definition

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, WAITS = DOCS / "effects.md", DOCS / "waits.md"
DEFINITIONS = [
    definition
    for page in (PAGE, WAITS)
    for block in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    for definition in yaml.safe_load_all(block)
]


@pytest.mark.parametrize("written", DEFINITIONS, ids=lambda written: str(written["name"]))
def test_a_definition_on_the_pages_is_valid(written: dict[str, object]) -> None:
    """It is read and checked as the server does it."""
    check_definition(ToolDefinition.model_validate(written))


def test_the_page_shows_the_defaults() -> None:
    """What is used unless given is what the code uses."""
    usual = Retry()
    text = PAGE.read_text()
    assert f"| `attempts` | {usual.attempts} |" in text
    delays = f"{usual.first_delay_s:g}, {usual.factor:g}, {usual.max_delay_s:g}"
    assert f"| `first_delay_s`, `factor`, `max_delay_s` | {delays} |" in text
    assert f"| `jitter` | {usual.jitter:g} |" in text


def test_the_page_about_waits_shows_the_defaults() -> None:
    """As above."""
    usual = Approval()
    text = WAITS.read_text()
    assert f"| `quorum` | {usual.quorum} |" in text
    assert f"| `requester_may_approve` | {str(usual.requester_may_approve).lower()} |" in text
    assert f"| `expires_s`, `on_expiry` | {usual.expires_s:g}, {usual.on_expiry} |" in text
    assert f"| `may_edit` | {str(usual.may_edit).lower()} |" in text
