"""Secrets on a real bus and real sockets: resolved for each use, sent where they are bound, and told by nobody."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.integration.api_caller.conftest import StartExecutor
from tests.integration.api_caller.dispatching import FakeDispatcher, gone
from tests.integration.api_caller.raw_target import RawTarget, Seen, raw_target, response
from tests.nats_fixtures import Connect, until
from tests.secret_forms import FORMS, forms_found
from tests.unit.api_caller.handling import FakeNetwork, FrozenClock
from tests.unit.api_caller.making import READ, UNSAFE, answer, item
from tests.unit.runtime.secret_sources import VALUE, removed, sealed
from toolbus_api_caller.core.response import HttpAnswer
from toolbus_api_caller.handlers import HttpEffect
from toolbus_contracts import subjects
from toolbus_contracts.calls import RecordOutcome
from toolbus_contracts.executing.outcomes import Failure
from toolbus_contracts.executing.permits import Permit
from toolbus_contracts.requests.request import HttpRequest
from toolbus_contracts.secrets import PutSecret
from toolbus_contracts.subjects import DURABLES
from toolbus_contracts.work import WorkItem
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.pull import PullLoop
from toolbus_runtime.executing.dispatcher import Dispatcher
from toolbus_runtime.executing.executor import Executor
from toolbus_runtime.executing.runs import Run, Runs
from toolbus_runtime.sealing import KeyRing
from toolbus_runtime.secrets.resolver import Resolver
from toolbus_runtime.secrets.sources import StoredSecrets

MASTER = "k1 " + "m" * 44
Store = Callable[..., Awaitable[None]]


@pytest.fixture
async def store(declared: Bus, connect: Connect) -> Store:
    """Lay a generation of a secret of acme on the bus, as the integrations service does."""
    bus = await connect("integrations")

    async def put(name: str, value: str | None, generation: int = 1, hosts: tuple[str, ...] = ()) -> None:
        secret = PutSecret(value=value or "none", hosts=hosts)
        data = removed(name, generation) if value is None else sealed("acme", name, generation, secret)
        await bus.publish(subjects.secret("acme", name), data)

    return put


def work(target: RawTarget, number: int = 1, method: str = "GET", path: str = "/v1/x", **section: object) -> WorkItem:
    """A work item that brings the secret `key` to the target, in a header unless the section says otherwise."""
    whole = {"method": method, "url": target.url + path, "headers": {"x-key": "secret://key"}, **section}
    terms = READ if method == "GET" else UNSAFE
    return item(whole, terms=terms, call_id=f"call_{number:032}")


async def told(dispatcher: FakeDispatcher, made: WorkItem) -> RecordOutcome:
    """The outcome of this work."""
    count = len(dispatcher.told)
    await dispatcher.give(made)
    await until(lambda: len(dispatcher.told) > count)
    return dispatcher.told[-1]


def code(outcome: RecordOutcome) -> str:
    """The code of its error."""
    assert outcome.error is not None
    return outcome.error.code


async def test_each_use_has_the_newest_generation(
    start_executor: StartExecutor, dispatcher: FakeDispatcher, target: RawTarget, store: Store
) -> None:
    """A value that was changed is sent with the next call; one that was removed with none."""
    await start_executor(secrets_key=MASTER)
    for generation, value in enumerate(("first value", "second value"), start=1):
        await store("key", value, generation)
        assert (await told(dispatcher, work(target, generation))).result == "succeeded"
        assert target.seen[-1].header("x-key") == value
    await store("key", None, 2)
    assert code(await told(dispatcher, work(target, 3))) == "secret_unavailable"
    assert len(target.seen) == 2


async def test_without_the_master_key_the_work_waits(
    start_executor: StartExecutor, dispatcher: FakeDispatcher, *, target: RawTarget, store: Store, tmp_path: Path
) -> None:
    """Nothing is sent and nothing fails; once the key is there the call goes on without a restart."""
    file = tmp_path / "keys"
    file.write_text("k0 " + "o" * 44)
    await start_executor(secrets_key_file=file)
    await store("key", VALUE)
    await dispatcher.give(work(target))
    state = DURABLES["api_caller"]
    await until(lambda: _was_put_off(dispatcher.bus, state.stream, state.name))
    assert (target.seen, dispatcher.told) == ([], [])
    file.write_text(MASTER)
    await until(lambda: len(dispatcher.told) == 1)
    assert target.seen[0].header("x-key") == VALUE


async def _was_put_off(bus: Bus, stream: str, durable: str) -> bool:
    found = await bus.api(f"CONSUMER.INFO.{stream}.{durable}")
    return bool(found["num_redelivered"])


async def echo(seen: Seen, writer: asyncio.StreamWriter) -> bool:
    """Say the secret in every form there is: in status, headers and body."""
    said = b"\n".join(write(seen.header("x-key") or "") for write in FORMS.values())
    headers = [f"X-Echo: {seen.header('x-key')}", "Content-Type: text/plain"]
    writer.write(
        response(said * 10 + b"." * 1_000_000 if "large" in seen.line else said, *headers, status=f"200 {VALUE}")
    )
    return True


@pytest.mark.parametrize("path", ["/small", "/large"])
async def test_a_target_that_says_the_secret_is_not_heard(
    start_executor: StartExecutor, dispatcher: FakeDispatcher, store: Store, path: str
) -> None:
    """In whatever form, in the answer itself and in what lies in the bucket."""
    await start_executor(secrets_key=MASTER)
    await store("key", VALUE)
    async with raw_target(echo) as target:
        outcome = await told(dispatcher, work(target, path=path, include_response_content=True))
    assert outcome.output is not None
    assert outcome.output["headers"]["x-echo"] == "[secret:key]"
    text = outcome.model_dump_json().encode()
    content = outcome.output["content"]
    if isinstance(content, dict):
        text += await dispatcher.bus.get_payload(content["$payload"]) or b""
        assert len(text) > 1_000_000
    assert forms_found(text, VALUE) == []


async def test_no_redirect_takes_a_secret_away(
    start_executor: StartExecutor, dispatcher: FakeDispatcher, target: RawTarget, store: Store
) -> None:
    """A body that would go along is not sent; the one request that was leaves it open whether the effect happened."""
    await start_executor(secrets_key=MASTER)
    await store("key", VALUE)
    away = response(b"", f"Location: {target.url}/taken?k={VALUE}", status="307 Away")

    async def lead(seen: Seen, writer: asyncio.StreamWriter) -> bool:
        writer.write(away)
        return "again" in seen.line

    async with raw_target(lead) as leading:
        body = {"k": "secret://key"}
        posted = await told(dispatcher, work(leading, 1, "POST", follow_redirects=True, headers={}, json=body))
        looked = await told(dispatcher, work(leading, 2, follow_redirects=True))
    assert [(code(one), one.error and one.error.effect_happened) for one in (posted, looked)] == [
        ("secret_not_allowed", "unknown"),
        ("secret_not_allowed", "no"),
    ]
    assert (len(leading.seen), target.seen) == (2, [])


async def test_a_bound_secret_is_sent_to_no_other_host(
    start_executor: StartExecutor, dispatcher: FakeDispatcher, target: RawTarget, store: Store
) -> None:
    """Not even asked for is the start; with its port in the binding it is sent."""
    await start_executor(secrets_key=MASTER)
    await store("key", VALUE, 1, ("api.example.com", "127.0.0.1:1"))
    refused = await told(dispatcher, work(target, 1, "POST"))
    assert (code(refused), dispatcher.asked, target.seen) == ("secret_not_allowed", [], [])
    await store("key", VALUE, 2, (f"127.0.0.1:{target.port}",))
    assert (await told(dispatcher, work(target, 2, "POST"))).result == "succeeded"
    assert len(target.seen) == 1


class FaultyNetwork(FakeNetwork):
    """Fails as no network should, with the secret in its mouth."""

    async def send(self, request: HttpRequest, permit: Permit, run: Run) -> HttpAnswer | Failure:
        """Fail."""
        raise KeyError(request, permit, run, VALUE)


async def test_a_dead_letter_does_not_say_the_secret(
    dispatcher: FakeDispatcher, executor_bus: Bus, *, declared: Bus, target: RawTarget, store: Store
) -> None:
    """A fault of ours is buried with its text, in which the value is not."""
    await store("key", VALUE)
    clock = FrozenClock()
    effect = HttpEffect(FaultyNetwork(answer()), clock, user_agent="toolbus/test")
    secrets = Resolver((StoredSecrets(executor_bus, KeyRing(MASTER)),))
    asked = Dispatcher(executor_bus, clock, executor="me", patience_s=1.0)
    executor = Executor(executor_bus, effect, asked, clock, runs=Runs(), secrets=secrets)
    loop = PullLoop(executor_bus, DURABLES["api_caller"], executor.on_work, concurrency=1, max_deliveries=1)
    loop.start()
    await dispatcher.give(work(target))
    await until(lambda: gone(dispatcher))
    await loop.stop(grace_s=0.1)
    letter = await declared.last_message("DEAD", "toolbus.dead.acme.too_many_deliveries")
    assert letter is not None
    assert letter.headers["Toolbus-Error"].startswith("ConcealedError: KeyError:")
    assert "[secret:key]" in letter.headers["Toolbus-Error"]
    assert forms_found(repr(letter).encode(), VALUE) == []
