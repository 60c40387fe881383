"""Carry out calls of functions: lease some, work on them, say what came of each. Run as many of these as you like."""

import os
import time
from typing import Any

from toolbus import Client, Conflict


def draft_letter(to: str) -> dict[str, str]:
    """What the tool `draft_letter` (examples/draft_letter.yaml) stands for."""
    if not to:
        raise ValueError("a letter needs somebody to go to")
    return {"letter": f"Dear {to}, …"}


FUNCTIONS = {"draft_letter": draft_letter}
IDLE_S = float(os.environ.get("IDLE_S", "1"))

with Client() as bus:  # a key of scope `work`, best limited to these tools, is enough
    while True:
        leased = bus.lease(*FUNCTIONS, limit=5, visibility_s=60)
        for call in leased:
            answer: dict[str, Any]
            try:
                answer = {"output": FUNCTIONS[call.tool](**call.arguments)}
            except ValueError as error:
                answer = {"error": str(error)}
            try:
                bus.complete(call.call_id, **answer)
            except Conflict as taken:  # somebody else answered, or it expired: what was first counts
                print(call.call_id, taken.code)
        if not leased:
            time.sleep(IDLE_S)
