"""What a provider knows of the effect of a call that failed goes before what the status of an answer says."""

import pytest

from toolbus_contracts.calls import ResponseExcerpt
from toolbus_contracts.tools import Terms
from toolbus_integrations.core.judging import judge
from toolbus_integrations.host.messages import FailedMethod

WRITES = Terms(effect="write", idempotency="none")


@pytest.mark.parametrize(("has_effect", "happened"), [(True, "yes"), (False, "no"), (None, "unknown")])
def test_provider_knows(has_effect: bool | None, happened: str) -> None:
    """An answer that came after something was sent leaves the effect open, unless the provider knows better."""
    answer = ResponseExcerpt(status_code=500, headers={}, body_excerpt="")
    failed = FailedMethod(id=1, code="http_status", message="no", response=answer, effects=1, has_effect=has_effect)
    outcome = judge(failed, WRITES, is_sent=True)
    assert outcome.error is not None
    assert (outcome.result, outcome.error.effect_happened) == ("failed", happened)
