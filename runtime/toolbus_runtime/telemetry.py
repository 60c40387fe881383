"""
Metrics: few, bounded, and cheap where the work is done.

Every child is bound here once; nothing on a hot path looks a label up, and what can be counted by the
batch is. `docs/metrics.md` shows them; a test compares it with what is registered.
"""

from collections.abc import Callable, Mapping
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from toolbus_contracts.calls import OPEN
from toolbus_contracts.subjects import DURABLES

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_commands = Counter("toolbus_commands", "Commands that were decided, by what came of them.", ["outcome"])
STORED: Final = _commands.labels("stored")
UNCHANGED: Final = _commands.labels("unchanged")
REFUSED: Final = _commands.labels("refused")
MOVED: Final = _commands.labels("moved")

BATCH_COMMANDS: Final = Histogram(
    "toolbus_batch_commands", "Commands in one batch.", buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
)
APPEND_SECONDS: Final = Histogram("toolbus_append_seconds", "Time of one append, synced to disk.", buckets=SECONDS)
_relay_lag = Gauge("toolbus_relay_lag_events", "Events that are stored and not yet on the bus; 0 unless leading.")

_open_calls = Gauge("toolbus_open_calls", "Calls that have not ended, by status; 0 unless leading.", ["status"])
_OPEN_CALLS: Final = {status: _open_calls.labels(status) for status in OPEN}
ORPHANS: Final = Gauge("toolbus_orphans", "Open calls that nothing would move: must be 0; 0 unless leading.")
WORK_RESENT: Final = Counter("toolbus_work_resent", "Calls whose work had to be sent again, because nobody held it.")

_in_flight = Gauge("toolbus_pull_in_flight", "Messages that are being handled, by stream and durable.", ["consumer"])
_IN_FLIGHT: Final = {
    (durable.stream, durable.name): _in_flight.labels(f"{durable.stream}.{durable.name}")
    for durable in DURABLES.values()
}
DEAD_LETTERS: Final = Counter("toolbus_dead_letters", "Messages that were laid into DEAD.")

_effects = Counter("toolbus_effects", "Attempts that were carried out, by what came of them.", ["outcome"])
_EFFECTS: Final = {
    outcome: _effects.labels(outcome)
    for outcome in ("succeeded", "failed", "not_sent", "unknown", "input_required", "dropped")
}
EFFECT_SECONDS: Final = Histogram(
    "toolbus_effect_seconds", "Time of one attempt, from the work item to its outcome.", buckets=(*SECONDS, 30.0, 60.0)
)

_webhook_attempts = Counter(
    "toolbus_webhook_attempts", "Attempts at messages to webhooks, by what came of them.", ["outcome"]
)
WEBHOOK_ATTEMPTS: Final = {
    outcome: _webhook_attempts.labels(outcome) for outcome in ("delivered", "pending", "failed", "dropped")
}


def count_open_calls(found: Mapping[str, int]) -> None:
    """So many calls are open, by status; a status that is not named has none."""
    for status, gauge in _OPEN_CALLS.items():
        gauge.set(found.get(status, 0))


def watch_relay_lag(lag: Callable[[], float] | None) -> None:
    """The gauge asks this function from now on; with none it tells 0."""
    _relay_lag.set_function(lag or float)


def watch_in_flight(stream: str, durable: str, in_flight: Callable[[], float]) -> None:
    """The gauge of a consumer asks this function from now on; one of a consumer that is not declared is not kept."""
    gauge = _IN_FLIGHT.get((stream, durable))
    if gauge is not None:
        gauge.set_function(in_flight)


def count_effect(outcome: str | None, duration_ms: float) -> None:
    """An attempt was carried out, or its work was dropped (none)."""
    _EFFECTS[outcome or "dropped"].inc()
    if outcome is not None:
        EFFECT_SECONDS.observe(duration_ms / 1000)
