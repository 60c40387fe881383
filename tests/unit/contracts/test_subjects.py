"""Subjects, streams and permissions: data that the server enforces."""

import pytest

from toolbus_contracts import subjects
from toolbus_contracts.subjects import BusUser, Permissions


def test_subjects_are_built_in_one_place() -> None:
    """Each function gives the subject that the documents name."""
    assert subjects.command("acme", "submit") == "toolbus.cmd.acme.call.submit"
    assert subjects.ask("acme", "get") == "toolbus.ask.acme.call.get"
    assert subjects.work("api_call", "acme") == "toolbus.work.api_call.default.acme"
    assert subjects.event("acme", "call", "call_1", "call.attempt_started.v1") == (
        "toolbus.evt.acme.call.call_1.attempt_started"
    )
    assert subjects.refusal("acme", "m1") == "toolbus.evt.acme.command.m1.refused"
    assert subjects.dead("acme", "unreadable") == "toolbus.dead.acme.unreadable"
    assert subjects.payload_chunk("sha256:ab", 0) == "toolbus.payload.ab.0"


@pytest.mark.parametrize(
    ("subject", "tenant"),
    [
        (subjects.command("acme", "submit"), "acme"),
        (subjects.ask("acme", "get"), "acme"),
        (subjects.refusal("acme", "m1"), "acme"),
        (subjects.dead("acme", "unreadable"), "acme"),
        (subjects.work("api_call", "acme"), "acme"),
        (subjects.WAKE, None),
        (subjects.OUTCOME, None),
        ("toolbus.cmd", None),
        ("toolbus", None),
        ("", None),
    ],
)
def test_the_tenant_is_read_off_the_subject(subject: str, tenant: str | None) -> None:
    """Never off a payload; a subject that names none gives none."""
    assert subjects.tenant_of(subject) == tenant


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("call_1", "call_1"),
        ("tenant:refund", "tenant:refund"),
        ("a.b*c>d e", "a_b_c_d_e"),
        ("a\r\nPUB x\t\x00", "a__PUB_x__"),
        ("", "_"),
        ("é", "_"),
    ],
)
def test_an_id_becomes_one_token(text: str, token: str) -> None:
    """Whatever is not printable ASCII or has a meaning for NATS cannot end the token, or the command line."""
    assert subjects.subject_token(text) == token


def test_a_very_long_id_stays_a_short_token() -> None:
    """An id that somebody else chose cannot make a subject that the server refuses."""
    assert len(subjects.subject_token("x" * 10_000)) == subjects.MAX_TOKEN_CHARS


def test_streams_do_not_overlap() -> None:
    """The server refuses a stream whose subjects another one takes: first two tokens are apart."""
    roots = [(found.name, subject.split(".")[1]) for found in subjects.STREAMS for subject in found.subjects]
    assert len({root for _, root in roots}) == len(set(roots))
    assert subjects.stream("WORK").retention == "workqueue"


def test_every_durable_reads_subjects_of_its_stream() -> None:
    """A filter outside its stream would never receive anything."""
    for durable in subjects.DURABLES.values():
        root = durable.filter_subject.split(".")[1]
        assert any(subject.split(".")[1] == root for subject in subjects.stream(durable.stream).subjects)


def test_a_client_can_submit_ask_and_listen_and_nothing_else() -> None:
    """Its permissions name its own tenant, and no subject where outcomes, work or events are made."""
    user = subjects.client("acme")
    assert all(
        subject.startswith(("toolbus.cmd.acme.call.", "toolbus.ask.acme.")) for subject in user.permissions.publish
    )
    assert set(user.permissions.subscribe) == {"toolbus.evt.acme.>", f"{user.inbox_prefix}.>"}
    assert not user.permissions.may_respond


def test_every_user_has_its_own_inbox() -> None:
    """Nobody reads another's answers: each listens under its own prefix, and prefixes do not contain one another."""
    users = subjects.users(["acme", "acme-2"])
    inboxes = [f"{user.inbox_prefix}." for user in users]
    for user in users:
        heard = [subject for subject in user.permissions.subscribe if subject.startswith("_INBOX")]
        assert heard == [f"{user.inbox_prefix}.>"]
    assert len(set(inboxes)) == len(users)


def test_nobody_but_the_dispatcher_makes_events_and_work() -> None:
    """Forging an event or a work item is refused by the server."""
    made = ("toolbus.evt.", "toolbus.work.")
    makers = {
        user.name for user in subjects.users(["acme"]) if any(s.startswith(made) for s in user.permissions.publish)
    }
    assert makers == {"dispatcher"}


def test_a_user_without_permissions_may_do_nothing() -> None:
    """That is what a user starts from."""
    assert BusUser("nobody").permissions == Permissions((), ())
