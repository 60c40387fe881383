"""A short run of Schemathesis with the rest of the tests; `make schemathesis` runs it for longer."""

import os

import pytest

from tests.fuzzing.schemathesis_run import main
from tests.source import ROOT

SECONDS = os.environ.get("TOOLBUS_TEST_FUZZ_S", "40")
SCHEMATHESIS = ROOT / ".venv-schemathesis" / "bin" / "schemathesis"


@pytest.mark.timeout(240)
@pytest.mark.skipif(not SCHEMATHESIS.exists(), reason="`make fuzzer` sets its environment up")
def test_the_interface_keeps_what_its_document_says(capfd: pytest.CaptureFixture[str]) -> None:
    """No server error, no undocumented status, no answer outside its schema, no bad input taken."""
    assert main(str(SCHEMATHESIS), SECONDS) == 0, capfd.readouterr().out
