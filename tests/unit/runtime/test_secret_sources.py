"""Where secrets are found, in which order, and what is said when they are not."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.unit.runtime.secret_sources import KEYS, VALUE, FakeSource, FakeStream, removed, resolver, sealed
from toolbus_contracts.errors import Refused, Unavailable
from toolbus_contracts.executing.secrets import Secret
from toolbus_contracts.secrets import MAX_VALUE_BYTES, PutSecret
from toolbus_runtime.sealing import KeyRing
from toolbus_runtime.secrets.known import KNOWN
from toolbus_runtime.secrets.published import published_generation
from toolbus_runtime.secrets.resolver import Resolver
from toolbus_runtime.secrets.sources import Environment, Found, MountedFolder, StoredSecrets
from toolbus_runtime.settings import SecretSettings

BOUND = PutSecret(value=VALUE, hosts=("api.example.com",), tools=("tool",))


def stored(**more: bytes) -> FakeStream:
    """A stream in which the tenant acme has `pay` in generation 3, and these."""
    found = {("acme", "pay"): sealed("acme", "pay", 3, BOUND)}
    return FakeStream({**found, **{("acme", name): data for name, data in more.items()}})


async def test_the_table_gives_the_newest_generation_with_its_binding() -> None:
    """Opened with the master key; the leader is asked where a replica knows nothing yet."""
    stream = stored()
    source = StoredSecrets(stream, KEYS)
    expected = Found(VALUE, 3, ("api.example.com",), ("tool",))
    assert await source.find("acme", "pay") == expected
    stream.lags = True
    assert await source.find("acme", "pay") == expected
    assert VALUE not in repr(expected)


async def test_the_table_knows_nothing_of_what_is_removed_or_of_others() -> None:
    """A removed secret is none, and a tenant has its own only; the generation of neither counts."""
    stream = stored(gone=removed("gone", 7))
    source = StoredSecrets(stream, KEYS)
    for tenant, name in (("acme", "gone"), ("other", "pay"), ("acme", "nothing")):
        assert await source.find(tenant, name) is None
        assert await published_generation(stream, tenant, name) == 0
    assert await published_generation(stream, "acme", "pay") == 3


@pytest.mark.parametrize(
    "data",
    [
        b"no message of ours",
        sealed("acme", "another", 3, BOUND),
        sealed("other", "pay", 3, BOUND),
        sealed("acme", "pay", 3, BOUND, keys=KeyRing("k1 " + "x" * 44)),
        sealed("acme", "pay", 3, BOUND, keys=KeyRing("k9 " + "m" * 44)),
    ],
)
async def test_what_cannot_be_opened_is_not_taken_for_nothing(data: bytes) -> None:
    """Not ours, another's, or sealed with a key that is not here: no other source is asked instead."""
    stream = FakeStream({("acme", "pay"): data})
    with pytest.raises(Unavailable):
        await Resolver((StoredSecrets(stream, KEYS), FakeSource(pay=VALUE))).resolve("acme", ["pay"], tool="tool")


async def test_while_the_bus_is_away_nobody_knows() -> None:
    """The work comes again; a folder that has the name could hold another value than the table."""
    stream = stored()
    stream.is_away = True
    with pytest.raises(Unavailable, match="away"):
        await Resolver((StoredSecrets(stream, KEYS), FakeSource(pay=VALUE))).resolve("acme", ["pay"], tool="tool")


async def test_what_a_stream_that_was_lost_does_not_hold_yet_is_not_taken_for_nothing() -> None:
    """Neither another source is asked, nor is the call refused: it comes again. What is there already is used."""
    stream = stored()
    stream.is_filled = False
    made = Resolver((StoredSecrets(stream, KEYS), FakeSource(late=VALUE)))
    with pytest.raises(Unavailable, match="does not hold the secrets yet"):
        await made.resolve("acme", ["late"], tool="tool")
    with pytest.raises(Unavailable, match="does not hold the secrets yet"):
        await published_generation(stream, "acme", "late")
    assert (await made.resolve("acme", ["pay"], tool="tool"))["pay"].generation == 3
    stream.is_filled = True
    assert (await made.resolve("acme", ["late"], tool="tool"))["late"].value == VALUE


async def test_a_folder_holds_a_file_for_each(tmp_path: Path) -> None:
    """As orchestrators mount them; the line break that editors add is not part of it."""
    folder = tmp_path / "acme"
    folder.mkdir()
    for name, text in {"plain": "a b\n c", "ended": "value\n", "dos": "value\r\n", "empty": ""}.items():
        (folder / name).write_bytes(text.encode())
    (folder / "linked").symlink_to("plain")
    source = MountedFolder(tmp_path)
    found = {name: await source.find("acme", name) for name in ("plain", "ended", "dos", "linked", "empty", "absent")}
    assert {name: one.value for name, one in found.items() if one is not None} == {
        "plain": "a b\n c",
        "ended": "value",
        "dos": "value",
        "linked": "a b\n c",
        "empty": "",
    }
    assert await source.find("other", "plain") is None
    assert source.place("acme", "absent") == f"the file {folder / 'absent'}"


async def test_a_file_that_cannot_be_used_says_so_and_shows_nothing(tmp_path: Path) -> None:
    """A folder in its place, bytes that are no text, more than a secret may be."""
    folder = tmp_path / "acme"
    (folder / "folder").mkdir(parents=True)
    (folder / "binary").write_bytes(b"key\xff\xfe")
    (folder / "large").write_bytes(b"x" * (MAX_VALUE_BYTES + 1))
    for name, reason in {"folder": "cannot be read", "binary": "no text", "large": "longer"}.items():
        with pytest.raises(Unavailable, match=reason) as refused:
            await MountedFolder(tmp_path).find("acme", name)
        assert refused.value.__cause__ is None or isinstance(refused.value.__cause__, OSError)


async def test_the_environment_has_a_variable_for_each() -> None:
    """Upper case, hyphens and dots as `_`; an empty one is none."""
    source = Environment({"TOOLBUS_SECRET_ACME_EU__PAY_KEY": VALUE, "TOOLBUS_SECRET_ACME__EMPTY": ""})
    for name in ("pay_key", "PAY_KEY", "pay-key", "pay.key"):
        assert await source.find("acme-eu", name) == Found(VALUE)
    assert await source.find("acme", "empty") is None
    assert source.place("acme-eu", "pay.key") == "the variable TOOLBUS_SECRET_ACME_EU__PAY_KEY"


async def test_no_variable_is_taken_for_that_of_another_tenant() -> None:
    """`acme` with the name `eu__key` and `acme--eu` with `key` would have one variable: the latter has none."""
    source = Environment({"TOOLBUS_SECRET_ACME__EU__KEY": VALUE})
    assert await source.find("acme--eu", "key") is None
    assert await source.find("acme", "eu__key") == Found(VALUE)


async def test_the_first_source_that_has_one_gives_it(tmp_path: Path) -> None:
    """Table, folder, environment; what is removed from the table comes from the next."""
    (tmp_path / "acme").mkdir()
    for name in ("pay", "gone"):
        (tmp_path / "acme" / name).write_text(f"{name} of the folder")
    variables = {f"TOOLBUS_SECRET_ACME__{name}": f"{name} of the environment" for name in ("PAY", "GONE", "LAST")}
    settings = SecretSettings.model_validate({"secrets_key": "k1 " + "m" * 44, "secrets_folder": tmp_path})
    made = Resolver.of(settings, stored(gone=removed("gone", 7)), variables)
    found = await made.resolve("acme", ["pay", "gone", "last"], tool="tool")
    assert found == {
        "pay": Secret("pay", VALUE, 3, ("api.example.com",)),
        "gone": Secret("gone", "gone of the folder"),
        "last": Secret("last", "LAST of the environment"),
    }
    assert await Resolver.of(SecretSettings(), FakeStream({}), variables).resolve("acme", [], tool="tool") == {}


async def test_a_secret_that_nobody_has_is_named_with_all_that_was_looked_at(tmp_path: Path) -> None:
    """Whoever reads it knows where it could be put."""
    settings = SecretSettings.model_validate({"secrets_folder": tmp_path})
    with pytest.raises(Refused) as refused:
        await Resolver.of(settings, FakeStream({}), {}).resolve("acme", ["pay"], tool="tool")
    assert refused.value.code == "secret_unavailable"
    for place in ("secret://pay", "toolbus secrets set pay", f"{tmp_path}/acme/pay", "TOOLBUS_SECRET_ACME__PAY"):
        assert place in refused.value.message
    with pytest.raises(Refused, match="there is none"):
        await Resolver().resolve("acme", ["pay"], tool="tool")


@pytest.mark.parametrize("name", ["", "../other/pay", "*", ">", "a b"])
async def test_a_name_that_no_secret_can_have_is_looked_for_nowhere(tmp_path: Path, name: str) -> None:
    """It could lead into the folder of another tenant, or match any subject."""
    (tmp_path / "acme").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pay").write_text(VALUE)
    with pytest.raises(Refused, match="no secret can have this name") as refused:
        await Resolver((MountedFolder(tmp_path),)).resolve("acme", [name], tool="tool")
    assert refused.value.code == "secret_unavailable"


async def test_a_secret_of_other_tools_is_refused() -> None:
    """The message names the tools, and not the value."""
    with pytest.raises(Refused, match="for the tools refund only, not for tool") as refused:
        await resolver(pay=Found(VALUE, 1, (), ("refund",))).resolve("acme", ["pay"], tool="tool")
    assert refused.value.code == "secret_not_allowed"
    assert VALUE not in refused.value.message


@pytest.mark.parametrize(
    ("tool", "server", "told"),
    [
        ("notes_add", "notes", None),
        (None, "notes", None),
        ("refund", None, None),
        ("refund", "other", None),
        ("add", "other", "not for add; for all of that server: toolbus secrets set pay --tool mcp:other"),
        (None, "other", "not for asking the MCP server other what it has; for all of that server"),
        ("mcp:notes", None, None),  # no tool can have this name
    ],
)
async def test_a_secret_is_bound_to_servers_too(tool: str | None, server: str | None, told: str | None) -> None:
    """For all that is asked of such a server; what is refused says how it is allowed."""
    made = resolver(pay=Found(VALUE, 1, (), ("refund", "mcp:notes")))
    if told is None:
        assert (await made.resolve("acme", ["pay"], tool=tool, server=server))["pay"].value == VALUE
        return
    with pytest.raises(Refused, match=told) as refused:
        await made.resolve("acme", ["pay"], tool=tool, server=server)
    assert refused.value.code == "secret_not_allowed"


@pytest.mark.parametrize("user", ["mcp:", "mcp:a b", "http:notes", "mcp:mcp:notes", "a:b"])
def test_a_secret_is_bound_to_nothing_else(user: str) -> None:
    """A tool or a server, by name."""
    with pytest.raises(ValidationError):
        PutSecret(value=VALUE, tools=(user,))


async def test_what_was_resolved_is_kept_out_of_logs() -> None:
    """Whoever asked for it: an attempt at a call, or what asks a server which tools it has."""
    await resolver(pay="canary-of-a-listing").resolve("acme", ["pay"], server="notes")
    assert KNOWN.in_line("sent canary-of-a-listing") == "sent [secret:pay]"


async def test_a_secret_too_short_to_be_kept_out_of_answers_is_not_used() -> None:
    """Three characters stand everywhere: what takes them out of answers would take answers apart."""
    with pytest.raises(Refused, match="fewer than 4") as refused:
        await resolver(pin="123").resolve("acme", ["pin"], tool="tool")
    assert refused.value.code == "secret_unavailable"
    assert await resolver(pin="1234").resolve("acme", ["pin"], tool="tool") == {"pin": Secret("pin", "1234")}
