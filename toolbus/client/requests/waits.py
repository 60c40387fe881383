"""Requests about waits, grants and delegations."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypedDict

from toolbus.client.exchange import Page, Request, dump, reading, reading_page
from toolbus.client.requests.parts import part, query_of
from toolbus_contracts.values import Json
from toolbus_contracts.waits import DelegationView, GrantView, Simulated, WaitDetail, WaitKind


class WaitFilter(TypedDict, total=False):
    """Which waits to list."""

    kind: WaitKind
    status: Literal["open", "closed"]
    tool: str
    call_id: str
    include: Literal["arguments"]


def list_waits(asked: WaitFilter, limit: int | None = None, cursor: str | None = None) -> Request[Page[WaitDetail]]:
    """GET /v1/waits."""
    query = query_of(
        kind=asked.get("kind"),
        status=asked.get("status"),
        tool=asked.get("tool"),
        call_id=asked.get("call_id"),
        include=asked.get("include"),
        limit=limit,
        cursor=cursor,
    )
    return Request("GET", "/v1/waits", reading_page(WaitDetail), query)


def get_wait(wait_id: str) -> Request[WaitDetail]:
    """GET /v1/waits/{id}."""
    return Request("GET", f"/v1/waits/{part(wait_id)}", reading(WaitDetail))


def approve_wait(
    wait_id: str, digest: str, note: str = "", arguments: Mapping[str, Json] | None = None
) -> Request[WaitDetail]:
    """POST /v1/waits/{id}/approve; the same word twice is one word."""
    body: dict[str, Json] = {"digest": digest, "note": note}
    if arguments is not None:
        body["arguments"] = dict(arguments)
    return _said(wait_id, "approve", body)


def deny_wait(wait_id: str, digest: str, note: str) -> Request[WaitDetail]:
    """POST /v1/waits/{id}/deny; the same word twice is one word."""
    return _said(wait_id, "deny", {"digest": digest, "note": note})


def answer_wait(wait_id: str, digest: str, values: Mapping[str, Json]) -> Request[WaitDetail]:
    """POST /v1/waits/{id}/answer; the same answer twice is one answer."""
    return _said(wait_id, "answer", {"digest": digest, "values": dict(values)})


def delegate_wait(wait_id: str, to: str, until: datetime) -> Request[WaitDetail]:
    """POST /v1/waits/{id}/delegate; the last word counts."""
    return _said(wait_id, "delegate", {"to": to, "until": until.isoformat()})


def _said(wait_id: str, verb: str, body: Json) -> Request[WaitDetail]:
    return Request("POST", f"/v1/waits/{part(wait_id)}/{verb}", reading(WaitDetail), body=dump(body))


def simulate_wait(
    tool: str, arguments: Mapping[str, Json] | None = None, on_behalf_of: str | None = None
) -> Request[Simulated]:
    """POST /v1/waits/simulate; it records nothing."""
    body = {"tool": tool, "arguments": dict(arguments or {}), "on_behalf_of": on_behalf_of}
    return Request("POST", "/v1/waits/simulate", reading(Simulated), body=dump(body))


def give_grant(
    tool: str, uses: int, until: datetime, condition: str | None = None, *, scope: str | None = None, note: str = ""
) -> Request[GrantView]:
    """POST /v1/grants; not repeatable, for twice is two grants."""
    body: dict[str, Json] = {"tool": tool, "uses": uses, "until": until.isoformat(), "while": condition, "note": note}
    if scope is not None:
        body["scope"] = scope
    return Request("POST", "/v1/grants", reading(GrantView), body=dump(body), is_repeatable=False)


def list_grants(
    tool: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Request[Page[GrantView]]:
    """GET /v1/grants."""
    return Request("GET", "/v1/grants", reading_page(GrantView), query_of(tool=tool, limit=limit, cursor=cursor))


def revoke_grant(grant_id: str) -> Request[GrantView]:
    """DELETE /v1/grants/{id}."""
    return Request("DELETE", f"/v1/grants/{part(grant_id)}", reading(GrantView))


def give_delegation(to: str, until: datetime, note: str = "") -> Request[DelegationView]:
    """POST /v1/delegations; not repeatable, for twice is two delegations."""
    body = {"to": to, "until": until.isoformat(), "note": note}
    return Request("POST", "/v1/delegations", reading(DelegationView), body=dump(body), is_repeatable=False)


def list_delegations(limit: int | None = None, cursor: str | None = None) -> Request[Page[DelegationView]]:
    """GET /v1/delegations."""
    return Request("GET", "/v1/delegations", reading_page(DelegationView), query_of(limit=limit, cursor=cursor))


def revoke_delegation(delegation_id: str) -> Request[DelegationView]:
    """DELETE /v1/delegations/{id}."""
    return Request("DELETE", f"/v1/delegations/{part(delegation_id)}", reading(DelegationView))
