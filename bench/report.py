"""Results for a person: tables on the terminal, and `docs/benchmarks.md`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from bench.measures import Measure
from bench.results import Bar, Results, bars

MARKS = {True: "yes", False: "no", None: "not measured"}


@dataclass(frozen=True)
class Sheet:
    """One table: `text_columns` are aligned left, the rest are numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: int


def sheets(results: Results) -> list[Sheet]:
    """All tables of a report."""
    middle = results.medians()
    flat = [(name, measure) for name, steps in middle.items() for measure in steps]
    return [
        Sheet(
            "Throughput",
            ("contender", "submitted", "calls", "calls/s", "lowest", "highest", "lost", "doubled"),
            [_rate_row(results, name, m) for name, m in flat if m.per_s is not None],
            2,
        ),
        Sheet(
            "One call at a time on an idle system",
            ("contender", "submitted", "samples", "p50 ms", "p99 ms", "lost", "doubled"),
            [_latency_row(name, m) for name, m in flat if m.p50_ms is not None],
            2,
        ),
        Sheet(
            "CPU microseconds a call",
            ("contender", "submitted", "all", "of which"),
            [_cpu_row(name, m) for name, m in flat if m.cpu_us],
            2,
        ),
        Sheet("Numbers to hold", ("what", "bar", "measured", "holds"), [_bar_row(bar) for bar in bars(middle)], 2),
    ]


def _rate_row(results: Results, name: str, measure: Measure) -> Sequence[str]:
    rates = [m.per_s for run in results.runs[name] for m in run if m.step == measure.step and m.per_s is not None]
    figures = [f"{measure.per_s or 0:,.0f}", f"{min(rates):,.0f}", f"{max(rates):,.0f}"]
    return (name, measure.step, f"{measure.calls:,}", *figures, str(measure.lost), str(measure.doubled))


def _latency_row(name: str, measure: Measure) -> Sequence[str]:
    figures = [f"{measure.p50_ms or 0:.2f}", f"{measure.p99_ms or 0:.2f}"]
    return (name, measure.step, f"{measure.calls:,}", *figures, str(measure.lost), str(measure.doubled))


def _cpu_row(name: str, measure: Measure) -> Sequence[str]:
    parts = sorted(measure.cpu_us.items(), key=lambda part: -part[1])
    told = ", ".join(f"{process} {used:,.0f}" for process, used in parts if used >= 1)
    return (name, measure.step, f"{sum(measure.cpu_us.values()):,.0f}", told)


def _bar_row(bar: Bar) -> Sequence[str]:
    return (bar.what, bar.wanted, "-" if bar.measured is None else f"{bar.measured:,.2f}", MARKS[bar.holds])


def remarks(results: Results) -> Iterable[str]:
    """Who was absent, what failed, and which stores do not hold what was submitted."""
    yield from (f"{name} did not take part: {why}" for name, why in results.absent.items())
    yield from (f"{name} failed: {why}" for name, why in results.failed.items())
    for name, steps in results.medians().items():
        wrong = (measure for measure in steps if not measure.is_right)
        yield from (f"{name}, {m.step}: {m.lost} lost, {m.doubled} doubled" for m in wrong)


def show(results: Results, console: Console) -> None:
    """Print all tables."""
    for sheet in sheets(results):
        table = Table(title=sheet.title, title_justify="left")
        for number, column in enumerate(sheet.columns):
            is_text = number < sheet.text_columns or column in {"of which", "holds"}
            table.add_column(column, justify="left" if is_text else "right")
        for row in sheet.rows:
            table.add_row(*row)
        console.print(table)
    for remark in remarks(results):
        console.print(remark, style="bold red")


INTRODUCTION = """# Benchmarks

Written by `.venv/bin/python -m bench --write-docs`; do not edit. Speed is never a test: what the bench checks are
the counts, and it fails when an effect was lost or doubled.

**The job**: accept a call, make one HTTP request to the target in a durable step, record the result.
Every contender calls the same target, which keeps a journal of all requests. A call counts when its
end is recorded *and* the journal holds its request. Figures are medians over {runs} in which the
contenders take turns, each with freshly started processes, all on the same {cores} cores, load generator
and target included.

* **Toolbus**: `toolbus up --processes` with authentication, validation, hashing, relay, logs and metrics
  on. PostgreSQL with `fsync`, `synchronous_commit` and `full_page_writes` on, which is asserted before
  each run. *bus*: 200 submitters at a time, each waiting for the acknowledgement of JetStream; *safe* is a
  GET, *unsafe* a POST whose contract nobody asserted, which asks for a start before it is sent. *http one
  by one*: 64 connections with `wait_s`; *http batches*: 100 calls each on 4 connections. *ask*: request
  and reply over the bus, then the end as it is told there.
* **raw limit**: the same hops over the same kind of streams with bare nats-py and aiohttp, in as many
  processes, without a store and without any rule.
* **DBOS**: async workflows in two processes on the same kind of PostgreSQL, 200 submitters inside the
  application. *direct*: the accepting process runs the workflow; *queue*: through a DBOS queue.
* **Restate**: *as documented* is its quick start (hypercorn, 24 partitions); *tuned* is the fastest
  configuration that we found for two cores (granian with two workers over HTTP/2, 4 partitions). *call*
  waits for the result over 200 connections, *send* for acceptance. Its write-ahead log is fsynced (asserted).
"""


def document(results: Results) -> str:
    """The report as Markdown."""
    parts = [
        INTRODUCTION.format(
            runs="one run" if results.plan.runs == 1 else f"{results.plan.runs} runs", cores=results.machine["cores"]
        )
    ]
    if results.plan.scale < 1:
        parts.append(f"This was a short bench: {results.plan.scale:g} of the usual number of calls.\n")
    for sheet in sheets(results):
        rule = [":--" if number < sheet.text_columns else "--:" for number in range(len(sheet.columns))]
        lines = [sheet.columns, rule, *sheet.rows]
        parts.append(f"## {sheet.title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines))
    parts.extend(f"* {remark}\n" for remark in remarks(results))
    facts = "".join(f"| {name} | {value} |\n" for name, value in results.machine.items())
    parts.append(f"## Taken on\n\n| | |\n|:--|:--|\n{facts}")
    return "\n".join(parts)
