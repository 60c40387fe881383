"""
`python -m tests.fuzzing.schemathesis_run PATH/schemathesis [SECONDS]`: fuzz a running server from its own document.

The server runs without executors: what is fuzzed are answers, and nothing is sent to made-up addresses.
The seed is fixed, so that what fails here fails everywhere.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.integration.http.system import System, call, define, until
from toolbus_runtime.store.database import migrate

SEED = "20260101"
SECONDS = "90"
# Left out: streams never end. Input that is right by the document may still be refused (`positive_data_acceptance`):
# an id must exist, a schema must be one, a name must be that of the path.
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance,ignored_auth"
)


def main(schemathesis: str, seconds: str = SECONDS) -> int:
    """Run, and give the exit code of Schemathesis."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/toolbus.db"
        asyncio.run(migrate(url))
        system = System(Path(folder), url, has_executor=False)
        try:
            system.start()
            (Path(folder) / "schemathesis.toml").write_text(known_things(system))
            return subprocess.run(command(schemathesis, system, seconds), cwd=folder, check=False).returncode
        finally:
            system.stop()


def known_things(system: System) -> str:
    """One thing of each kind that exists, so that paths with an id lead further than to 404."""
    http = system.client(system.tokens["acme"])
    name = define(http, {"name": "probe", "api_call": {"method": "GET", "url": "http://127.0.0.1:9/"}})
    found = {
        "name": name,
        "number": 1,
        "call_id": call(http, name, wait_s=0)["id"],
        "execution_id": http.post("/v1/executions").json()["id"],
        "key_id": http.post("/v1/keys", json={"subject": "user:spare", "scopes": ["read"]}).json()["id"],
        "payload_digest": http.post("/v1/payloads", content=b"1").json()["$payload"],
        "letter_id": dead_letter(system),
        "definition_hash": http.get("/v1/tools/probe").json()["definition_hash"],
    }
    return "[parameters]\n" + "".join(f'"path.{key}" = {json.dumps(value)}\n' for key, value in found.items())


def dead_letter(system: System) -> str:
    """A message that nobody can read."""
    system.publish("submit", b"{")
    http = system.client(system.tokens["acme"])
    letters = until(lambda: http.get("/v1/dead").json()["items"])
    return str(letters[0]["id"])


def command(schemathesis: str, system: System, seconds: str) -> list[str]:
    """The command line of Schemathesis."""
    return [
        str(Path(schemathesis).resolve()),
        "run",
        f"{system.url}/openapi.json",
        f"--header=Authorization: Bearer {system.tokens['acme']}",
        f"--seed={SEED}",
        f"--max-time={seconds}",
        "--phases=examples,coverage,fuzzing",
        f"--checks={CHECKS}",
        "--exclude-path-regex=/stream$",
        "--workers=1",
        "--continue-on-failure",
        "--suppress-health-check=all",
        "--request-timeout=70",
        "--no-color",
    ]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
