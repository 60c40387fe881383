"""Probing: the leader asks the probe of a tool about each call in doubt, before a person is asked."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

import structlog
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from toolbus_contracts import digests
from toolbus_contracts.calls import Call, RecordProbe
from toolbus_contracts.errors import ToolbusError, Unavailable
from toolbus_contracts.expressions import Inexpressible
from toolbus_contracts.tools import Probe
from toolbus_contracts.values import Json
from toolbus_dispatcher.adapters.tables import calls
from toolbus_dispatcher.aggregates import CALL
from toolbus_dispatcher.core.probes import Verdict, arguments_of, verdict_on
from toolbus_dispatcher.intake import Intake
from toolbus_dispatcher.lifecycle import INTERNAL_ACTOR, Lifecycle
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.calendar import Calendar
from toolbus_runtime.lull import Lull
from toolbus_runtime.projections import wholly
from toolbus_runtime.store.database import DATABASE_ERRORS
from toolbus_runtime.watching import CallWatch, is_still

log = structlog.get_logger(__name__)
EVERY_S: Final = 1.0
AT_ONCE: Final = 256
MAX_ASKING: Final = 1024
WAIT_S: Final = 60.0
DEADLINE_S: Final = 600.0  # of the probe's own call


class Finding(NamedTuple):
    """What came of asking."""

    verdict: Verdict
    note: str
    output: Json = None


@dataclass
class Prober:
    """Runs on the leader; asking twice is asking once, since the probe's call has an id that follows from the doubt."""

    engine: AsyncEngine
    batcher: Batcher
    intake: Intake
    lifecycle: Lifecycle
    watch: CallWatch
    calendar: Calendar
    lull: Lull
    _seen: dict[tuple[str, int], datetime] = field(default_factory=dict)  # since when we know of a doubt
    _asking: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def run(self) -> None:
        """Probe until cancelled."""
        try:
            while True:
                try:
                    if self._seen or not self.lull.may_skip():
                        await self._look()
                except DATABASE_ERRORS as error:
                    log.warning("probe.waiting", reason=str(error)[:300])
                await asyncio.sleep(EVERY_S)
        finally:
            for task in self._asking.values():
                task.cancel()

    @wholly
    async def _look(self) -> None:
        """Begin to ask about every doubt that we have known for as long as its probe is to wait."""
        self._asking = {call_id: task for call_id, task in self._asking.items() if not task.done()}
        due = (
            select(calls.c.tenant, calls.c.call_id, calls.c.attempt, calls.c.since, calls.c.probe_at)
            .where(
                calls.c.finished_at.is_(None),
                calls.c.status == "in_doubt",
                calls.c.probe_at.is_not(None),
                calls.c.call_id.not_in(self._asking),
            )
            .order_by(calls.c.created_position)
            .limit(AT_ONCE)
        )
        async with self.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            rows = (await connection.execute(due)).all()
        now = self.calendar.now()
        self._seen = {(row.call_id, row.attempt): self._seen.get((row.call_id, row.attempt), now) for row in rows}
        for row in rows:
            is_due = now - self._seen[row.call_id, row.attempt] >= row.probe_at - (row.since or row.probe_at)
            if is_due and len(self._asking) < MAX_ASKING:
                self._asking[row.call_id] = asyncio.create_task(self._settle(row.tenant, row.call_id))

    async def _settle(self, tenant: str, call_id: str) -> None:
        """Ask about one call and record what came of it; when we cannot, the next look begins again."""
        try:
            call: Call | None = await self.batcher.states.read(tenant, CALL, call_id)
            if call is None or call.status != "in_doubt" or call.probe is None or call.probe_at is None:
                return
            probe_call_id = digests.call_id_for_key(tenant, f"\0probe:{call.id}:{call.attempt}")  # no client's key
            finding = await self._ask(tenant, call, call.probe, probe_call_id)
            command = RecordProbe(
                call_id=call.id,
                attempt=call.attempt,
                probe_call_id=probe_call_id,
                verdict=finding.verdict,
                output=finding.output,
                note=finding.note,
            )
            await self.lifecycle.probed(tenant, command)
            log.info("call.probed", call_id=call.id, verdict=finding.verdict)
        except ToolbusError as error:
            log.warning("probe.waiting", call_id=call_id, reason=error.message)
        except Exception:
            log.exception("probe.failed", call_id=call_id)

    async def _ask(self, tenant: str, call: Call, probe: Probe, probe_call_id: str) -> Finding:
        """Call the probe's tool, which must be a read, and judge its output."""
        try:
            body: dict[str, Json] = {
                "tool": probe.tool,
                "arguments": arguments_of(probe, call),
                "labels": {"probe_of": call.id},
                "deadline_s": DEADLINE_S,
                "priority": 9,
            }
            asked = await self._submitted(tenant, body, probe_call_id)
        except Inexpressible as error:
            return Finding("unclear", str(error))
        except Unavailable:
            raise
        except ToolbusError as error:
            return Finding("unclear", f"{probe.tool} could not be asked: {error.message}")
        while not is_still(asked):
            asked = await self.watch.until_still(tenant, asked, WAIT_S)
        if asked.status != "succeeded":
            why = asked.error.message if asked.error else asked.status
            return Finding("unclear", f"{probe.tool} gave no answer: {why}")
        verdict, note = await asyncio.to_thread(verdict_on, probe, call, asked.output)
        return Finding(verdict, note, asked.output)

    async def _submitted(self, tenant: str, body: dict[str, Json], probe_call_id: str) -> Call:
        """The probe's call: the one that was made before, or a new one once it is certain that it changes nothing."""
        made: Call | None = await self.batcher.states.read(tenant, CALL, probe_call_id)
        if made is not None:  # by whoever led before; the tool may have been defined anew since
            return made
        imagined: Call = (
            await self.intake.submit({**body, "dry_run": True}, tenant=tenant, actor=INTERNAL_ACTOR)
        ).state
        if imagined.status == "refused" or imagined.definition_hash is None:
            return imagined
        if not imagined.terms.is_asserted or imagined.terms.effect != "read":
            raise Inexpressible(f"{imagined.tool} is no read: a probe must not change anything")
        body = {**body, "expected_definition_hash": imagined.definition_hash}
        asked: Call = (await self.intake.submit(body, tenant=tenant, actor=INTERNAL_ACTOR, call_id=probe_call_id)).state
        return asked
