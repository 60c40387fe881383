"""
The program that becomes ffmpeg, once it is bounded: `python -I -S media_launcher.py BOUNDS NICENESS PROGRAM ARGUMENTS`.

Bounds are set by the process that they hold for: set from outside they would come late. BOUNDS is a JSON object of
names of `resource` and numbers. There is one process: a filter of system calls (seccomp) refuses it another, and lets
it have threads. A number of processes would not do as a bound (RLIMIT_NPROC): that counts all that the user runs.
"""

import ctypes
import json
import os
import resource
import struct
import sys
from collections.abc import Mapping
from typing import Final, NamedTuple

PR_SET_PDEATHSIG: Final = 1
PR_SET_SECCOMP: Final = 22
PR_SET_NO_NEW_PRIVS: Final = 38
SECCOMP_MODE_FILTER: Final = 2
SIGKILL: Final = 9
CLONE_THREAD: Final = 0x10000
CLONE3: Final = 435
ALLOW: Final = 0x7FFF0000
REFUSE: Final = 0x00050000  # with an error number in the lower half
KILL: Final = 0x80000000
EPERM: Final = 1
ENOSYS: Final = 38
X32: Final = 0x40000000  # numbers from here on are those of x86-64 with short addresses; no other machine has them
# What a filter is made of: load a word of what was called, compare or test it, answer.
LOAD, EQUALS, IS_FROM, HAS, ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, MACHINE, FLAGS = 0, 4, 16  # where a call's number, its machine and its first argument stand


class Machine(NamedTuple):
    """How the kernel of a machine calls what makes processes."""

    audit: int
    clone: int
    forks: tuple[int, ...]


MACHINES: Final[Mapping[str, Machine]] = {
    "x86_64": Machine(0xC000003E, 56, (57, 58)),
    "aarch64": Machine(0xC00000B7, 220, ()),
}


def one_process(machine: Machine) -> bytes:
    """
    The filter: fork and vfork are refused, clone without a thread as well.

    clone3 is told to be unknown, since its flags stand in memory that a filter cannot read; libraries then take clone.
    Numbers of another machine (a 32 bit program's) mean something else: whoever uses them is ended.
    """
    steps = [
        (LOAD, 0, 0, MACHINE),
        (EQUALS, 1, 0, machine.audit),
        (ANSWER, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (IS_FROM, 0, 1, X32),
        (ANSWER, 0, 0, KILL),
        (EQUALS, 0, 1, CLONE3),
        (ANSWER, 0, 0, REFUSE | ENOSYS),
    ]
    for fork in machine.forks:
        steps += [(EQUALS, 0, 1, fork), (ANSWER, 0, 0, REFUSE | EPERM)]
    steps += [
        (EQUALS, 0, 3, machine.clone),
        (LOAD, 0, 0, FLAGS),
        (HAS, 1, 0, CLONE_THREAD),
        (ANSWER, 0, 0, REFUSE | EPERM),
        (ANSWER, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def alone() -> None:
    """
    Whatever this process becomes, it starts no other, and dies with whoever started it: on Linux, nowhere else.

    Raises:
        SystemExit: the kernel cannot see to that.
    """
    if sys.platform != "linux":
        return
    kernel = ctypes.CDLL(None, use_errno=True)
    machine = MACHINES.get(os.uname().machine)
    if machine is None:
        raise SystemExit(f"no bound on processes is known for {os.uname().machine}")
    code = one_process(machine)
    steps = ctypes.create_string_buffer(code, len(code))
    whole = struct.pack("@HP", len(code) // 8, ctypes.addressof(steps))
    for wanted in (
        (PR_SET_PDEATHSIG, SIGKILL),
        (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
        (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(whole)),
    ):
        if kernel.prctl(*wanted):
            raise SystemExit(f"the kernel refused a bound: {os.strerror(ctypes.get_errno())}")


def bound(bounds: Mapping[str, int]) -> None:
    """At most so much is taken from now on, soft as hard; what was bounded more tightly stays so."""
    for name, most in bounds.items():
        which = getattr(resource, name)
        _, already = resource.getrlimit(which)
        lowest = most if already == resource.RLIM_INFINITY else min(most, already)
        resource.setrlimit(which, (lowest, lowest))


if __name__ == "__main__":
    given, niceness, *command = sys.argv[1:]
    bound(json.loads(given))
    os.nice(int(niceness))
    alone()
    os.execve(command[0], command, {"LC_ALL": "C"})  # noqa: S606 - a shell is what must not be there
