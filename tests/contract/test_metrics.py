"""The table of metrics is what is registered, and every label is bound beforehand."""

import re

from prometheus_client import REGISTRY

from tests.source import ROOT
from toolbus_runtime import telemetry

ROW = re.compile(r"^\| `(toolbus_\w+)` \| (\w+) \| (?:`(\w+)` = ([\w., ]+))? ?\| (.+) \|$", re.MULTILINE)
SUFFIX = {"counter": "_total"}


def registered() -> dict[str, tuple[str, str]]:
    """Type and help of every metric of ours, by its name."""
    ours = (found for found in REGISTRY.collect() if found.name.startswith("toolbus_"))
    return {found.name + SUFFIX.get(found.type, ""): (found.type, found.documentation) for found in ours}


def test_the_table_is_what_is_registered() -> None:
    """Name, type and meaning of each; none is missing and none is made up."""
    rows = {name: (kind, text) for name, kind, _, _, text in documented()}
    assert telemetry.SECONDS  # the module is loaded
    assert rows == registered()


def test_every_label_is_bound_and_documented() -> None:
    """No metric grows with what is called, by whom, or how often."""
    bound: dict[str, tuple[str, set[str]]] = {}
    for found in REGISTRY.collect():
        for sample in found.samples if found.name.startswith("toolbus_") else ():
            for label, value in sample.labels.items():
                if label != "le" and not sample.name.endswith("_created"):
                    bound.setdefault(sample.name, (label, set()))[1].add(value)
    told = {name: (label, set(values.strip().split(", "))) for name, _, label, values, _ in documented() if label}
    assert told == bound


def documented() -> list[tuple[str, ...]]:
    """The rows of the table."""
    return ROW.findall((ROOT / "docs" / "metrics.md").read_text("utf-8"))


def test_a_consumer_that_is_not_declared_is_not_counted() -> None:
    """Tests and tools may read streams of their own."""
    before = registered()
    telemetry.watch_in_flight("OTHER", "somebody", lambda: 1.0)
    assert registered() == before
