"""Descendants of a process: adopts orphans, and kills all, whatever group or session they moved to."""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Collection

SWEEP_S = 5.0
"""Seconds after which killing gives up: processes that remain wait for hardware, and die when it answers."""
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS}


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends (Linux only; elsewhere they are lost)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Have this process killed when its parent ends (Linux); the parent must have a single thread."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent has ended already
        os._exit(1)


def kill_descendants(spared: Collection[int] = ()) -> bool:
    """Kill and reap all descendants of this process except ``spared``; return whether there were any."""
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
    """Whether a process runs, and is not just a zombie of a spared parent."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _kill(pid: int, spared: Collection[int]) -> None:
    """Kill a process and its group at once: processes that keep forking would escape one by one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        group = os.getpgid(pid)
        if group != os.getpgrp() and group not in spared:
            os.killpg(group, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def reap(pids: Collection[int]) -> None:
    """Reap those of the given processes that are children and have ended."""
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def reap_all() -> bool:
    """Reap all children that have ended; return whether none are left."""
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if not ended:
            return False


def newest_process() -> object:
    """Return a cheap value that changes when any process or thread starts (always, if not on Linux)."""
    with contextlib.suppress(OSError), open("/proc/loadavg", "rb", buffering=0) as file:
        return file.read().split()[-1]
    return object()


def death(code: int) -> tuple[str, str]:
    """Return status and words for an exit code, negative for a signal: ``killed`` if others ended it."""
    if code >= 0:
        return "error", f"its process ended with code {code}"
    number = signal.Signals(-code)
    return ("error" if number in _CRASHES else "killed"), f"its process was ended by {number.name}"


def kill_marked(folder: str) -> None:
    """Kill all processes whose folder for temporary files is this one or below it, whatever their parent."""
    import psutil

    ends, killed = time.monotonic() + SWEEP_S, []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get("TMPDIR", "").startswith(folder):
                process.kill()
                killed.append(process.pid)
    while any(map(_lives, killed)) and time.monotonic() < ends:
        time.sleep(0.001)
