"""Operations have names, servers and credentials; documents are read whole or not at all."""

from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.unit.importing.making import document, made, parameter, reason, section
from toolbus.importing.documents import Document, read_document
from toolbus.importing.operations import chosen, operations_of, server_of, tool_name
from toolbus_contracts.errors import Unreadable

JSON = '{"openapi": "3.0.3", "paths": {}}'
KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}
QUERY_KEY = {"type": "apiKey", "in": "query", "name": "key"}
BEARER = {"type": "http", "scheme": "Bearer"}


@pytest.mark.parametrize(
    ("identity", "name"),
    [
        ("getPet", "getPet"),
        ("repos/list-commits", "repos_list-commits"),
        ("get /pets/{id}", "get_pets_id"),
        ("1st", "_1st"),
        ("é", "operation"),
    ],
)
def test_names_of_tools(identity: str, name: str) -> None:
    """Characters that a name cannot have become underscores."""
    assert tool_name(identity) == name


def test_long_names_stay_apart() -> None:
    """Cut, with a hash of the whole; the prefix counts."""
    first, second = (tool_name("x" * 80 + end, "my_") for end in "ab")
    assert (len(first), first[:4], first != second) == (64, "my_x", True)


def test_each_operation_has_a_name_of_its_own() -> None:
    """Two that would be called the same are told apart by method and path, whichever of them are chosen."""
    paths = {
        "/a": {"get": {"operationId": "x.y"}, "post": {"operationId": "x y"}},
        "/b": {"get": {}},
        "/c": {"$ref": "#/no"},
    }
    found = operations_of(document(paths), "p_")
    assert [one.tool for one in found] == ["p_x_y", "p_x_y_post_a", "p_get_b"]
    assert [one.tool for one in chosen(found, (), ["GET /b"])] == ["p_get_b"]


def test_operations_are_chosen_by_tag_or_id() -> None:
    """Any of them; a tag or an id that none has is a mistake."""
    paths = {"/a": {"get": {"operationId": "one", "tags": ["t"]}, "put": {"operationId": "two", "tags": "t"}}}
    found = operations_of(document(paths))
    assert [one.id for one in chosen(found, ["t"], [])] == ["one"]
    assert [one.id for one in chosen(found, ["t"], ["two"])] == ["one", "two"]
    assert len(chosen(found, [], [])) == 2
    with pytest.raises(Unreadable, match="no operation has the tag u; there are t"):
        chosen(found, ["u"], [])
    with pytest.raises(Unreadable, match="no operation is called three"):
        chosen(found, [], ["three"])
    with pytest.raises(Unreadable, match=r"test\.yaml has no paths"):
        operations_of(Document({"openapi": "3.1.0"}, "test.yaml"))


@pytest.mark.parametrize(
    ("name", "servers", "found"),
    [
        ("a.yaml", [{"url": "https://{region}.example.com/v1/", "variables": {"region": {"default": "eu"}}}],
         "https://eu.example.com/v1"),
        ("https://docs.example.com/specs/a.yaml", [{"url": "../v2"}], "https://docs.example.com/v2"),
        ("https://docs.example.com/specs/a.yaml", [], "https://docs.example.com"),
    ],
)  # fmt: skip
def test_servers(name: str, servers: Any, found: str) -> None:
    """Variables have defaults; a relative URL starts at the document's own."""
    whole = Document({"openapi": "3.1.0", "servers": servers, "paths": {"/a": {"get": {}}}}, name)
    assert server_of(whole, operations_of(whole)[0], None) == found


def test_an_operation_may_have_servers_of_its_own() -> None:
    """The nearest counts; what the command says stands in the place of all of them."""
    paths = {
        "/a": {
            "servers": [{"url": "https://path.example"}],
            "get": {"servers": [{"url": "https://own.example"}]},
            "put": {},
        }
    }
    whole = document(paths)
    get, put = operations_of(whole)
    assert server_of(whole, get, None) == "https://own.example"
    assert server_of(whole, put, None) == "https://path.example"
    assert server_of(whole, get, "http://mine/") == "http://mine"


@pytest.mark.parametrize("servers", [[{"url": "/v1"}], [{"url": "https://{x}.example"}], ["x"], [{"url": "ftp://x"}]])
def test_without_a_whole_url_the_operation_is_left(servers: Any) -> None:
    """It says how to name one."""
    assert "name one with --server" in reason({"servers": servers})


def secured(*requirements: Any, **schemes: Any) -> dict[str, Any]:
    """Options of a document with security schemes."""
    return {"security": list(requirements), "components": {"securitySchemes": schemes}}


def test_keys_go_where_their_scheme_says() -> None:
    """As references that the definition fixes; a parameter of the same name is none."""
    cookie = {"type": "apiKey", "in": "cookie", "name": "sid"}
    told = made(
        {"parameters": [parameter("x-key", "header"), parameter("key")]},
        at="get /a",
        **secured({"K": [], "Q": [], "my cookie": []}, K=KEY, Q=QUERY_KEY, **{"my cookie": cookie}),
    )
    part = told.definition["api_call"]
    assert (part["headers"], part["params"], part["cookies"]) == (
        {"X-Key": "secret://K"},
        {"key": "secret://Q"},
        {"sid": "secret://my_cookie"},
    )
    assert part["params_schema"]["properties"] == {}
    assert told.secrets == {
        "K": "the key, sent as header X-Key",
        "Q": "the key, sent as query key",
        "my_cookie": "the key, sent as cookie sid",
    }


def test_bearer_and_basic() -> None:
    """OAuth 2.0 and OpenID Connect end in a bearer token; basic has two secrets."""
    for scheme in (BEARER, {"type": "oauth2", "flows": {}}, {"type": "openIdConnect"}):
        assert section({}, **secured({"t": []}, t=scheme))["auth"] == {"bearer": "secret://t"}
    assert section({}, **secured({"b": []}, b={"type": "http", "scheme": "basic"}))["auth"] == {
        "basic": {"username": "secret://b_username", "password": "secret://b_password"}
    }


def test_the_first_way_in_that_can_be_sent_is_taken() -> None:
    """Of several requirements; an operation's own stand before the document's; `{}` lets in without any."""
    schemes = {"M": {"type": "mutualTLS"}, "K": KEY, "T": BEARER}
    assert section({}, **secured({"M": []}, {"K": []}, {"T": []}, **schemes))["headers"] == {"X-Key": "secret://K"}
    assert "headers" not in section({"security": []}, **secured({"K": []}, **schemes))
    assert "headers" not in section({}, **secured({}, {"M": []}, **schemes))
    assert section({}, **secured({}, {"K": []}, **schemes))["headers"] == {"X-Key": "secret://K"}


@pytest.mark.parametrize(
    ("requirement", "why"),
    [
        ({"M": []}, "a scheme of type mutualTLS cannot be sent"),
        ({"D": []}, "security D: digest cannot be sent"),
        ({"none": []}, "does not describe it"),
        ({"K": [], "L": []}, "two schemes fill X-Key"),
        ({"T": [], "A": []}, "fill the header Authorization"),
        ({"T": [], "U": []}, "security U: bearer cannot be sent"),
    ],
)
def test_without_a_way_in_the_operation_is_left(requirement: Any, why: str) -> None:
    """A call would be refused in any case."""
    schemes = {
        "M": {"type": "mutualTLS"},
        "D": {"type": "http", "scheme": "digest"},
        "K": KEY,
        "L": KEY,
        "T": BEARER,
        "U": BEARER,
        "A": {**KEY, "name": "Authorization"},
    }
    assert why in reason({}, **secured(requirement, **schemes))


def test_a_key_in_the_query_and_a_parameter_elsewhere_do_not_share_a_name() -> None:
    """The definition would fill both; in a body there is a way around it."""
    from tests.unit.importing.making import TEXT, body

    more = secured({"Q": []}, Q=QUERY_KEY)
    assert "is both a parameter and the key" in reason({"parameters": [parameter("key", "header")]}, **more)
    told = section({"requestBody": body({"properties": {"key": TEXT}})}, **more)
    assert told["params_in"] == {"body": "body"}


def test_what_a_model_is_told_of_a_tool() -> None:
    """Summary and description, each once, and that it is deprecated; at most 4,096 characters."""
    told = made({"summary": "Finds.", "description": "Finds things.", "deprecated": True, "operationId": "find"})
    assert told.definition["description"] == "Deprecated.\n\nFinds.\n\nFinds things."
    assert made({"summary": "Finds.", "description": " Finds. "}).definition["description"] == "Finds."
    assert len(made({"description": "x" * 5000}).definition["description"]) == 4096


def test_what_no_definition_can_say_leaves_the_operation() -> None:
    """A url of 8,193 characters, for instance."""
    assert "no tool can say that: api_call/url" in reason({}, at="get /" + "x" * 8192)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"swagger": "2.0"}', "is Swagger 2.0; convert it"),
        ('{"openapi": "4.0.0"}', "is of OpenAPI 4.0.0; 3.0 and 3.1 can be imported"),
        ('{"openapi": 3.1}', "is of OpenAPI 3.1;"),
        ("{}", "has no field openapi"),
        ("[1]", "no OpenAPI document: it is no object"),
        ("{", "neither JSON nor YAML"),
        ("a: [", ":2:1: did not find"),
        ("a: &a [*a]", "recursive"),
        ("\x01", "neither JSON nor YAML"),
    ],
)
def test_what_is_no_document_is_refused(tmp_path: Path, text: str, told: str) -> None:
    """With its name, and the place in YAML."""
    path = tmp_path / "spec"
    path.write_text(text)
    with pytest.raises(Unreadable) as caught:
        read_document(str(path))
    assert caught.value.message.startswith(str(path))
    assert told in caught.value.message


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    """Keys are text, and words that YAML once took for values too."""
    path = tmp_path / "spec"
    path.write_text("openapi: 3.0.3\npaths: {}\nresponses: {200: no, 1.0: 2020-01-01}\n")
    assert read_document(str(path)).root["responses"] == {"200": "no", "1.0": "2020-01-01"}
    path.write_text(JSON)
    assert read_document(str(path)).is_3_0


def test_a_document_is_fetched(httpserver: HTTPServer) -> None:
    """Redirects are followed; other statuses and addresses that are none are told."""
    httpserver.expect_request("/old").respond_with_data(
        "", status=302, headers={"location": httpserver.url_for("/new")}
    )
    httpserver.expect_request("/new").respond_with_data(JSON)
    httpserver.expect_request("/gone").respond_with_data("", status=404)
    assert read_document(httpserver.url_for("/old")).name.endswith("/old")
    for url, told in (
        (httpserver.url_for("/gone"), "answers 404"),
        ("http://127.0.0.1:1/", "cannot be fetched"),
        ("http://x:port/", "no URL"),
    ):
        with pytest.raises(Unreadable, match=told):
            read_document(url)


def test_a_file_that_is_missing_is_told() -> None:
    """With what the system says."""
    with pytest.raises(Unreadable, match="/nowhere cannot be read: No such file"):
        read_document("/nowhere")


def test_references_are_pointers() -> None:
    """Into objects and lists, with escapes; circles of references end."""
    more: dict[str, Any] = {"x~y": [{"$ref": "#/one"}], "one": {"$ref": "#/two"}, "two": {"$ref": "#/one"}}
    whole = document({"/a b": {}}, **more)
    assert whole.at("#/paths/~1a%20b") == {}
    assert whole.at("#/x~0y/0") == {"$ref": "#/one"}
    with pytest.raises(LookupError, match="circle"):
        whole.resolved(whole.at("#/x~0y/0"))
    with pytest.raises(LookupError, match="nowhere"):
        whole.at("#/x~0y/1")
