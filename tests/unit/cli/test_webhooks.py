"""`toolbus webhooks`."""

import json
from pathlib import Path

from pytest_httpserver import HTTPServer

from tests.unit.cli.conftest import Cli
from tests.unit.client import shapes, webhook_shapes

PATH = "/v1/webhooks/crm"


def test_a_secret_that_was_made_is_printed_alone(httpserver: HTTPServer, cli: Cli) -> None:
    """It is the data; that it is shown once goes to stderr."""
    made = webhook_shapes.webhook(secret="whsec_new")
    httpserver.expect_request(PATH, method="PUT").respond_with_json(made, status=201)
    given = ["crm", "https://crm.example.com", "--event", "call.*", "--event", "wait.opened"]
    done = cli("webhooks", "put", *given)
    assert done.out == "whsec_new\n"
    assert "not shown again" in done.err
    body = json.loads(httpserver.log[-1][0].get_data())
    assert body == {"url": "https://crm.example.com", "events": ["call.*", "wait.opened"]}
    assert cli("webhooks", "put", *given, "-o", "json").json()["secret"] == "whsec_new"


def test_a_secret_comes_from_a_file_or_stdin(httpserver: HTTPServer, cli: Cli, tmp_path: Path) -> None:
    """On the command line everybody on the machine could read it; the public key is told."""
    key = {"id": "secret_1", "scheme": "v1a", "public_key": "whpk_x", "since": shapes.at(0), "until": None}
    httpserver.expect_request(PATH, method="PUT").respond_with_json(webhook_shapes.webhook(secrets=[key], secret=None))
    path = tmp_path / "secret"
    path.write_text("whsk_mine\n")
    done = cli("webhooks", "put", "crm", "https://a.example.com", "--secret-file", str(path))
    assert done.out == ""
    assert "whpk_x" in done.err
    assert json.loads(httpserver.log[-1][0].get_data())["secret"] == "whsk_mine"
    done = cli("webhooks", "put", "crm", "https://a.example.com", "--secret-file", "-", stdin="whsk_other\n")
    assert done.code == 0, done.err
    assert json.loads(httpserver.log[-1][0].get_data())["secret"] == "whsk_other"


def test_a_secret_file_that_is_not_there_is_a_usage_error(cli: Cli, tmp_path: Path) -> None:
    """Nothing is asked of the server."""
    done = cli("webhooks", "rotate", "crm", "--secret-file", str(tmp_path))
    assert done.code == 2
    assert "--secret-file" in done.err


def test_a_disabled_webhook_tells_why(httpserver: HTTPServer, cli: Cli) -> None:
    """In the list and alone."""
    webhook = webhook_shapes.webhook(
        status="disabled", disabled_reason="gone", disabled_at=shapes.at(1), note="it answered 410"
    )
    httpserver.expect_request("/v1/webhooks").respond_with_json(shapes.page(webhook))
    httpserver.expect_request(PATH).respond_with_json(webhook)
    assert "disabled (gone) 2026-11-30 12:00:01Z" in cli("webhooks", "ls").out
    assert "it answered 410" in cli("webhooks", "show", "crm").out
    assert len(cli("webhooks", "ls", "--all", "-o", "jsonl").lines()) == 1


def test_what_was_sent_is_listed_and_sent_again(httpserver: HTTPServer, cli: Cli) -> None:
    """By status; one, or all since a time."""
    httpserver.expect_request(f"{PATH}/deliveries").respond_with_json(shapes.page(webhook_shapes.delivery()))
    assert "it answered 500" in cli("webhooks", "deliveries", "crm", "--status", "pending").out
    assert httpserver.log[-1][0].args["status"] == "pending"
    assert len(cli("webhooks", "deliveries", "crm", "--all", "-o", "jsonl").lines()) == 1
    httpserver.expect_request(f"{PATH}/resend", method="POST").respond_with_json({"deliveries": 2})
    done = cli("webhooks", "resend-all", "crm", "--since", "2026-11-30T12:00:00Z", "--status", "held")
    assert "2 messages" in done.err
    assert httpserver.log[-1][0].args.to_dict() == {"since": "2026-11-30T12:00:00+00:00", "status": "held"}
