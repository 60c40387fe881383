"""A process for a provider: what it is given, and what not."""

import asyncio
import os
import shutil
import socket
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# Nothing of the service's settings, and no secret: where programs are, how text is written, whom to trust.
PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
MAX_LINE_BYTES: Final = 64 * 1024
HOST: Final = "toolbus_integrations.host"


@dataclass
class Spawned:
    """
    The process of the provider `name`, which runs, with our ends of what leads to it.

    `channel` is for frames, `notices` the pipe on which it notes what is sent, `lines` what it writes to stderr.
    """

    name: str
    process: asyncio.subprocess.Process
    lines: asyncio.StreamReader
    channel: socket.socket
    notices: int
    folder: Path

    def clear(self) -> None:
        """Nothing of it is left; the process has ended."""
        shutil.rmtree(self.folder, ignore_errors=True)


async def spawn(name: str) -> Spawned:
    """
    The process of the provider of this name has begun, in a session and a folder of its own.

    Raises:
        OSError: the system starts no further process.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"toolbus-{name[:40]}-"))
    ours, theirs = socket.socketpair()
    notices, theirs_notices = os.pipe()
    os.set_blocking(notices, False)
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", HOST, name, str(theirs.fileno()), str(theirs_notices)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=MAX_LINE_BYTES,
            pass_fds=(theirs.fileno(), theirs_notices),
            env=environment(folder),
            cwd=folder,
            start_new_session=True,
        )
    except BaseException:
        ours.close()
        os.close(notices)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        theirs.close()
        os.close(theirs_notices)
    if process.stderr is None:
        raise AssertionError("its stderr is a pipe")
    return Spawned(name, process, process.stderr, ours, notices, folder)


def environment(folder: Path) -> dict[str, str]:
    """The environment of a provider's process: it imports what this process can import, and knows little else."""
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    paths = os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path)
    return {**passed, "HOME": str(folder), "TMPDIR": str(folder), "PYTHONPATH": paths, "PYTHONUNBUFFERED": "1"}
