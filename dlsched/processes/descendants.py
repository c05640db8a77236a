"""What descends from a process: orphans are adopted, and all of it can be killed, whatever group or session it fled to."""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Collection

SWEEP_S = 5.0
"""Seconds after which killing is given up: what is still there waits for hardware, and dies when that answers."""
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS}


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends (Linux; elsewhere they are lost to us)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Be killed when the parent ends (Linux), which has one thread only: the signal is tied to a thread."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def kill_descendants(spared: Collection[int] = ()) -> bool:
    """Kill and reap all that descends from this process, save some; return whether there was anything."""
    import psutil

    myself, ends = psutil.Process(), time.monotonic() + SWEEP_S
    there = False
    while time.monotonic() < ends:
        found = [each.pid for each in myself.children(recursive=True) if each.pid not in spared]
        there = there or bool(found)
        reap(found)
        living = [pid for pid in found if _lives(pid)]
        if not living:
            break
        for pid in living:
            _kill(pid, spared)
        time.sleep(0.001)
    return there


def _lives(pid: int) -> bool:
    """Whether a process is there, and not merely unburied by a parent that is spared."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _kill(pid: int, spared: Collection[int]) -> None:
    """Kill a process, and its group at one stroke: what forks and ends all the time would slip away one by one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        group = os.getpgid(pid)
        if group != os.getpgrp() and group not in spared:
            os.killpg(group, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def reap(pids: Collection[int]) -> None:
    """Let go of those children among some processes that have ended."""
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def reap_all() -> bool:
    """Let go of all children that have ended; return whether there are none left."""
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if not ended:
            return False


def newest_process() -> object:
    """What changes whenever a process or thread is started anywhere, and costs little to ask (Linux; else always changes)."""
    with contextlib.suppress(OSError), open("/proc/loadavg", "rb", buffering=0) as file:
        return file.read().split()[-1]
    return object()


def death(code: int) -> tuple[str, str]:
    """Status and words of a process that ended with a code, negative of a signal: ``killed`` where others ended it."""
    if code >= 0:
        return "error", f"its process ended with code {code}"
    number = signal.Signals(-code)
    return ("error" if number in _CRASHES else "killed"), f"its process was ended by {number.name}"


def kill_marked(folder: str) -> None:
    """Kill all processes that were told of a folder for temporary files, or of one in it, wherever they descend from."""
    import psutil

    ends, killed = time.monotonic() + SWEEP_S, []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get("TMPDIR", "").startswith(folder):
                process.kill()
                killed.append(process.pid)
    while any(map(_lives, killed)) and time.monotonic() < ends:
        time.sleep(0.001)
