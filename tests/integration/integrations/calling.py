"""Defining tools of providers over HTTP, and calling them."""

from typing import Any

import httpx

from tests.integration.http.system import until

ENDED = {"succeeded", "failed", "in_doubt", "expired", "cancelled"}


def define(http: httpx.Client, name: str, section: dict[str, Any], **more: object) -> dict[str, Any]:
    """The tool is defined."""
    answer = http.put(f"/v1/tools/{name}", json={"name": name, "integration": section, **more})
    assert answer.status_code in {200, 201}, answer.text
    told: dict[str, Any] = answer.json()
    return told


def called(http: httpx.Client, name: str, **arguments: object) -> dict[str, Any]:
    """The call as it ended."""
    answer = http.post("/v1/calls?wait_s=30", json={"tool": name, "arguments": arguments})
    assert answer.status_code in {200, 202}, answer.text
    call: dict[str, Any] = answer.json()
    if call["status"] not in ENDED:
        until(lambda: http.get(f"/v1/calls/{call['id']}").json()["status"] in ENDED, within_s=40)
        call = http.get(f"/v1/calls/{call['id']}").json()
    return call
