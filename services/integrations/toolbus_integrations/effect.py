"""From work to an outcome, for tools of type `integration`: a method of a provider, run in the provider's process."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from toolbus_contracts.errors import Fault, Refused, Unavailable
from toolbus_contracts.executing.outcomes import Failure, Outcome, deadline_passed, judge_failure
from toolbus_contracts.executing.permits import Permit, is_late
from toolbus_contracts.references import filled, secret_names
from toolbus_contracts.tools import IntegrationSection, JsonObject
from toolbus_contracts.values import Json
from toolbus_contracts.work import WorkItem
from toolbus_integrations.core.judging import away, judge, judge_lost
from toolbus_integrations.host.messages import Interrupted, Perform, SideFault, Stopped
from toolbus_integrations.hosting.asking import HostLost
from toolbus_integrations.hosting.hosts import Hosts
from toolbus_runtime.executing.clock import Clock
from toolbus_runtime.executing.deadline import Until
from toolbus_runtime.executing.runs import Run
from toolbus_runtime.secrets.held import HeldSecrets

STOPPED = "the call was stopped"


@dataclass(frozen=True, slots=True)
class ProviderCall:
    """A call that fits its method. `secrets` are their values; `bindings`: the hosts of each that is bound to some."""

    provider: str
    method: str
    setup: JsonObject = field(repr=False)
    arguments: Json
    bindings: Mapping[str, tuple[str, ...]]
    secrets: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Away:
    """The provider is not there now, which is told as the outcome of this attempt."""

    message: str
    retry_after_s: float


class IntegrationEffect:
    """Runs methods of providers; `is_known` tells whether there is a provider of a name."""

    def __init__(self, hosts: Hosts, clock: Clock, *, is_known: Callable[[str], bool]) -> None:
        self._hosts = hosts
        self._clock = clock
        self._is_known = is_known

    async def prepare(self, item: WorkItem, held: HeldSecrets, *, is_large: bool) -> ProviderCall | Away:
        """
        The call, with the secrets of its setup in their places.

        Raises:
            Refused: there is no such provider or method, a secret cannot be had, or setup or arguments do not fit.
            Unavailable: the secrets cannot be looked up now.
        """
        del is_large
        section = section_of(item)
        if not self._is_known(section.provider):
            raise Refused("provider_missing", f"there is no provider {section.provider} here")
        secrets = await held.resolve(secret_names(item.definition, item.setup))
        values = {name: one.value for name, one in secrets.items()}
        setup = filled({**(section.setup or {}), **item.setup}, values)
        bindings = {name: one.hosts for name, one in secrets.items() if one.hosts}
        try:
            method = await self._method(section)
            call = ProviderCall(section.provider, method, setup, item.arguments, bindings, values)
            _refuse(await self._hosts.check(section.provider, method, setup, item.arguments))
        except Unavailable as error:
            return Away(error.message, error.retry_after_s)
        return call

    async def perform(self, item: WorkItem, prepared: ProviderCall | Away, permit: Permit, run: Run) -> Outcome:
        """What came of it. The process of the provider is told to stop when nobody wants the call any more."""
        if isinstance(prepared, Away):
            return away(prepared.message, prepared.retry_after_s)
        stop = asyncio.Event()
        stop_at = self._clock.steady_s() + item.definition.attempt_s(item.surface)
        if permit.stop_by is not None:
            stop_at = min(stop_at, permit.stop_by)
        alarm = asyncio.create_task(self._alarm(stop_at, stop))
        run.on_heard = lambda: None if run.is_wanted(is_sent=run.sent_s is not None) else stop.set()
        try:
            return await self._outcome(item, prepared, permit, run, stop=stop)
        finally:
            run.on_heard = None
            alarm.cancel()

    async def _method(self, section: IntegrationSection) -> str:
        """The name of the method that is meant. Raises: Refused, Unavailable."""
        view = await self._hosts.view(section.provider)
        found = view.method(section.method)
        if found is None:
            raise Refused("provider_missing", f"the provider {section.provider} has no method {section.method}")
        return found.method

    async def _outcome(
        self, item: WorkItem, call: ProviderCall, permit: Permit, run: Run, *, stop: asyncio.Event
    ) -> Outcome:
        asked = Perform(
            id=0,
            method=call.method,
            setup=call.setup,
            arguments=call.arguments,
            tenant=item.tenant,
            call_id=item.call_id,
            max_output_bytes=item.definition.max_output_bytes,
            send_by=permit.send_by,
            bindings=dict(call.bindings),
            secrets=dict(call.secrets),
        )

        def on_sent() -> None:
            run.sent_s = self._clock.steady_s()

        try:
            ended = await self._hosts.perform(call.provider, asked, on_sent, stop)
        except Unavailable as error:
            return away(error.message, error.retry_after_s)
        except HostLost as error:
            if stop.is_set():
                return self._stopped(item, run, is_sent=error.is_sent)
            pause_s = self._hosts.pause_s(call.provider)
            return judge_lost(error.reason, item.terms, is_sent=error.is_sent, retry_after_s=pause_s)
        is_sent = run.sent_s is not None
        if isinstance(ended, Stopped) and stop.is_set():
            return self._stopped(item, run, is_sent=is_sent)
        if isinstance(ended, Interrupted) and not is_sent and is_late(item, self._clock.now()):
            return deadline_passed()
        return judge(ended, item.terms, is_sent=is_sent)

    def _stopped(self, item: WorkItem, run: Run, *, is_sent: bool) -> Outcome:
        """It was stopped: because nobody wants it, or because its time was up."""
        if not run.is_wanted(is_sent=is_sent):
            return judge_failure(Failure("unwanted", STOPPED, is_sent), item.terms)
        if not is_sent and is_late(item, self._clock.now()):
            return deadline_passed()
        return judge_failure(Failure("timeout", "no answer in time", is_sent), item.terms)

    async def _alarm(self, at_s: float, stop: asyncio.Event) -> None:
        """The call is to stop at this time of the steady clock, if it was not to before."""
        try:
            async with Until(at_s, self._clock):
                await stop.wait()
        except TimeoutError:
            stop.set()


def section_of(item: WorkItem) -> IntegrationSection:
    """The section of a work item for this executor. Raises: Refused."""
    section = item.definition.integration
    if section is None:
        raise Refused("unsupported_type", "this executor runs tools of type integration")
    return section


def _refuse(faults: tuple[SideFault, ...]) -> None:
    """Raises: Refused, `setup_invalid` or `invalid_arguments`, naming the first faults."""
    if not faults:
        return
    code = "setup_invalid" if faults[0].side == "setup" else "invalid_arguments"
    found = tuple(Fault(f"/{fault.side}{fault.path}", fault.message) for fault in faults)
    told = "; ".join(f"{fault.path}: {fault.message}" for fault in found[:5])
    raise Refused(code, told, found)
