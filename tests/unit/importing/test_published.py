"""Documents that hold tools among other things load as their authors wrote them."""

from pathlib import Path

import pytest

from toolbus.definitions import Written, read_definitions
from toolbus_contracts.errors import Unreadable
from toolbus_contracts.tools import ToolDefinition

DOCUMENTS = Path(__file__).parent / "documents"


def read(name: str) -> tuple[dict[str, Written], list[str]]:
    """The tools of a document by name, and what was told, without the folder."""
    told: list[str] = []
    found = read_definitions(str(DOCUMENTS / name), bytes, told.append)
    return {one.name: one for one in found}, [line.removeprefix(f"{DOCUMENTS}/") for line in told]


@pytest.mark.parametrize("name", ["weather_task.yaml", "agent.yaml", "older_task.json"])
def test_each_tool_is_a_valid_definition(name: str) -> None:
    """Unchanged documents give definitions that every server takes."""
    found, _ = read(name)
    assert found
    for written in found.values():
        assert ToolDefinition.model_validate(written.definition).type == written.definition["type"]


def test_the_tools_of_a_task_are_read_and_its_other_keys_told() -> None:
    """One line for each other key, with file, line and path; a whole text that names a secret refers to it."""
    found, told = read("weather_task.yaml")
    assert list(found) == ["get_weather", "send_note", "read_page"]
    assert found["get_weather"].definition["integration"] == {
        "provider": "weather",
        "method": "get",
        "setup": {"openweathermap_api_key": "secret://weather_key"},
    }
    assert found["send_note"].definition["integration"]["setup"]["password"] == "secret://mail_password"
    assert found["read_page"].definition["api_call"]["headers"]["X-Key"] == "secret://page_key"
    assert "inherited" not in found["read_page"].definition
    assert found["send_note"].place.endswith("weather_task.yaml:17 /tools/1")
    expression = "weather_task.yaml:30 /tools/2/api_call/headers/Authorization: an expression is not computed"
    assert [line for line in told if "expression" in line] == [f"{expression}: it is sent as it stands"]
    assert [line for line in told if "expression" not in line] == [
        "weather_task.yaml:2 /name: not used yet",
        "weather_task.yaml:3 /description: not used yet",
        "weather_task.yaml:4 /input_schema: not used yet",
        "weather_task.yaml:32 /main: not used yet",
        "weather_task.yaml:36 /polish: not used yet",
    ]


def test_a_function_may_be_named_inside_its_section() -> None:
    """As in the tools of models' APIs; a name beside the section counts more. Other types are told and passed over."""
    found, told = read("agent.yaml")
    assert list(found) == ["book_table", "ask_guest", "list_users"]
    assert found["book_table"].definition == {
        "name": "book_table",
        "description": "Books a table.",
        "type": "function",
        "function": {
            "parameters": {
                "type": "object",
                "properties": {"people": {"type": "integer"}},
                "required": ["people"],
            }
        },
    }
    assert told[-1] == ("agent.yaml:24 /tools/3: not used: nothing here carries out tools of type computer_20241022")
    assert not [line for line in told if "expression" in line]


def test_the_older_form_has_its_section_under_spec() -> None:
    """Its type says which section it is; JSON has no lines, but paths."""
    found, told = read("older_task.json")
    assert found["hook"].definition == {
        "name": "hook",
        "type": "api_call",
        "api_call": {"method": "POST", "url": "https://hooks.example.com/x"},
    }
    assert found["web_search"].definition["integration"]["setup"] == {"brave_api_key": "secret://brave_key"}
    assert found["web_search"].place.endswith("older_task.json /tools/0")
    assert told == [f"older_task.json /{key}: not used yet" for key in ("name", "inherit_tools", "main")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "name: a\ntools:\n  - type: api_call\n",
            "standard input:3 /tools/0: a tool definition is an object with a name",
        ),
        ("main: []\ntools:\n- {name: a}\n- just text\n", "standard input:4 /tools/1: a tool definition"),
        ("name: a\ntools: []\n", "standard input holds no definition"),
        ("tools: {a: {type: function}}\n", "standard input:1: a tool definition is an object with a name"),
    ],
)
def test_mistakes_name_file_line_and_path(text: str, told: str) -> None:
    """A list of tools with something else in it, an empty one, and tools that are no list."""
    with pytest.raises(Unreadable) as caught:
        read_definitions("-", text.encode)
    assert caught.value.message.startswith(told)
