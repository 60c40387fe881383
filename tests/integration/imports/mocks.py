"""The mock of a document as a process, and requests to it byte by byte."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

from tests.integration.imports.specifications import PYTHON, Specification
from tests.ports import free_port
from toolbus_contracts.requests.request import HttpRequest

SOURCE = Path(__file__).with_name("openapi_mock.py")
TIMEOUT_S = 30


class Mock:
    """A server that takes what the document allows."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def sent(self, request: HttpRequest) -> tuple[int, str]:
        """Status and body of the answer to a request, sent as the executor would."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            target = request.url.removeprefix(self.url)
            connection.request(request.method, target, request.body, dict(request.headers))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


@contextmanager
def mock_of(specification: Specification) -> Iterator[Mock]:
    """The mock, once it listens, and while it is needed."""
    port = free_port()
    command = [str(PYTHON), str(SOURCE), str(specification.path), str(port)]
    with Popen(command, stdin=DEVNULL, stdout=PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield Mock(port)
        finally:
            process.kill()
