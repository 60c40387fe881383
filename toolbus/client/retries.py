"""Whether, and when, a request is sent again: a pure decision."""

from toolbus.client.exchange import Answer, Lost, Request, retry_after

TRIES = 4
DELAYS_S = (0.1, 0.5, 2.0)
PATIENCE_S = 30.0
BUSY = frozenset({429, 503})
GATEWAY = frozenset({502, 503, 504})


def pause_before_next(request: Request[object], reply: Answer | Lost, tries: int, jitter: float) -> float | None:
    """
    Seconds to wait before sending the request again, or None to take the reply as it is.

    `tries` were made so far; `jitter` is between 0 and 1. What was surely not taken is sent again:
    nothing was handed over, or Toolbus itself says busy and names a time of at most 30 s. What may have
    been taken (the answer was lost, or a proxy answered) is sent again only when repeating adds
    nothing. Every other answer stands.
    """
    if tries >= TRIES:
        return None
    delay = DELAYS_S[min(tries, len(DELAYS_S)) - 1] * (0.5 + jitter / 2)
    match reply:
        case Lost():
            return delay if request.is_repeatable or not reply.may_have_arrived else None
        case Answer() if reply.is_problem and reply.status in BUSY:
            named = retry_after(reply)
            return None if named is None or named > PATIENCE_S else max(named, delay)
        case Answer() if not reply.is_problem and reply.status in GATEWAY:
            return delay if request.is_repeatable else None
        case _:
            return None
