"""What others of its user see of a process, and what it may become: on Linux; elsewhere nothing of it can be had."""

import ctypes
import os
import sys
from typing import Final

TRACEABLE: Final = "TOOLBUS_TRACEABLE"  # set where a profiler or a debugger of the same user is to look into a service
_PR_SET_DUMPABLE: Final = 4
_PR_SET_NO_NEW_PRIVS: Final = 38


def hide() -> None:
    """
    Others of the same user, such as the processes of providers, read neither memory nor environment of this one.

    Nor do they trace it, and no core is dumped. It holds until another program is run in this process.
    Source: prctl(2), PR_SET_DUMPABLE; proc(5).
    """
    _control(_PR_SET_DUMPABLE, 0)


def hide_unless_traceable() -> None:
    """As `hide`, unless whoever runs this wants to look into it."""
    if not os.environ.get(TRACEABLE):
        hide()


def forgo_privileges() -> None:
    """Neither this process nor any program that it runs gets more rights than it has, be it setuid or not."""
    _control(_PR_SET_NO_NEW_PRIVS, 1)


def _control(option: int, value: int) -> None:
    """
    The kernel does so from now on.

    Raises:
        OSError: it does not know how.
    """
    if sys.platform != "linux":
        return
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
