"""What a run leaves behind: its evidence, the counts of its table, and the same in files."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson

from tests.chaos.checker import check
from tests.chaos.clients import Clients
from tests.chaos.evidence import Evidence
from tests.chaos.history import histories
from tests.chaos.injector import Injector
from tests.chaos.people import Speech
from tests.chaos.place import Place
from tests.chaos.plan import FILLED, FUNCTIONS, GUARDED, PUT, UNSAFE, Plan
from tests.chaos.quiet import Quiet
from tests.chaos.result import Result
from tests.chaos.settling import Operator
from tests.chaos.tools import RETRY_ON
from toolbus_runtime.store.verify import verify


@dataclass(frozen=True)
class Trial:
    """A run in progress, with all who know something of it."""

    plan: Plan
    place: Place
    clients: Clients
    injector: Injector
    quiet: Quiet
    operator: Operator
    speech: Speech


async def gather(trial: Trial) -> Evidence:
    """The evidence, after everything became quiet."""
    return Evidence(
        events=tuple(trial.quiet.events),
        requests=tuple(trial.place.target.requests),
        accepted=tuple(trial.clients.accepted),
        faults=tuple(trial.injector.spans),
        unsafe_tools=UNSAFE,
        writing_tools=UNSAFE | {PUT},
        retry_on=RETRY_ON,
        shown=trial.quiet.shown,
        orphans=trial.quiet.orphans,
        waits=tuple(trial.quiet.waits),
        words=tuple(trial.speech.words),
        unheard=tuple(sorted(+trial.speech.pending)),
        open_shown=trial.quiet.open_shown,
        guarded_tools=GUARDED,
        filled_tools=FILLED,
        functions=FUNCTIONS,
        chain_fault=(await verify(trial.place.world.ledger.store)).fault,
    )


async def judge(trial: Trial) -> Result:
    """The counts of the run, and every violation; the evidence lies in the folder."""
    plan, place, clients = trial.plan, trial.place, trial.clients
    await trial.quiet.read()
    evidence = await gather(trial)
    write_down(place.world.folder, evidence)
    await place.redeliveries.look()
    calls = histories(evidence.events)
    dead = await place.root.stream_state("DEAD")
    wanted = plan.calls
    missing = {call.name for call in wanted} - {one.name for one in evidence.accepted}
    return Result(
        seed=plan.seed,
        store=plan.shape.store,
        calls=len(wanted),
        unsafe=sum(call.tool in UNSAFE for call in wanted),
        requests=sum(bool(request.name) for request in evidence.requests),
        offers=clients.offers,
        ends=dict(Counter(calls[one.call_id].status for one in evidence.accepted if one.call_id in calls)),
        faults=dict(Counter(span.kind for span in evidence.faults)),
        left_out=dict(trial.injector.left_out),
        redeliveries=place.redeliveries.count,
        doubts=sum(len(history.of("in_doubt")) for history in calls.values()),
        probed=sum(len(history.of("doubt_probed")) for history in calls.values()),
        settled=sum(len(history.of("doubt_settled")) for history in calls.values()),
        waits=sum(event.kind == "wait.opened.v1" for event in evidence.waits),
        words=sum(word.status == httpx.codes.OK for word in evidence.words),
        retries=sum(len(history.of("attempt_failed")) for history in calls.values()),
        resent=_resent(place.world.folder.glob("*.log")),
        dead=dead.messages if dead is not None else 0,
        remarks=tuple(place.ended),
        violations=(
            *(str(violation) for violation in check(evidence)),
            *(
                f"odd_answer: {count} times {text}"
                for text, count in (clients.oddities + trial.operator.oddities + trial.speech.oddities).items()
            ),
            *(f"not_accepted: {name} was refused to the end" for name in sorted(missing)),
        ),
    )


def write_down(folder: Path, evidence: Evidence) -> None:
    """Lay the evidence beside the journal, a line for each thing."""
    lists = {
        "events": evidence.events,
        "waits": evidence.waits,
        "words": evidence.words,
        "accepted": evidence.accepted,
        "faults": evidence.faults,
    }
    for name, things in lists.items():
        rows = (thing._asdict() if hasattr(thing, "_asdict") else thing for thing in things)
        (folder / f"{name}.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def _resent(logs: Iterable[Path]) -> int:
    """How many calls' work was sent again, as the services' logs tell."""
    count = 0
    for path in logs:
        for line in path.read_text(errors="replace").splitlines():
            if '"work.resent"' in line:
                count += int(orjson.loads(line)["count"])
    return count
