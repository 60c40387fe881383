"""
The backlog: every open call, whether it waits for executors or is with them, and which one goes next.

Folded from the log in order, so that every dispatcher knows the same; only the leader lets calls go. A call
without limits whose tenant has room goes at once when it is submitted and is only counted here. All others
are held in a lane, together with the calls of their tenant that have the same limits: by priority, then by age.
"""

import heapq
from collections.abc import Iterable, Mapping
from datetime import datetime

from toolbus_contracts.tools import Limit
from toolbus_dispatcher.core.fairness import Shares
from toolbus_dispatcher.core.lanes import Grant, Head, Lane, OpenCall, Place, Ticket, Turn
from toolbus_dispatcher.core.limits import Count, Exchange, LimitId, blocking, limit_id

MAX_COUNTS = 10_000  # above this, limits under which nothing runs are forgotten
Moment = tuple[datetime, str, int]  # when something is due, of which call, at which attempt
SLACK = 64  # entries of a lane that may be stale before it is tidied up


class Backlog:
    """`slots`: how many calls all executors together carry out at once. `weights`: of tenants, 1 by default."""

    def __init__(self, slots: int, weights: Mapping[str, float]) -> None:
        self._shares = Shares(slots, weights)
        self._tickets: dict[str, Ticket] = {}
        self._lanes: dict[tuple[object, ...], Lane] = {}
        self._counts: dict[LimitId, Count] = {}
        self._due: list[Moment] = []
        self._stops: list[Moment] = []
        self._enough = MAX_COUNTS

    def opened(self, call: OpenCall, now: datetime) -> None:
        """A call was accepted, and is held until it goes."""
        if call.call_id in self._tickets:
            return
        lane = self._lane(call, now)
        lane.tickets += 1
        ticket = Ticket(lane, call.priority, call.position, call.attempt)
        self._tickets[call.call_id] = ticket
        self._shares.see(call.tenant, now)
        self._hold(call.call_id, ticket)

    def went(self, call_id: str, attempt: int, at: datetime) -> None:
        """An attempt was given to the executors."""
        ticket = self._tickets.get(call_id)
        if ticket is None or ticket.where == "out":
            return
        if ticket.where != "granted":
            self._leave(call_id, ticket)
            self._shares.add(ticket.lane.tenant, 1)
            for count in ticket.lane.counts:
                count.begin(call_id)
        self._shares.see(ticket.lane.tenant, at)
        ticket.where, ticket.attempt = "out", attempt

    def started(self, call_id: str, at: datetime, stop_by: datetime) -> None:
        """An executor was permitted to send, and has to be done at `stop_by`."""
        ticket = self._tickets.get(call_id)
        if ticket is None or ticket.where != "out":
            return
        for count in ticket.lane.counts:
            count.start(call_id, at)
        self._wait(self._stops, stop_by, call_id, ticket)

    def overdue(self, now: datetime) -> list[Grant]:
        """The started attempts whose time is over; each is told once."""
        over = []
        while self._stops and self._stops[0][0] <= now:
            _, call_id, attempt = heapq.heappop(self._stops)
            ticket = self._tickets.get(call_id)
            if ticket is not None and ticket.where == "out" and ticket.attempt == attempt:
                over.append(Grant(ticket.lane.tenant, call_id, attempt))
        return over

    def still_over(self, attempts: Iterable[Grant], now: datetime) -> None:
        """Tell of these again: nothing could be done about them."""
        for grant in attempts:
            heapq.heappush(self._stops, (now, grant.call_id, grant.attempt))

    def is_timed(self, call_id: str) -> bool:
        """Whether it matters when the call arrived at its target."""
        ticket = self._tickets.get(call_id)
        return ticket is not None and any(count.limit.rate is not None for count in ticket.lane.counts)

    def rests(self, call_id: str, retry_at: datetime | None = None, *, exchange: Exchange | None = None) -> None:
        """
        The executors have the call no more; its next attempt is due at `retry_at`, or nobody knows when.

        `exchange` is that with its target, if it is known.
        """
        ticket = self._tickets.get(call_id)
        if ticket is None:
            return
        self._leave(call_id, ticket, is_over=True, exchange=exchange)
        ticket.where = "still"
        if retry_at is not None:
            ticket.where = "later"
            self._wait(self._due, retry_at, call_id, ticket)

    def resumed(self, call_id: str) -> None:
        """The call stood still for somebody, and is held again, at its place."""
        ticket = self._tickets.get(call_id)
        if ticket is not None and ticket.where == "still":
            self._hold(call_id, ticket)

    def ended(self, call_id: str, *, exchange: Exchange | None = None) -> None:
        """The call ended; `exchange` as in `rests`."""
        ticket = self._tickets.pop(call_id, None)
        if ticket is not None:
            self._leave(call_id, ticket, is_over=True, exchange=exchange)
            ticket.lane.tickets -= 1
            if not ticket.lane.tickets:
                self._lanes.pop(ticket.lane.key, None)

    def recalled(self, call: OpenCall, arrived_at: datetime, now: datetime) -> None:
        """A call that ended before this process began counts against its rates from then on."""
        for name, limit in self._tell(call, now):
            if limit.rate is not None:
                self._counts[name].recall(arrived_at)

    def has_room(self, tenant: str, now: datetime) -> bool:
        """Whether a call of the tenant that has no limits may go past the backlog: nobody waits, and it has room."""
        lane = self._lanes.get((tenant,))
        return (lane is None or not lane.held) and self._shares.may_have_more(tenant, now)

    def next(self, now: datetime, at_most: int) -> list[Grant]:
        """The calls that may go now, in this order; they count as gone from here on."""
        self._wake_due(now)
        granted: list[Grant] = []
        turns = self._turns()
        while turns and len(granted) < at_most:
            lanes = turns[0].lanes
            lane = lanes[0].lane
            if not self._shares.may_have_more(lane.tenant, now):
                heapq.heappop(turns)
                continue
            heapq.heappop(lanes)
            if blocking(lane.counts, now) is None:
                granted.append(self._grant(lane))
                if lane.held:
                    heapq.heappush(lanes, self._place(lane))
            if lanes:
                heapq.heapreplace(turns, self._turn(lanes))
            else:
                heapq.heappop(turns)
        return granted

    def refused(self, grant: Grant) -> None:
        """A grant came to nothing for now: the call is held again, unless it was heard of since."""
        ticket = self._tickets.get(grant.call_id)
        if ticket is not None and ticket.where == "granted":
            self._leave(grant.call_id, ticket, is_over=True)
            self._hold(grant.call_id, ticket)

    def wakes_at(self, now: datetime) -> datetime | None:
        """When the next call may go without anything happening before; none when only an event can help."""
        times = [self._due[0][0]] if self._due else []
        held = (blocking(lane.counts, now) for lane in self._lanes.values() if lane.held)
        times += [until for _, until in filter(None, held) if until is not None]
        return min(times, default=None)

    def explain(self, call_id: str, now: datetime) -> str | None:
        """What keeps a call from the executors, with the numbers; nothing when it is not held."""
        ticket = self._tickets.get(call_id)
        if ticket is None or ticket.where != "held":
            return None
        lane = ticket.lane
        if held := blocking(lane.counts, now):
            told = held[0].explain(now)
        elif lane.counts and self._shares.may_have_more(lane.tenant, now):  # the next of them is about to go
            told = lane.counts[0].explain(now)
        else:
            told = self._shares.explain(lane.tenant)
        return f"{told}; {lane.held} wait for the same"

    def holds(self, call_id: str) -> bool:
        """Whether something here will move the call: it is held, due some time, or with the executors."""
        ticket = self._tickets.get(call_id)
        return ticket is not None and ticket.where != "still"

    @property
    def is_moving(self) -> bool:
        """Whether anything is held, due some time, or with the executors; all else stands still for somebody."""
        return self._shares.total > 0 or bool(self._due) or len(self) > 0

    def __len__(self) -> int:
        """How many calls are held."""
        return sum(lane.held for lane in self._lanes.values())

    def _turns(self) -> list[Turn]:
        """Whose turn it is: a heap of tenants, each with a heap of its lanes that hold calls."""
        by_tenant: dict[str, list[Place]] = {}
        for lane in self._lanes.values():
            if lane.held:
                by_tenant.setdefault(lane.tenant, []).append(self._place(lane))
        for lanes in by_tenant.values():
            heapq.heapify(lanes)
        turns = [self._turn(lanes) for lanes in by_tenant.values()]
        heapq.heapify(turns)
        return turns

    def _turn(self, lanes: list[Place]) -> Turn:
        return Turn(self._shares.burden(lanes[0].lane.tenant), lanes[0].head, lanes)

    def _place(self, lane: Lane) -> Place:
        while not self._is_held(lane.heap[0]):  # what is held here no more
            heapq.heappop(lane.heap)
        return Place(lane.heap[0], lane)

    def _grant(self, lane: Lane) -> Grant:
        """Let the head of a lane go, which is held: whoever asks has just looked at it."""
        call_id = heapq.heappop(lane.heap)[2]
        ticket = self._tickets[call_id]
        self._leave(call_id, ticket)
        ticket.where = "granted"
        self._shares.add(lane.tenant, 1)
        for count in lane.counts:
            count.begin(call_id)
        return Grant(lane.tenant, call_id, ticket.attempt + 1)

    def _hold(self, call_id: str, ticket: Ticket) -> None:
        ticket.where = "held"
        ticket.lane.held += 1
        heapq.heappush(ticket.lane.heap, (-ticket.priority, ticket.position, call_id))

    def _leave(self, call_id: str, ticket: Ticket, *, is_over: bool = False, exchange: Exchange | None = None) -> None:
        """Take a ticket from where it is; `is_over` when it does not go on to the executors, or comes from them."""
        lane = ticket.lane
        if ticket.where == "held":
            lane.held -= 1
            ticket.where = "still"
            if not lane.held or len(lane.heap) > 2 * lane.held + SLACK:  # of calls that ended here, deep inside
                lane.heap = [head for head in lane.heap if self._is_held(head)]
                heapq.heapify(lane.heap)
        elif is_over and ticket.where in {"granted", "out"}:
            self._shares.add(lane.tenant, -1)
            for count in lane.counts:
                count.end(call_id, exchange)

    def _is_held(self, head: Head) -> bool:
        ticket = self._tickets.get(head[2])
        return ticket is not None and ticket.where == "held"

    def _wait(self, moments: list[Moment], due_at: datetime, call_id: str, ticket: Ticket) -> None:
        """Note when something is due; what nobody asks for here, because others lead, is dropped now and then."""
        heapq.heappush(moments, (due_at, call_id, ticket.attempt))
        if len(moments) > 2 * len(self._tickets) + SLACK:
            moments[:] = [one for one in moments if self._is_awaited(one)]
            heapq.heapify(moments)

    def _is_awaited(self, moment: Moment) -> bool:
        ticket = self._tickets.get(moment[1])
        return ticket is not None and ticket.where in {"later", "out"} and ticket.attempt == moment[2]

    def _wake_due(self, now: datetime) -> None:
        while self._due and self._due[0][0] <= now:
            _, call_id, attempt = heapq.heappop(self._due)
            ticket = self._tickets.get(call_id)
            if ticket is not None and ticket.where == "later" and ticket.attempt == attempt:
                self._hold(call_id, ticket)

    def _tell(self, call: OpenCall, now: datetime) -> list[tuple[LimitId, Limit]]:
        """Heed the numbers of the limits that hold for a call."""
        named = [(limit_id(call.tenant, limit), limit) for limit in call.limits]
        if len(self._counts) > self._enough:
            self._forget_idle(now)
        for name, limit in named:
            if name not in self._counts:
                self._counts[name] = Count(limit)
            self._counts[name].tell(limit, call.position)
        return named

    def _forget_idle(self, now: datetime) -> None:
        """Forget limits that no lane has and under which nothing would be lost."""
        used = {name for lane in self._lanes.values() for name in lane.key[1:]}
        self._counts = {name: count for name, count in self._counts.items() if name in used or not count.is_idle(now)}
        self._enough = max(MAX_COUNTS, 2 * len(self._counts))

    def _lane(self, call: OpenCall, now: datetime) -> Lane:
        names = [name for name, _ in self._tell(call, now)]
        key = (call.tenant, *names)
        if key not in self._lanes:
            self._lanes[key] = Lane(call.tenant, tuple(self._counts[name] for name in names), key)
        return self._lanes[key]
