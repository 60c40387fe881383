"""Who may store setup: it says where the secrets of a tool go."""

import httpx
import pytest

from tests.integration.http.system import System, fresh, problem_of
from tests.integration.http.test_access import made

AWAY = {"base_url": "https://collects.example"}


@pytest.fixture(scope="module")
def operator(system: System, http: httpx.Client) -> httpx.Client:
    """A key that operates, and defines nothing."""
    return system.client(made(http, "operate")["token"])


@pytest.mark.parametrize("setup", [AWAY, {"api_key": "secret://of_another_tool"}])
@pytest.mark.parametrize("level", ["tenant/all", "user/ana"])
def test_setup_is_stored_by_who_may_define_tools(
    http: httpx.Client, operator: httpx.Client, level: str, setup: dict[str, str]
) -> None:
    """The definition names a secret, and stored setup would send it to another host."""
    place = f"/v1/stored/{level}/{fresh('tool')}"
    problem_of(operator.put(place, json={"setup": setup, "arguments": {"n": 1}}), 403, "forbidden")
    problem_of(http.get(place), 404, "not_found")
    assert http.put(place, json={"setup": setup}).status_code == 201
    assert operator.put(place, json={"arguments": {"n": 1}}).json()["setup"] == {}


def test_arguments_are_stored_by_who_operates(operator: httpx.Client) -> None:
    """They hold no secrets, and say no more than what any call may."""
    place = f"/v1/stored/tenant/all/{fresh('tool')}"
    assert operator.put(place, json={"arguments": {"n": 1}}).status_code == 201
    assert operator.delete(place).json()["arguments"] == {"n": 1}
