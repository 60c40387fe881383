"""Waits, grants and delegations, for the client that waits in its own thread."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Unpack

from toolbus.client.flows import PAGE, every, exchange
from toolbus.client.requests import waits
from toolbus.client.requests.waits import WaitFilter
from toolbus.client.runner import Runner
from toolbus_contracts.values import Json
from toolbus_contracts.waits import DelegationView, GrantView, Simulated, WaitDetail


class Waits:
    """Calls that stand still for somebody. A digest names what somebody looked at: of anything else nothing is said."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def list(self, **asked: Unpack[WaitFilter]) -> Iterator[WaitDetail]:
        """Hand out waits, newest first; without arguments unless asked for."""
        return self._runner.iterate(every(waits.list_waits(asked, PAGE)))

    def get(self, wait_id: str) -> WaitDetail:
        """Read a wait, whole."""
        return self._runner.run(exchange(waits.get_wait(wait_id)))

    def approve(
        self, wait_id: str, digest: str, *, note: str = "", arguments: Mapping[str, Json] | None = None
    ) -> WaitDetail:
        """
        Agree to what the digest stands for, or (`arguments`) change it and agree to that.

        Raises:
            NotAllowed: somebody else has to decide, or the arguments may not be changed.
            Conflict: it is not what the digest stands for any more, or the wait is over.
        """
        return self._runner.run(exchange(waits.approve_wait(wait_id, digest, note, arguments)))

    def deny(self, wait_id: str, digest: str, note: str) -> WaitDetail:
        """Say no, and why. Raises: as `approve`."""
        return self._runner.run(exchange(waits.deny_wait(wait_id, digest, note)))

    def answer(self, wait_id: str, digest: str, values: Mapping[str, Json]) -> WaitDetail:
        """
        Supply the values that a call asks for.

        Raises:
            Invalid: they do not fit; `details` names the paths.
            Conflict: as `approve`.
        """
        return self._runner.run(exchange(waits.answer_wait(wait_id, digest, values)))

    def delegate(self, wait_id: str, to: str, until: datetime) -> WaitDetail:
        """Let somebody else decide this wait in one's place."""
        return self._runner.run(exchange(waits.delegate_wait(wait_id, to, until)))

    def simulate(
        self, tool: str, arguments: Mapping[str, Json] | None = None, *, on_behalf_of: str | None = None
    ) -> Simulated:
        """Tell who would have to approve a call; nothing is recorded."""
        return self._runner.run(exchange(waits.simulate_wait(tool, arguments, on_behalf_of)))


class Grants:
    """What is agreed to beforehand (scope approve)."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def give(
        self,
        tool: str,
        uses: int,
        until: datetime,
        *,
        scope: str | None = None,
        condition: str | None = None,
        note: str = "",
    ) -> GrantView:
        """
        Agree to the next calls of a tool, as it is now: so many, until then, while a CEL condition about `call` holds.

        `scope` is where it is defined: `tenant` (unless given), `agent:ID` or `task:ID`.
        """
        request = waits.give_grant(tool, uses, until, condition, scope=scope, note=note)
        return self._runner.run(exchange(request))

    def list(self, *, tool: str | None = None) -> Iterator[GrantView]:
        """Hand out grants, newest first."""
        return self._runner.iterate(every(waits.list_grants(tool, PAGE)))

    def revoke(self, grant_id: str) -> GrantView:
        """End a grant at once."""
        return self._runner.run(exchange(waits.revoke_grant(grant_id)))


class Delegations:
    """Who decides in whose place (scope approve)."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def give(self, to: str, until: datetime, *, note: str = "") -> DelegationView:
        """Let somebody else decide in one's place, in every wait, until then."""
        return self._runner.run(exchange(waits.give_delegation(to, until, note)))

    def list(self) -> Iterator[DelegationView]:
        """Hand out delegations, newest first."""
        return self._runner.iterate(every(waits.list_delegations(PAGE)))

    def revoke(self, delegation_id: str) -> DelegationView:
        """End a delegation at once."""
        return self._runner.run(exchange(waits.revoke_delegation(delegation_id)))
