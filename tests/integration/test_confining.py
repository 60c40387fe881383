"""Who may look into a process: read its environment, where keys may stand, and its memory."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux knows how")

NOBODY = 65534
CANARY = "canary-of-a-key"
# Whoever starts this may be root, from whom nothing can be hidden: it becomes somebody else first. The first look is
# into a process as every program begins, and shows that there is something to hide.
LOOKS = f"""
import ctypes, os
from toolbus_runtime.confining import forgo_privileges, hide

if os.getuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)

def look(into):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            told = b"seen" if b"{CANARY}" in open(f"/proc/{{into}}/environ", "rb").read() else b"nothing"
        except PermissionError:
            told = b"denied"
        os.write(writing, told)
        os._exit(0)
    os.waitpid(child, 0)
    return os.read(reading, 100).decode()

print(look(os.getpid()))
hide()
print(look(os.getpid()))
forgo_privileges()
print(open("/proc/self/status").read().partition("NoNewPrivs:")[2].split()[0])
"""
SERVICE = """
import ctypes
from toolbus_runtime.process import run_until_signalled

async def run(stop):
    print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))

run_until_signalled(run)
"""


def told(program: str, **more: str) -> list[str]:
    """The lines that a program prints."""
    env = {**os.environ, **more}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_what_a_process_hides_others_of_its_user_do_not_read() -> None:
    """Its environment is open before, and not any more; rights cannot be gained afterwards."""
    assert told(LOOKS, SECRET=CANARY) == ["seen", "denied", "1"]


@pytest.mark.parametrize(("more", "dumpable"), [({}, "0"), ({"TOOLBUS_TRACEABLE": "1"}, "1")])
def test_a_service_hides_unless_somebody_wants_to_look(more: dict[str, str], dumpable: str) -> None:
    """A profiler of the same user needs to be let in."""
    assert told(SERVICE, **more) == [dumpable]
