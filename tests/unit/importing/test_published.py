"""Documents that hold tools among other things load as their authors wrote them."""

import json
from pathlib import Path

import pytest

from toolbus.definitions import Written, read_definitions
from toolbus_contracts.errors import Unreadable
from toolbus_contracts.tools import ToolDefinition
from toolbus_contracts.values import Json

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
    request = found["read_page"].definition["api_call"]
    assert request["headers"] == {"X-Key": "secret://page_key", "X-Day": "$ time.strftime('%A')"}
    assert request["auth"] == {"bearer": "secret://page_key"}
    assert "inherited" not in found["read_page"].definition
    assert found["send_note"].place.endswith("weather_task.yaml:17 /tools/1")
    expression = "weather_task.yaml:33 /tools/2/api_call/headers/X-Day: an expression is not computed"
    assert [line for line in told if "expression" in line] == [f"{expression}: it is sent as it stands"]
    assert [line for line in told if "expression" not in line] == [
        "weather_task.yaml:2 /name: not used yet",
        "weather_task.yaml:3 /description: not used yet",
        "weather_task.yaml:4 /input_schema: not used yet",
        "weather_task.yaml:35 /main: not used yet",
        "weather_task.yaml:39 /polish: not used yet",
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


def applied(text: str) -> tuple[dict[str, Json], list[str]]:
    """The only tool of a document, and what was told of it, without the place."""
    told: list[str] = []
    (found,) = read_definitions("-", text.encode, told.append)
    return found.definition, [line.partition(" /tools/0")[2] for line in told if "/tools/0" in line]


@pytest.mark.parametrize(
    "text",
    [
        "$ secrets.KEY",
        "$ {secrets.KEY}",
        "$  { secrets.KEY }",
        "{secrets.KEY}",
        "{{ secrets.KEY }}",
    ],
)
def test_every_way_to_name_a_secret_is_a_reference(text: str) -> None:
    """The whole text names it; nothing is left to compute."""
    section = {"method": "GET", "url": "https://x", "headers": {"k": text}}
    definition, told = applied(json.dumps({"tools": [{"name": "a", "api_call": section}]}))
    assert definition["api_call"]["headers"] == {"k": "secret://KEY"}
    assert told == []


@pytest.mark.parametrize(
    "text",
    [
        "Bearer {secrets.KEY}",
        "Bearer {{secrets.KEY}}",
        "$ f'Bearer {secrets.KEY}'",
        '$ "Bearer " + {secrets.KEY}',
        "$ 'Bearer ' + secrets.KEY",
        "Bearer {KEY}",
    ],
)
def test_a_bearer_token_that_is_a_secret_is_one(text: str) -> None:
    """However its author put the header together; next to another `auth` the header stays as it is."""
    section = {"method": "GET", "url": "https://x", "headers": {"authorization": text, "x": "1"}}
    definition, told = applied(json.dumps({"tools": [{"name": "a", "api_call": section}]}))
    assert definition["api_call"]["auth"] == {"bearer": "secret://KEY"}
    assert definition["api_call"]["headers"] == {"x": "1"}
    told_of_names = ["/api_call/headers/authorization: stands for a secret: toolbus secrets set KEY"]
    assert told == ([] if "secrets." in text else told_of_names)
    given = {**section, "auth": {"bearer": "secret://OTHER"}}
    definition, _ = applied(json.dumps({"tools": [{"name": "a", "api_call": given}]}))
    assert definition["api_call"] == given


@pytest.mark.parametrize("text", ["Basic {token}", "Bearer {secrets.A} {secrets.B}", "$ 'Bearer ' + token"])
def test_other_authorizations_are_sent_as_they_stand(text: str) -> None:
    """And that is told."""
    section = {"method": "GET", "url": "https://x", "headers": {"Authorization": text}}
    definition, told = applied(json.dumps({"tools": [{"name": "a", "api_call": section}]}))
    assert definition["api_call"] == section
    assert told == ["/api_call/headers/Authorization: an expression is not computed: it is sent as it stands"]


def test_the_token_of_an_mcp_server_is_set_up_as_such() -> None:
    """A secret is a whole text, and of this header only a part."""
    headers = {"Authorization": "Bearer {their_token}", "X-Key": "THEIR_KEY"}
    section = {"provider": "mcp", "setup": {"http_headers": headers}}
    definition, told = applied(json.dumps({"tools": [{"name": "a", "integration": section}]}))
    expected = {"bearer": "secret://their_token", "http_headers": {"X-Key": "secret://THEIR_KEY"}}
    assert definition["integration"]["setup"] == expected
    assert told == [
        "/integration/setup/http_headers/Authorization: stands for a secret: toolbus secrets set their_token",
        "/integration/setup/http_headers/X-Key: stands for a secret: toolbus secrets set THEIR_KEY",
    ]
    both = {"provider": "mcp", "setup": {"bearer": "secret://own", "http_headers": {"authorization": "Bearer {a}"}}}
    definition, _ = applied(json.dumps({"tools": [{"name": "a", "integration": both}]}))
    assert definition["integration"] == both


def test_capitals_in_place_of_a_value_name_a_secret() -> None:
    """In setup and headers, at any depth, and each is told; elsewhere, and in other shapes, they are text."""
    setup = {"api_key": "SOME_API_KEY", "params": {"keys": ["YOUR_KEY_2", "GET", "Some_Key", "A_B " + "C"]}}
    section = {"provider": "p", "setup": setup, "arguments": {"option": "FORMATTED_VALUE"}}
    definition, told = applied(json.dumps({"tools": [{"name": "a", "integration": section}]}))
    assert definition["integration"]["setup"] == {
        "api_key": "secret://SOME_API_KEY",
        "params": {"keys": ["secret://YOUR_KEY_2", "GET", "Some_Key", "A_B C"]},
    }
    assert definition["integration"]["arguments"] == section["arguments"]
    assert told == [
        "/integration/setup/api_key: stands for a secret: toolbus secrets set SOME_API_KEY",
        "/integration/setup/params/keys/0: stands for a secret: toolbus secrets set YOUR_KEY_2",
    ]
    request = {"method": "GET", "url": "https://x", "headers": {"x-key": "MY_KEY"}, "params": {"a": "MY_KEY"}}
    definition, _ = applied(json.dumps({"tools": [{"name": "a", "api_call": request}]}))
    assert definition["api_call"] == {**request, "headers": {"x-key": "secret://MY_KEY"}}


def test_a_provider_that_is_spelled_otherwise_is_known() -> None:
    """As one page of the published ones has it; others stay as they are."""
    for written, meant in (("llama-parse", "llama_parse"), ("their-own", "their-own")):
        definition, _ = applied(f"tools: [{{name: a, integration: {{provider: {written}}}}}]")
        assert definition["integration"]["provider"] == meant


def test_what_steps_override_calls_may_override() -> None:
    """Of the request: url, method, headers, at any depth of the steps; not where the definition says it itself."""
    request: dict[str, Json] = {"method": "GET", "url": "https://x"}
    tools = [{"name": "a", "api_call": request}, {"name": "b", "function": {}}]
    steps = [{"over": "$ _", "map": {"tool": "a", "arguments": {"url": "https://x/1", "params": {}}}}]
    others = {"other": [{"tool": "a", "arguments": {"method": "GET"}}, {"tool": "b", "arguments": {"url": "c"}}]}
    told: list[str] = []
    document = {"tools": tools, "main": steps, **others}
    first, second = read_definitions("-", json.dumps(document).encode, told.append)
    assert first.definition["api_call"]["overridable"] == ["url", "method"]
    assert second.definition == {"name": "b", "function": {}}
    assert [line for line in told if "/tools/" in line] == [
        "standard input /tools/0: steps give its url, method: calls may override that; bind its secrets to hosts"
    ]
    request["overridable"] = ["headers"]
    first, _ = read_definitions("-", json.dumps(document).encode)
    assert first.definition["api_call"]["overridable"] == ["headers"]


def test_braces_are_told_but_in_a_url() -> None:
    """There a name in them is the place of an argument; two of them are an expression everywhere."""
    for url, count in (("https://x/{id}", 1), ("https://x/{{id}}", 2)):
        section = {"method": "GET", "url": url, "json": {"text": "{id}", "more": ["{ }", "a"]}}
        definition, told = applied(json.dumps({"tools": [{"name": "a", "api_call": section}]}))
        assert definition["api_call"] == section
        assert len(told) == count
        assert told[-1].startswith("/api_call/json/text: an expression")
