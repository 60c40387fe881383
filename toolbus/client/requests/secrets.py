"""Requests about secrets."""

from collections.abc import Iterable

from toolbus.client.exchange import Page, Request, dump, reading, reading_page
from toolbus.client.requests.parts import part, query_of
from toolbus_contracts.secrets import SecretView


def put_secret(name: str, value: str, hosts: Iterable[str] = (), tools: Iterable[str] = ()) -> Request[SecretView]:
    """PUT /v1/secrets/{name}; repeatable, for once more is one generation more, of the same value."""
    body = {"value": value, "hosts": list(hosts), "tools": list(tools)}
    return Request("PUT", f"/v1/secrets/{part(name)}", reading(SecretView), body=dump(body))


def list_secrets(limit: int | None = None, cursor: str | None = None) -> Request[Page[SecretView]]:
    """GET /v1/secrets."""
    return Request("GET", "/v1/secrets", reading_page(SecretView), query_of(limit=limit, cursor=cursor))


def remove_secret(name: str) -> Request[SecretView]:
    """DELETE /v1/secrets/{name}; not repeatable, for a second time there is no such secret."""
    return Request("DELETE", f"/v1/secrets/{part(name)}", reading(SecretView), is_repeatable=False)
