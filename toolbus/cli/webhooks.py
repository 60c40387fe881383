"""`toolbus webhooks`: where other systems hear of events, what was sent there, and sending it again."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from toolbus.cli.connection import connected
from toolbus.cli.options import TABLE, All, Cursor, Limit, Output, Url
from toolbus.cli.output import Column, Format, as_json, note, show_fields, show_items, show_one, show_page, show_value
from toolbus.cli.text import age, printable, time_of_day

if TYPE_CHECKING:
    from toolbus_contracts.webhooks import DeliveryStatus, DeliveryView, NewWebhookView, Resent, WebhookView

app = typer.Typer(help="Webhooks: where other systems hear of events.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The webhook's name.")]
SecretFile = Annotated[
    Path | None,
    typer.Option(
        "--secret-file",
        metavar="PATH",
        help="A file with the secret, whsec_… or whsk_…; - for stdin. Without it one is made.",
    ),
]
Status = Annotated[str | None, typer.Option("--status", help="Only pending, delivered, failed, held or dropped ones.")]
STATES = {"delivered": "green", "failed": "red", "held": "yellow", "dropped": "dim"}


@app.command("put")
def put(
    *,
    name: Name,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The url that messages are posted to.")],
    event: Annotated[
        list[str] | None, typer.Option("--event", help="A pattern such as call.* or wait.opened. Repeatable.")
    ] = None,
    secret_file: SecretFile = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Send events that match to a url from now on. A secret that is made is printed this one time."""
    secret = _secret(secret_file)
    with connected(url) as client:
        _show_put(client.webhooks.put(name, target, events=event or (), secret=secret), output)


@app.command("rotate")
def rotate(*, name: Name, secret_file: SecretFile = None, output: Output = TABLE, url: Url = None) -> None:
    """Sign with another secret; the former one signs beside it for a day."""
    secret = _secret(secret_file)
    with connected(url) as client:
        _show_put(client.webhooks.rotate(name, secret=secret), output)


@app.command("ls")
def ls(
    *, limit: Limit = 50, cursor: Cursor = None, every: All = False, output: Output = TABLE, url: Url = None
) -> None:
    """List the webhooks."""
    from toolbus.client.requests.webhooks import list_webhooks

    columns: list[Column[WebhookView]] = [
        Column("WEBHOOK", lambda webhook: webhook.name),
        Column("STATE", _state, style=lambda webhook: "red" if webhook.disabled_at else ""),
        Column("EVENTS", lambda webhook: ",".join(webhook.events), may_shrink=True),
        Column("URL", lambda webhook: webhook.url, may_shrink=True),
    ]
    with connected(url) as client:
        if every:
            show_items(client.webhooks.list(), output, columns)
        else:
            show_page(client.fetch(list_webhooks(limit, cursor)), output, columns)


@app.command("show")
def show(*, name: Name, output: Output = TABLE, url: Url = None) -> None:
    """Show a webhook with the ids of its secrets."""
    with connected(url) as client:
        show_one(client.webhooks.get(name), output, _show)


@app.command("rm")
def rm(*, name: Name, url: Url = None) -> None:
    """Let nothing be sent there any more."""
    with connected(url) as client:
        client.webhooks.remove(name)
    note(f"Webhook {printable(name)} is removed.")


@app.command("enable")
def enable(*, name: Name, output: Output = TABLE, url: Url = None) -> None:
    """Let a disabled webhook be sent to again."""
    with connected(url) as client:
        show_one(client.webhooks.enable(name), output, _show)
    note("What was held meanwhile goes out with: toolbus webhooks resend-all --status held", "dim")


@app.command("deliveries")
def deliveries(
    *,
    name: Name,
    status: Status = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    every: All = False,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """List what was sent there and what came of it, newest first."""
    from toolbus.client.requests.webhooks import list_deliveries

    wanted = cast("DeliveryStatus | None", status)
    with connected(url) as client:
        if every:
            show_items(client.webhooks.deliveries(name, status=wanted), output, _columns())
        else:
            show_page(client.fetch(list_deliveries(name, wanted, limit, cursor)), output, _columns())


@app.command("resend")
def resend(
    *,
    name: Name,
    delivery_id: Annotated[str, typer.Argument(metavar="ID", help="The delivery's id.")],
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Send a message once more, under the same id."""
    with connected(url) as client:
        show_items([client.webhooks.resend(name, delivery_id)], output, _columns())


@app.command("resend-all")
def resend_all(
    *,
    name: Name,
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="2h, 3d, or RFC 3339.")],
    status: Status = None,
    output: Output = TABLE,
    url: Url = None,
) -> None:
    """Send everything once more that came up since then."""
    from toolbus.cli.times import moment

    begin = moment(since, "--since")
    if begin is None:
        raise typer.BadParameter("is needed", param_hint="--since")
    with connected(url) as client:
        show_one(client.webhooks.resend_since(name, begin, status=cast("DeliveryStatus | None", status)), output, _told)


def _secret(path: Path | None) -> str | None:
    """A secret from a file: on the command line everybody on the machine could read it."""
    if path is None:
        return None
    if str(path) == "-":
        return sys.stdin.read().strip()
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path} cannot be read", param_hint="--secret-file") from error


def _show_put(webhook: "NewWebhookView", output: Format) -> None:
    if output is not Format.table:
        show_value(as_json(webhook), output)
        return
    if webhook.secret is not None:
        from toolbus.cli.output import write

        write(f"{printable(webhook.secret)}\n")
        note(f"Webhook {printable(webhook.name)} signs with this secret. It is not shown again.")
    else:
        note(f"Webhook {printable(webhook.name)} sends to {printable(webhook.url)}.")
    for secret in webhook.secrets[:1]:
        if secret.public_key is not None:
            note(f"Receivers verify with {printable(secret.public_key)}")


def _show(webhook: "WebhookView") -> None:
    show_fields(
        [
            ("webhook", webhook.name),
            ("state", _state(webhook)),
            ("note", webhook.note or None),
            ("url", webhook.url),
            ("events", ", ".join(webhook.events) or "none: it lends its secrets to functions"),
            *(
                (
                    "secret",
                    f"{secret.id} ({secret.scheme})"
                    + (f" until {time_of_day(secret.until)}" if secret.until else "")
                    + (f" {secret.public_key}" if secret.public_key else ""),
                )
                for secret in webhook.secrets
            ),
        ]
    )


def _told(resent: "Resent") -> None:
    note(f"{resent.deliveries} messages go out again.")


def _columns() -> "list[Column[DeliveryView]]":
    return [
        Column("DELIVERY", lambda delivery: delivery.id),
        Column("EVENT", lambda delivery: delivery.type),
        Column("STATUS", lambda delivery: delivery.status, style=lambda delivery: STATES.get(delivery.status, "")),
        Column("TRIES", lambda delivery: delivery.attempts),
        Column("AGE", lambda delivery: age(delivery.created_at)),
        Column("NEXT", lambda delivery: time_of_day(delivery.next_at) if delivery.next_at else None),
        Column("ANSWER", lambda delivery: delivery.last_error or delivery.last_status_code, may_shrink=True),
    ]


def _state(webhook: "WebhookView") -> str:
    if webhook.disabled_at is None:
        return "enabled"
    return f"disabled ({webhook.disabled_reason}) {time_of_day(webhook.disabled_at)}"
