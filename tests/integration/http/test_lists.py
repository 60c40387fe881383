"""Lists: newest first, in pages that stay put, by every filter that is documented."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.integration.http.system import call, fresh, problem_of, until

LISTS = ("/v1/calls", "/v1/executions", "/v1/tools", "/v1/keys")


def pages(http: httpx.Client, path: str, limit: int, **query: object) -> Iterator[list[dict[str, object]]]:
    """Every page of a list."""
    cursor = ""
    while True:
        answer = http.get(path, params={"limit": limit, "cursor": cursor, **query})  # type: ignore[dict-item]
        assert answer.status_code == 200, answer.text
        yield answer.json()["items"]
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            return


def listed(http: httpx.Client, path: str, **query: object) -> list[str]:
    """The ids of a whole list."""
    return [str(one["id"]) for page in pages(http, path, 100, **query) for one in page]


@pytest.fixture(scope="module")
def seven(http: httpx.Client, echo: str) -> dict[str, str]:
    """Seven calls with a label of their own, oldest first: id to external id."""
    mark = fresh("mark")
    made = [call(http, echo, {"n": n}, labels={"mark": mark, "n": str(n)}, external_id=f"{mark}-{n}") for n in range(7)]
    until(lambda: len(listed(http, "/v1/calls", label=f"mark:{mark}")) == 7)
    return {"mark": mark, **{str(n): one["id"] for n, one in enumerate(made)}}


def test_the_newest_comes_first(http: httpx.Client, seven: dict[str, str]) -> None:
    """Pages of any size show each call once, in the same order."""
    wanted = [seven[str(n)] for n in reversed(range(7))]
    for limit in (1, 2, 3, 7, 8):
        found = [one["id"] for page in pages(http, "/v1/calls", limit, label=f"mark:{seven['mark']}") for one in page]
        assert found == wanted


def test_pages_stay_put_while_calls_come_in(http: httpx.Client, echo: str, seven: dict[str, str]) -> None:
    """What is made after the first page was read appears on none of the following ones, and moves none."""
    reading = pages(http, "/v1/calls", 3, label=f"mark:{seven['mark']}")
    found = [one["id"] for one in next(reading)]
    late = call(http, echo, labels={"mark": seven["mark"]}, deadline_s=3600)
    until(lambda: late["id"] in listed(http, "/v1/calls", label=f"mark:{seven['mark']}"))
    found += [one["id"] for page in reading for one in page]
    assert found == [seven[str(n)] for n in reversed(range(7))]


def test_lists_leave_out_the_large_parts_unless_asked(http: httpx.Client, seven: dict[str, str]) -> None:
    """`include` names what is wanted besides."""

    def first(include: str) -> dict[str, object]:
        found = http.get("/v1/calls", params={"external_id": f"{seven['mark']}-3", "include": include})
        (one,) = found.json()["items"]
        return dict(one)

    assert (first("")["arguments"], first("")["output"]) == (None, None)
    assert first("arguments")["arguments"] == {"n": 3}
    assert first("arguments,output")["output"]
    wrong = http.get("/v1/calls", params={"include": "secrets"})
    problem_of(wrong, 422, "invalid_request", "/query/include")


def test_every_filter_of_calls(http: httpx.Client, echo: str, seven: dict[str, str]) -> None:
    """Filters together narrow the list; one that fits nothing gives an empty one."""
    mark = f"mark:{seven['mark']}"
    one = http.get(f"/v1/calls/{seven['2']}").json()
    three = [seven["2"]]
    assert listed(http, "/v1/calls", label=[mark, "n:2"]) == three
    assert listed(http, "/v1/calls", external_id=f"{seven['mark']}-2") == three
    assert listed(http, "/v1/calls", execution_id=one["execution_id"]) == three
    assert len(listed(http, "/v1/calls", label=mark, status=["succeeded", "failed"], tool=echo, type="api_call")) >= 7
    assert listed(http, "/v1/calls", label=mark, status="failed") == []
    assert listed(http, "/v1/calls", label=mark, tool="nobody") == []
    assert listed(http, "/v1/calls", label=mark, type="mcp") == []
    at = datetime.fromisoformat(one["requested_at"])
    window = {"since": at.isoformat(), "until": (at + timedelta(microseconds=1)).isoformat()}
    assert listed(http, "/v1/calls", label=mark, **window) == three
    assert listed(http, "/v1/calls", label=mark, until=datetime(2001, 1, 1, tzinfo=UTC).isoformat()) == []


def test_every_filter_of_executions(http: httpx.Client, seven: dict[str, str]) -> None:
    """Labels are found with their exact case, on opened executions and on those of bare calls."""
    mark = fresh("Mark")
    parent = http.post("/v1/executions", json={"labels": {"mark": mark}}).json()["id"]
    child = http.post("/v1/executions", json={"labels": {"mark": mark, "x": "1"}, "parent": parent}).json()["id"]
    until(lambda: listed(http, "/v1/executions", label=f"mark:{mark}") == [child, parent])
    assert listed(http, "/v1/executions", parent=parent) == [child]
    assert listed(http, "/v1/executions", label=f"mark:{mark.lower()}") == []
    assert listed(http, "/v1/executions", label=[f"mark:{mark}", "x:1"], status="running") == [child]
    http.post(f"/v1/executions/{child}/finish")
    until(lambda: listed(http, "/v1/executions", label=f"mark:{mark}", status="succeeded") == [child])
    bare = http.get(f"/v1/calls/{seven['4']}").json()["execution_id"]
    assert listed(http, "/v1/executions", label=[f"mark:{seven['mark']}", "n:4"]) == [bare]


@pytest.mark.parametrize("path", LISTS)
def test_limits_are_bounded(http: httpx.Client, path: str) -> None:
    """1 to 500, else 422 with the place of the fault."""
    assert http.get(path, params={"limit": 500}).status_code == 200
    for limit in ("0", "501", "-1", "1e2", "x", "", "9" * 400):
        problem_of(http.get(path, params={"limit": limit}), 422, "invalid_request", "/query/limit")


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("cursor", ["x", "p1", "cHg", "cC0x", "cMKy", "é", "AAAA", "cDk5OTk5OTk5OTk5OTk5OTk5OTk5OTk"])
def test_a_cursor_is_used_unchanged(http: httpx.Client, path: str, cursor: str) -> None:
    """One that was not given out here is refused."""
    problem_of(http.get(path, params={"cursor": cursor}), 422, "invalid_cursor", "/query/cursor")


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ({"status": "done"}, "/query/status/0"),
        ({"label": "nocolon"}, "/query/label"),
        ({"label": ":x"}, "/query/label"),
        ({"label": ["a:b"] * 33}, "/query/label"),
        ({"since": "yesterday"}, "/query/since"),
        ({"since": "0001-01-01T00:00:00+14:00"}, "/query/since"),
        ({"until": "9999-12-31T23:59:59-14:00"}, "/query/until"),
        ({"since": "nan"}, "/query/since"),
        ({"since": "1700000000"}, "/query/since"),
        ({"until": "-0.5"}, "/query/until"),
    ],
)
def test_absurd_filters_are_refused(http: httpx.Client, query: dict[str, str], path: str) -> None:
    """422 with the place of the fault, never a fault of ours."""
    problem_of(http.get("/v1/calls", params=query), 422, "invalid_request", path)
