"""
Drawing an execution for people: one lane for each call over a common scale of time, then the events.

    get_weather       ·░░░░░░░✓                              312 ms  succeeded
    refund (2)           ·░██████████░████?????????????      1.10 s  in_doubt
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.text import Text

from toolbus.cli.lanes import Lane, Segment, lanes_of, moment_of, told_by
from toolbus.cli.text import duration, printable, time_of_day

if TYPE_CHECKING:
    from toolbus.client.views import EventView
    from toolbus_contracts.executions import ExecutionView

LABEL_LEAST, LABEL_MOST = 12, 26
TAIL = 20  # a duration and a status
BAR_LEAST = 16
MAX_EVENTS = 40


@dataclass(frozen=True)
class Glyphs:
    """The signs that a terminal can show."""

    phases: dict[str, str]
    marks: dict[str, str]
    edge: str
    more: str


FINE = Glyphs(
    {"queued": "·", "with_executor": "░", "started": "█", "waiting": "┄", "doubt": "?"},
    {"succeeded": "✓", "failed": "✗", "refused": "✗", "denied": "✗", "cancelled": "○", "expired": "○"},
    "│",
    "…",
)
PLAIN = Glyphs(
    {"queued": ".", "with_executor": "-", "started": "#", "waiting": "~", "doubt": "?"},
    {"succeeded": "+", "failed": "x", "refused": "x", "denied": "x", "cancelled": "o", "expired": "o"},
    "|",
    "...",
)
STYLES = {
    "succeeded": "green",
    "failed": "red",
    "refused": "red",
    "denied": "red",
    "in_doubt": "yellow",
    "running": "cyan",
    "awaiting_input": "yellow",
}
LEGEND = {
    "queued": "queued",
    "with_executor": "with an executor",
    "started": "may have its effect",
    "waiting": "waits",
    "doubt": "in doubt",
}


@dataclass(frozen=True)
class Scale:
    """A stretch of time laid over a number of cells."""

    begin: datetime
    end: datetime
    cells: int

    @property
    def seconds(self) -> float:
        """The length of the stretch."""
        return max(0.0, (self.end - self.begin).total_seconds())

    def cell(self, moment: datetime) -> int:
        """The cell that a moment falls into."""
        share = (moment - self.begin).total_seconds() / self.seconds if self.seconds else 0.0
        return min(self.cells - 1, max(0, int(share * self.cells)))


def timeline(
    execution: "ExecutionView", events: "Sequence[EventView]", *, now: datetime, width: int, glyphs: Glyphs = FINE
) -> RenderableType:
    """Draw an execution, `width` cells wide; what still goes on reaches to `now`."""
    lanes = lanes_of(events)
    names = [_label(lane) for lane in lanes]
    label = min(LABEL_MOST, max([LABEL_LEAST, *map(cell_len, names)]), max(LABEL_LEAST, width - TAIL - BAR_LEAST - 4))
    begin = min([execution.started_at, *(lane.begin for lane in lanes)])
    end = max([_end(execution, now), *(lane.end or now for lane in lanes)]) if lanes else _end(execution, now)
    scale = Scale(begin, end, max(BAR_LEAST, width - label - TAIL - 4))
    lines: list[Text] = [*_head(execution, scale, width, glyphs), Text()]
    if lanes:
        lines.append(_axis(scale, label))
    for name, lane in zip(names, lanes, strict=True):
        lines += _lane(name, lane, scale, label=label, width=width, now=now, glyphs=glyphs)
    if lanes:
        lines += [Text(), _legend(lanes, glyphs, width)]
    tools = {lane.call_id: lane.tool for lane in lanes}
    return Group(*lines, Text(), *_events(events, tools, scale.begin, width=width, glyphs=glyphs))


def _end(execution: "ExecutionView", now: datetime) -> datetime:
    return execution.finished_at or now


def _label(lane: Lane) -> str:
    return printable(lane.tool) + (f" ({lane.attempts})" if lane.attempts > 1 else "")


def cut(text: str, width: int, more: str) -> str:
    """The beginning of a text that fits into so many cells."""
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - len(more))) + more


def filled(text: str, width: int) -> str:
    """A text with blanks behind it, so many cells wide: a wide letter takes two."""
    return text + " " * (width - cell_len(text))


def _head(execution: "ExecutionView", scale: Scale, width: int, glyphs: Glyphs) -> list[Text]:
    title = Text.assemble((printable(execution.id), "bold"), "  ", (execution.status, STYLES.get(execution.status, "")))
    counted = ", ".join(f"{number} {status}" for status, number in sorted(execution.calls.items()))
    total = sum(execution.calls.values())
    calls = "no calls yet" if not total else f"{total} {'call' if total == 1 else 'calls'}: {counted}"
    took = ("took " if execution.finished_at else "for ") + duration(scale.seconds)
    lines = [title, Text(f"{time_of_day(execution.started_at)}, {took}"), Text(cut(calls, width, glyphs.more))]
    if execution.labels:
        told = ", ".join(f"{name}={value}" for name, value in execution.labels.items())
        lines.append(Text(cut(printable(told), width, glyphs.more), style="dim"))
    if execution.reason:
        lines.append(Text(cut(printable(execution.reason), width, glyphs.more), style="dim"))
    return lines


def _axis(scale: Scale, label: int) -> Text:
    """The scale over the lanes: nothing at the left, the whole length at the right."""
    whole = duration(scale.seconds)
    half = duration(scale.seconds / 2)
    middle = scale.cells // 2 - len(half) // 2
    ticks = "0" + " " * max(1, middle - 1) + half
    ticks += " " * max(1, scale.cells - len(ticks) - len(whole)) + whole
    return Text(" " * (label + 2) + ticks, style="dim")


def _lane(name: str, lane: Lane, scale: Scale, *, label: int, width: int, now: datetime, glyphs: Glyphs) -> list[Text]:
    style = STYLES.get(lane.status, "")
    took = duration(((lane.end or now) - lane.begin).total_seconds())
    first = Text(filled(cut(name, label, glyphs.more), label) + "  ")
    first.append(_bar(lane, scale, now, glyphs).ljust(scale.cells), style=style or "blue")
    first.append(f"  {took:>8}  ", style="dim")
    first.append(lane.status, style=style)
    second = Text("  " + cut(printable(lane.call_id), width - 2, glyphs.more), style="dim")
    lines = [first, second]
    if lane.told:
        lines.append(Text("  " + cut(printable(lane.told), width - 2, glyphs.more), style=style))
    return lines


def _bar(lane: Lane, scale: Scale, now: datetime, glyphs: Glyphs) -> str:
    """The stretches of a lane, each at least one cell as long as there is room, and the mark of its end."""
    cells = [" "] * scale.cells
    for segment in lane.segments:
        first, last = scale.cell(segment.begin), _last(segment, scale, now)
        for place in range(first, max(first, last) + 1):
            cells[place] = glyphs.phases[segment.phase]
    if lane.end is not None:
        cells[scale.cell(lane.end)] = glyphs.marks.get(lane.status, glyphs.edge)
    return "".join(cells)


def _last(segment: Segment, scale: Scale, now: datetime) -> int:
    """The last cell of a stretch; the cell of its end belongs to what follows."""
    return scale.cell(now) if segment.end is None else scale.cell(segment.end) - 1


def _legend(lanes: Sequence[Lane], glyphs: Glyphs, width: int) -> Text:
    present = {segment.phase for lane in lanes for segment in lane.segments}
    parts = [f"{glyphs.phases[phase]} {told}" for phase, told in LEGEND.items() if phase in present]
    return Text(cut("   ".join(parts), width, glyphs.more), style="dim")


# ── events ──────────────────────────────────────────────────────────────────────────────────────


def _events(
    events: "Sequence[EventView]", tools: dict[str, str], begin: datetime, *, width: int, glyphs: Glyphs
) -> list[Text]:
    left_out = len(events) - MAX_EVENTS
    shown = events[-MAX_EVENTS:]
    lines = [event_line(e, begin, tools.get(e.subject_id, ""), width=width, glyphs=glyphs) for e in shown]
    if left_out > 0:
        lines.insert(0, Text(f"{left_out} earlier events: toolbus exec events ID", style="dim"))
    return lines


def event_line(event: "EventView", begin: datetime, tool: str, *, width: int, glyphs: Glyphs = FINE) -> Text:
    """One event on one line: position, time since the beginning, kind, and what it says of which tool."""
    since = f"+{duration((moment_of(event) - begin).total_seconds())}"
    line = Text(f"{event.position:>8}  ", style="dim")
    line.append(f"{since:>9}  ")
    kind = printable(event.kind).rsplit(".v", 1)[0]  # the version of a kind is for programs
    line.append(f"{kind:<22}", style=_kind_style(event.kind))
    told = summary(event, tool)
    line.append("  " + cut(told, max(0, width - cell_len(line.plain) - 2), glyphs.more))
    line.rstrip()
    return line


def summary(event: "EventView", tool: str = "") -> str:
    """What an event says, in a few words; `tool` is named where the event itself does not."""
    data = event.data if isinstance(event.data, dict) else {}
    told_tool = data.get("tool") if isinstance(data.get("tool"), str) else tool
    parts = [str(told_tool)] if told_tool else []
    parts += [str(data[name]) for name in ("status", "outcome") if isinstance(data.get(name), str)]
    if isinstance(data.get("attempt"), int):
        parts.append(f"attempt {data['attempt']}")
    if isinstance(data.get("executor"), str):
        parts.append(f"by {data['executor']}")
    told = told_by(data)
    return printable("  ".join([*parts, *([told] if told else [])]))


def _kind_style(kind: str) -> str:
    verb = kind.split(".")[1] if "." in kind else kind
    return STYLES.get(verb, "")
