"""Every definition on the page about effects can be defined as it stands there."""

import re
from pathlib import Path

import pytest
import yaml

from toolbus_contracts.tools import Retry, ToolDefinition
from toolbus_dispatcher.core.resources import check_definition

PAGE = Path(__file__).resolve().parents[2] / "docs" / "effects.md"
DEFINITIONS = [
    definition
    for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for definition in yaml.safe_load_all(block)
]


@pytest.mark.parametrize("written", DEFINITIONS, ids=lambda written: str(written["name"]))
def test_a_definition_on_the_page_is_valid(written: dict[str, object]) -> None:
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
