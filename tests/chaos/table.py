"""What a series came to: on the terminal, and as `docs/reliability.md`."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from rich.console import Console
from rich.table import Table

from tests.chaos.faults import KINDS
from tests.chaos.result import Result

SHOWN = 5  # violations of one run; the rest stands in its folder
LOST = ("lost", "not_accepted")
STORES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
COLUMNS = (
    "store",
    "runs",
    "calls",
    "unsafe",
    "requests",
    "faults",
    "redeliveries",
    "doubts",
    "probed",
    "settled",
    "waits",
    "words",
    "retries",
    "resent",
    "lost",
    "doubled",
    "orphans",
    "other faults found",
    "s a run",
)


def row(name: str, results: Sequence[Result]) -> tuple[str, ...]:
    """The sums of some runs."""
    found = Counter(text.partition(":")[0] for result in results for text in result.violations)
    lost, doubled, orphans = sum(found[rule] for rule in LOST), found["doubled"], found["orphan"]
    counts = (
        len(results),
        sum(result.calls for result in results),
        sum(result.unsafe for result in results),
        sum(result.requests for result in results),
        sum(sum(result.faults.values()) for result in results),
        sum(result.redeliveries for result in results),
        sum(result.doubts for result in results),
        sum(result.probed for result in results),
        sum(result.settled for result in results),
        sum(result.waits for result in results),
        sum(result.words for result in results),
        sum(result.retries for result in results),
        sum(result.resent for result in results),
        lost,
        doubled,
        orphans,
        found.total() - lost - doubled - orphans,
    )
    return (name, *(f"{count:,}" for count in counts), f"{median(result.duration_s for result in results):.0f}")


def rows(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """A row for each store that was run on, and their sum."""
    by_store = {store: [result for result in results if result.store == store] for store in STORES}
    found = [row(STORES[store], some) for store, some in by_store.items() if some]
    return [*found, row("all", results)] if results else []


def fault_rows(results: Iterable[Result]) -> list[tuple[str, str, str]]:
    """How often each kind of fault was done, and what it is; those that could not be made here say so."""
    done: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for result in results:
        done.update(result.faults)
        left_out.update(result.left_out)
    return [
        (name, f"{done[name]:,}" + (f" ({left_out[name]:,} left out)" if left_out[name] else ""), kind.about)
        for name, kind in KINDS.items()
        if done[name] or left_out[name]
    ]


def show(results: Sequence[Result], console: Console) -> None:
    """Both tables, and every violation."""
    counts = Table(*COLUMNS, title="chaos")
    for one in rows(results):
        counts.add_row(*one)
    faults = Table("fault", "times", "what is done")
    for fault in fault_rows(results):
        faults.add_row(*fault)
    console.print(counts)
    console.print(faults)
    for result in results:
        tell(result, console)


def tell(result: Result, console: Console) -> None:
    """What was wrong with a run, and what is worth a look."""
    told = [*result.violations[:SHOWN], *result.remarks[:SHOWN]]
    if len(result.violations) > SHOWN:
        told.append(f"{len(result.violations) - SHOWN} violations more; see verdict.txt in its folder")
    style = "red" if result.violations else "yellow"
    for text in told:
        console.print(f"seed {result.seed}: {text}", style=style, highlight=False, markup=False, soft_wrap=True)


def document(results: Sequence[Result], command: str, calm: Sequence[Result], calm_command: str) -> str:
    """The page `docs/reliability.md`: a series with faults, and one without; either may be missing."""
    page = [
        "# Reliability",
        "",
        "Written by `make chaos … DOCS=1` from the results of the commands below; not by hand. Each run is an",
        "installation of its own, made and broken as its seed says: odd seeds run on SQLite with one process of each",
        "service, even ones on PostgreSQL with two of each. Half of the calls are POSTs that may not be repeated. A",
        "third stand still for somebody: for an approval, for a value that a person supplies, or for a client that",
        "carries them out; people and clients say what they have to say until it is answered, and leave some as they",
        "are. A checker reads the event log, the target's journal, what was said and how it was answered, and the log",
        "of faults afterwards (`tests/chaos/checker.py`, `tests/chaos/standing_rules.py`).",
        "",
        "`requests` reached the target. `redeliveries` came a second time from the bus. A `doubt` is a call that stood",
        "`in_doubt`: its request was sent, or may have been, and no answer told. Some were `probed` by their tool's",
        "own probe, some `settled` by a person who looked into the target; the others stand, visibly, or a late answer",
        "ended them. `waits` were opened for people and clients, doubts among them, and `words` answered as taken:",
        "none of those may be lost or count twice, nothing that needs an approval may reach the target with other",
        "arguments than those that were agreed to, and 60 s after the last fault no call may stand still without an",
        "open wait, nor a wait be open that nobody needs. `retries` are further attempts that contract or answer",
        "allow. `resent` is work that the bus lost and the store brought again. Lost, doubled, orphans and other",
        "faults found must be 0, or the command fails.",
        "",
    ]
    if results:
        page += ["## With faults", "", f"    {command}", "", *_markdown(COLUMNS, rows(results)), ""]
        page += [*_markdown(("fault", "times", "what is done"), fault_rows(results)), ""]
    if calm:
        page += ["## Without faults", "", f"    {calm_command}", "", *_markdown(COLUMNS, rows(calm)), ""]
    return "\n".join(page)


def _markdown(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body)]
