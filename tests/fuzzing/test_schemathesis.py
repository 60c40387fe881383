"""A short run of Schemathesis with the rest of the tests; `make schemathesis` runs it for longer."""

import pytest

from tests.fuzzing.schemathesis_run import main
from tests.source import ROOT

SCHEMATHESIS = ROOT / ".venv-schemathesis" / "bin" / "schemathesis"


@pytest.mark.timeout(240)
@pytest.mark.skipif(not SCHEMATHESIS.exists(), reason="`make schemathesis` sets its environment up")
def test_the_interface_keeps_what_its_document_says(capfd: pytest.CaptureFixture[str]) -> None:
    """No server error, no undocumented status, no answer outside its schema, no bad input taken."""
    assert main(str(SCHEMATHESIS), "40") == 0, capfd.readouterr().out
