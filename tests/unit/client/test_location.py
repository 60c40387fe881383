"""Where the client finds its server."""

import json
from pathlib import Path

import pytest

from toolbus import Client, NoServer
from toolbus.client.location import find_server

URL, KEY = "http://127.0.0.1:8700", "tb_file"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which `toolbus up` left its credentials."""
    leave(tmp_path, json.dumps({"url": URL, "api_key": KEY, "tenant": "default"}))
    return tmp_path


def leave(folder: Path, text: str) -> None:
    """Write the credentials file."""
    path = folder / ".toolbus" / "credentials.json"
    path.parent.mkdir()
    path.write_text(text)


def test_arguments_win_over_environment_and_file(folder: Path) -> None:
    """What is given is used, whatever else there is."""
    environ = {"TOOLBUS_URL": "http://env", "TOOLBUS_API_KEY": "tb_env"}
    found = find_server("https://given/", "tb_given", environ=environ, folder=folder)
    assert (found.url, found.api_key) == ("https://given", "tb_given")


def test_environment_wins_over_file(folder: Path) -> None:
    """TOOLBUS_URL and TOOLBUS_API_KEY come before the data folder."""
    environ = {"TOOLBUS_URL": "http://env", "TOOLBUS_API_KEY": "tb_env"}
    found = find_server(None, None, environ=environ, folder=folder)
    assert (found.url, found.api_key) == ("http://env", "tb_env")


def test_file_is_used_when_nothing_else_is_given(folder: Path) -> None:
    """What `toolbus up` left here is enough."""
    found = find_server(None, None, environ={}, folder=folder)
    assert (found.url, found.api_key, found.found_in) == (URL, KEY, str(folder / ".toolbus" / "credentials.json"))


def test_key_alone_goes_to_the_server_of_the_file(folder: Path) -> None:
    """Another key for the server that was started here."""
    assert find_server(None, "tb_other", environ={}, folder=folder).url == URL


def test_key_of_the_file_is_not_sent_to_another_server(folder: Path) -> None:
    """A key is a secret between us and its own server."""
    with pytest.raises(NoServer, match="belongs to"):
        find_server("https://elsewhere.example.com", None, environ={}, folder=folder)


def test_url_of_the_same_server_takes_the_key_of_the_file(folder: Path) -> None:
    """Naming the server that the file names changes nothing."""
    assert find_server(URL + "/", None, environ={}, folder=folder).api_key == KEY


def test_nothing_found_says_what_to_do(tmp_path: Path) -> None:
    """Whoever begins learns how to begin."""
    with pytest.raises(NoServer, match="toolbus up") as caught:
        find_server(None, None, environ={}, folder=tmp_path)
    assert "TOOLBUS_URL" in caught.value.next_step


def test_url_without_a_key_says_what_to_set(tmp_path: Path) -> None:
    """The missing half is named."""
    with pytest.raises(NoServer) as caught:
        find_server(None, None, environ={"TOOLBUS_URL": "http://env"}, folder=tmp_path)
    assert "TOOLBUS_API_KEY" in caught.value.next_step


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"url": 1, "api_key": "x"}', "not json"])
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    """A file that holds something else is told by its path."""
    leave(tmp_path, text)
    with pytest.raises(NoServer, match=r"credentials\.json"):
        find_server(None, None, environ={}, folder=tmp_path)


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    """A folder in its place cannot be read."""
    (tmp_path / ".toolbus" / "credentials.json").mkdir(parents=True)
    with pytest.raises(NoServer, match="cannot be read"):
        find_server(None, None, environ={}, folder=tmp_path)


def test_an_address_without_scheme_is_refused(tmp_path: Path) -> None:
    """`localhost:8700` alone is no address."""
    with pytest.raises(NoServer, match="is not an address"):
        find_server("localhost:8700", "tb_x", environ={}, folder=tmp_path)


def test_a_pasted_key_loses_its_line_break_and_nothing_else_passes(tmp_path: Path) -> None:
    """What stands around a key is dropped; what stands inside would break the header."""
    assert find_server("http://a", " tb_x\n", environ={}, folder=tmp_path).api_key == "tb_x"
    for broken in ("tb_x\ny", "tb x", "tb_ü"):
        with pytest.raises(NoServer, match="API key"):
            find_server("http://a", broken, environ={}, folder=tmp_path)


def test_the_key_is_not_in_the_representation(tmp_path: Path) -> None:
    """Neither a traceback nor a log shows it."""
    server = find_server("http://a", "tb_secret", environ={}, folder=tmp_path)
    with Client("http://a", "tb_secret") as client:
        assert "tb_secret" not in repr(server) + repr(client)
