"""A worker that takes calls and then only holds them, to be killed: `python -m tests.e2e.holding_worker TOOL MAX S`."""

import signal
import sys

from toolbus import Client


def main() -> None:
    """Tell the ids of the calls that it holds, one a line, and do nothing more."""
    tool, limit, visibility_s = sys.argv[1:]
    with Client() as bus:
        for call in bus.lease(tool, limit=int(limit), visibility_s=float(visibility_s)):
            print(call.call_id)
        print(flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
