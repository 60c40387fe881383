"""
The published examples: their input as it is published or fits it, and their steps that call a tool.

A step is named by where it stands. What its expressions name besides the input is said beside it: an item of a loop,
an output of another step. `instead` says which file stands where an example only names one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.published.outside import Outside

Known = Callable[[Sequence[Any], Outside], Mapping[str, Any]]
VIDEO = "http://commondatastorage.googleapis.com/gtv-videos-bucket/sample/ForBiggerMeltdowns.mp4"
TRANSFORMATION = [  # of the kind that the example's prompt asks a model for
    {"aspect_ratio": "1.0", "width": 250},
    {"fetch_format": "auto"},
    {"overlay": {"url": "https://res.cloudinary.com/demo/image/upload/logos/icon.png"}},
    {"flags": "layer_apply"},
]


def nothing(done: Sequence[Any], outside: Outside) -> Mapping[str, Any]:
    """Nothing but the input."""
    del done, outside
    return {}


def item(value: Any) -> Known:
    """`_` is this."""
    return lambda *_: {"_": value}


def outputs(**found: Any) -> Known:
    """Outputs of steps, by their number: `s3=…`."""
    return lambda *_: {"steps": {int(name[1:]): {"output": value} for name, value in found.items()}}


@dataclass(frozen=True)
class Step:
    """A step that calls a tool. `known`: what its expressions may name, from the outputs of the calls before it."""

    at: str
    known: Known = nothing
    instead: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Example:
    """An example: its input and its steps; `idle` tools are in no step of it."""

    steps: tuple[Step, ...]
    input: Mapping[str, Any] = field(default_factory=dict)
    idle: frozenset[str] = frozenset()


FIRST = Example((Step("main/0"),))
EXAMPLES: Mapping[str, Example] = {
    "algolia": FIRST,
    "analyst": Example((Step("main/0"), Step("main/1"), Step("main/2")), {"topic": "julep", "location": "London"}),
    "api_call": Example(
        (Step("main/0", lambda *_: {"metadata": {"weather_api_key": "a-key"}}),), {"location": "London"}
    ),
    "arxiv": FIRST,
    "brave": FIRST,
    "browser_task": Example(
        (
            Step("main/2"),
            Step("main/4", lambda done, _: {"_": {"browser_session_id": done[0]["id"]}}),
            Step("main/6", lambda _, outside: {"steps": {3: {"output": {"connect_url": outside.browser_url}}}}),
        ),
        {"goal": "look around"},
    ),
    "browserbase": FIRST,
    "cloudinary": FIRST,
    "crawler": Example((Step("main/0"),), {"url": "https://spider.cloud"}),
    "customer_support": Example((Step("main/0"),), {"url": "https://julep.ai/", "pages_limit": 5}),
    "email": FIRST,
    "email_assistant": Example(
        (Step("main/4", item({"subject": "Re: help", "body": "Here it is."})),), {"from": "ann@example.com"}
    ),
    "ffmpeg": Example((Step("main/0", instead={"file": "film"}),)),
    "function": FIRST,
    "function_sum": FIRST,
    "hello": Example((Step("main/0"),), {"input": "hello"}),
    "llama_parse": Example((Step("main/0", instead={"file": "document"}),)),
    "mcp_github": Example((Step("main/0"), Step("main/1"))),
    "mcp_http": Example((Step("main/0"), Step("main/1"))),
    "mcp_sse": Example((Step("main/0"), Step("main/1"))),
    "newsletter": Example(
        (
            Step("main/0"),
            Step("main/2/map", item(8863)),
            Step("main/4/map", item({"url": "https://example.com/story"})),
            Step("main/6/map", item({"comment_id": 8952})),
        )
    ),
    "reel_creator": Example(
        (
            Step("main/0"),
            Step("main/1"),
            Step("main/4/map", item({"narration": "Once upon a time"})),
            Step("main/5/map", item({"image_prompt": "A wood at night"})),
            Step("main/7/map", item({"json": {"urls": {"get": "https://api.replicate.com/v1/predictions/1"}}})),
            Step("generate_reel/1", outputs(s0={"clips": [{"clips": []}]})),
            Step("main/10", outputs(s8={"json": {"response": {"id": "render-1"}}})),
        ),
        {"topic": "julep", "url": "example.com/a"},
    ),
    "remote_browser": Example(
        (Step("main/0"), Step("main/2", lambda _, outside: {"_": {"connect_url": outside.browser_url}}))
    ),
    "research_assistant": Example(
        (
            Step("main/0/map", item("julep")),
            Step("main/3/map", item("julep")),
            Step("main/5/map", item(["A paper", "https://arxiv.org/pdf/2301.00001v2"])),
        ),
        {"user_id": "ann"},
    ),
    "sheets_append_values": FIRST,
    "sheets_batch_read": FIRST,
    "sheets_batch_write": FIRST,
    "sheets_clear_values": FIRST,
    "sheets_read_values": FIRST,
    "sheets_write_values": FIRST,
    "spider": Example((Step("main/0"),), {"url": "https://spider.cloud"}),
    "system": Example(()),
    "trip_planner": Example(
        (Step("main/0/map", item("London")), Step("main/1/map", item("London"))), idle=frozenset({"wikipedia"})
    ),
    "unstructured": Example((Step("main/0", instead={"file": "document"}),)),
    "video": Example(
        (Step("main/0"), Step("main/1"), Step("main/4", item({"model_transformation": TRANSFORMATION}))),
        {"video_url": VIDEO, "public_id": "video_test"},
    ),
    "weather": FIRST,
    "wikipedia": FIRST,
}
