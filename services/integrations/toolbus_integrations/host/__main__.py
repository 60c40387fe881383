"""`python -m toolbus_integrations.host NAME SOCKET PIPE`: the process of a provider, over inherited descriptors."""

import asyncio
import os
import socket
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from toolbus_contracts.egress import EgressRules, parse_allowances
from toolbus_integrations.host.frames import framed, read_frame
from toolbus_integrations.host.loading import LoadingFailed, describe, load, origin
from toolbus_integrations.host.messages import TO_HOST, Begin, Broken, Ready
from toolbus_integrations.host.network import Network
from toolbus_integrations.host.running import Runner
from toolbus_integrations.host.serving import MAX_FRAME_BYTES, Host
from toolbus_integrations.host.watch import end_alone, watch
from toolbus_runtime.confining import forgo_privileges, hide


async def run(name: str, channel: socket.socket, notices: int) -> None:
    """Serve the provider until the service has gone."""
    reader, writer = await asyncio.open_unix_connection(sock=channel, limit=MAX_FRAME_BYTES)
    body = await read_frame(reader, lambda: MAX_FRAME_BYTES)
    if body is None:
        return
    begin = TO_HOST.validate_json(body)
    if not isinstance(begin, Begin):
        raise TypeError("the first frame says how to begin")
    watch(begin.memory_bytes)
    try:
        provider = load(name)
        view = describe(provider, *origin(name))
    except LoadingFailed as error:
        writer.write(framed(Broken(fault=error.fault).model_dump_json().encode()))
        await writer.drain()
        return
    network = Network()
    runner = Runner(provider, network, folder=Path(begin.folder), user_agent=f"toolbus/{_release()}")
    rules = EgressRules(parse_allowances(begin.egress_allow))
    host = Host(runner, reader, writer, notices=notices, rules=rules)
    await host.tell(Ready(view=view))
    try:
        await host.serve()
    finally:
        await network.aclose()


def main() -> None:
    """Run the host; what the provider prints goes to stderr."""
    name, channel, notices = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for descriptor in (channel, notices):
        os.set_inheritable(descriptor, False)  # programs that the provider starts have no part in this
    hide()  # the secrets of its calls are not those of other providers
    forgo_privileges()
    os.dup2(2, 1)
    asyncio.run(run(name, socket.socket(fileno=channel), notices))
    sys.stderr.flush()
    end_alone()  # threads that a provider left behind do not hold this up


def _release() -> str:
    try:
        return version("toolbus")
    except PackageNotFoundError:
        return "0"


if __name__ == "__main__":
    main()
