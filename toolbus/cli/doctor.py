"""`toolbus doctor`: what works, what does not, and what to do about it."""

from typing import TYPE_CHECKING, Annotated

import typer

from toolbus.cli.connection import connected
from toolbus.cli.options import TABLE, Output, Url
from toolbus.cli.output import Column, Format, as_json, show_table, show_value

if TYPE_CHECKING:
    from toolbus.client import Client
    from toolbus.client.views import Check, Readiness


def doctor(
    *,
    settings: Annotated[bool, typer.Option("--settings", help="List every setting of the server and end.")] = False,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Check this side, the way to the server, and the server; exit code 1 when something is wrong."""
    if settings:
        from toolbus.cli.server import show_settings

        show_settings(output)
        return
    with connected(url) as client:
        found = examine(client)
    if output is Format.table:
        show_table(found.checks, _columns())
    else:
        show_value(as_json(found), output)
    if not found.ready:
        raise typer.Exit(1)


def examine(client: "Client") -> "Readiness":
    """Check the versions, the key, and everything that the server checks of itself."""
    from toolbus.client.failures import Problem
    from toolbus.client.views import Check, Readiness
    from toolbus.version import installed_version

    theirs, ours = client.version(), installed_version()
    checks = [Check(name="server", ok=True, detail=f"{client.url} answers, version {theirs}; this is {ours}")]
    scopes: set[str] = set()
    try:
        me = client.me()
        scopes = set(me.scopes)
        checks.append(Check(name="key", ok=True, detail=f"{me.subject} of {me.tenant}: {', '.join(me.scopes)}"))
    except Problem as problem:
        checks.append(Check(name="key", ok=False, detail=problem.message, hint=problem.next_step))
    readiness = client.readiness()
    checks += readiness.checks
    if readiness.ready and scopes & {"operate", "admin"}:
        checks.append(_dead_letters(client))
    return Readiness(ready=readiness.ready and all(check.ok for check in checks), checks=tuple(checks))


def _dead_letters(client: "Client") -> "Check":
    """How many messages lie dead: something to look into, and no fault of the server as it runs."""
    from toolbus.client.failures import Problem
    from toolbus.client.views import Check

    try:
        counts = client.dead.counts()
    except Problem as problem:
        return Check(name="dead letters", ok=False, detail=problem.message, hint=problem.next_step)
    told = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
    return Check(name="dead letters", ok=True, detail=told or "none", hint="toolbus dead ls" if told else None)


def _columns() -> "list[Column[Check]]":
    return [
        Column("CHECK", lambda check: check.name),
        Column("STATE", lambda check: "ok" if check.ok else "wrong", style=lambda c: "green" if c.ok else "bold red"),
        Column("DETAIL", _advice, may_fold=True),
    ]


def _advice(check: "Check") -> str:
    return check.detail + (f" → {check.hint}" if check.hint else "")
