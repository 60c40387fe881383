"""Budgets of retries: a tool that fails altogether must not be called several times as often as before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from toolbus_contracts.calls import Call
from toolbus_contracts.envelope import StoredEvent
from toolbus_contracts.tools import RetryBudget

MAX_SAVED = 100.0  # further attempts that a tool may have saved up
MAX_KEPT = 10_000


@dataclass(slots=True)
class _Account:
    left: float
    seen_at: datetime


class RetryBudgets:
    """What each tool that has a budget may still spend, as far as this process saw its calls."""

    def __init__(self) -> None:
        self._accounts: dict[tuple[str, str | None, str], _Account] = {}

    def has_left(self, tenant: str, call: Call, now: datetime) -> bool:
        """Whether another attempt is within the tool's budget."""
        budget = call.retry.budget
        return budget is None or self._account(tenant, call, budget, now).left >= 1.0

    def count(self, tenant: str, call: Call | None, events: Sequence[StoredEvent]) -> None:
        """Pay in for the end of a first attempt, and take out for each further one that was decided."""
        if call is None or call.retry.budget is None or not events:
            return
        account = self._account(tenant, call, call.retry.budget, events[-1].recorded_at)
        if call.attempt == 1:
            account.left = min(account.left + call.retry.budget.ratio, MAX_SAVED)
        if any(event.kind == "call.attempt_failed.v1" for event in events):
            account.left -= 1.0  # below zero when several were decided at once: that is paid back first

    def _account(self, tenant: str, call: Call, budget: RetryBudget, now: datetime) -> _Account:
        name = (tenant, call.tool_scope, call.tool)
        account = self._accounts.get(name)
        if account is None:
            if len(self._accounts) >= MAX_KEPT:
                self._accounts.clear()
            account = self._accounts[name] = _Account(max(1.0, budget.per_s), now)
        passed_s = max(0.0, (now - account.seen_at).total_seconds())
        account.left = min(account.left + passed_s * budget.per_s, MAX_SAVED)
        account.seen_at = max(account.seen_at, now)
        return account
