"""`toolbus integrations`: ready tools by provider, and what each method does."""

from typing import TYPE_CHECKING, Annotated

import typer

from toolbus.cli.connection import connected
from toolbus.cli.options import TABLE, Output, Url
from toolbus.cli.output import Column, note, show_fields, show_items, show_one, show_table, write

if TYPE_CHECKING:
    from toolbus_contracts.integrations import MethodView, ProviderView
    from toolbus_contracts.values import Json

app = typer.Typer(help="Integrations: ready tools, by provider.", no_args_is_help=True)


@app.command("ls")
def ls(*, output: Output = TABLE, url: Url = None) -> None:
    """List the providers, what they offer, and what keeps one from being used."""
    columns: list[Column[ProviderView]] = [
        Column("PROVIDER", lambda view: view.provider),
        Column("NAME", lambda view: view.info.friendly_name, may_shrink=True),
        Column("METHODS", lambda view: ",".join(method.method for method in view.methods), may_shrink=True),
        Column("SETUP", lambda view: ",".join(_required(view.setup)), may_shrink=True),
        Column("FAULT", lambda view: "" if view.fault is None else view.fault.message, may_shrink=True),
    ]
    with connected(url) as client:
        show_items(client.integrations.list(), output, columns)


@app.command("show")
def show(
    *,
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="The provider's name.")],
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Show one provider: its setup, and the contract and arguments of each method."""
    with connected(url) as client:
        show_one(client.integrations.get(provider), output, _draw)


def _draw(view: "ProviderView") -> None:
    fault = None if view.fault is None else f"{view.fault.code}: {view.fault.message}"
    show_fields(
        (
            ("provider", view.provider),
            ("name", view.info.friendly_name),
            ("package", f"{view.package} {view.version}".strip()),
            ("extra", view.extra),
            ("url", view.info.url),
            ("docs", view.info.docs),
            ("setup", ", ".join(_marked(view.setup))),
            ("fault", fault),
        )
    )
    if view.methods:
        write("\n")
        columns: list[Column[MethodView]] = [
            Column("METHOD", lambda method: method.method),
            Column("EFFECT", lambda method: method.contract.effect),
            Column("IDEMPOTENCY", lambda method: method.contract.idempotency),
            Column("TIMEOUT", lambda method: f"{method.timeout_s:g} s"),
            Column("ARGUMENTS", lambda method: ", ".join(_marked(method.arguments)), may_fold=True),
        ]
        show_table(view.methods, columns)
        note("What is marked * has to be given.", "dim")


def _required(schema: "Json") -> list[str]:
    """The names that a schema wants."""
    return list(schema.get("required", ())) if schema else []


def _marked(schema: "Json") -> list[str]:
    """The properties of a schema; those that have to be given are marked."""
    required = _required(schema)
    return [f"{name}*" if name in required else name for name in (schema or {}).get("properties", {})]
