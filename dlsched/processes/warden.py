"""The warden, a process between a program and its worker, which kills all descendants of both when either ends.

It has one thread and runs no foreign code, so no lock and no native code can block it. It forks the worker, which takes a
millisecond, waits until the program closes the line (its death closes it too) or the worker ends, kills all its
descendants, whatever group or session they moved to, removes their files, and exits with the worker's code.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Collection
from importlib import import_module
from types import FrameType
from typing import NoReturn

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
    any_there = False
    # Processes that fork while they are killed are looked for again, until none lives.
    while time.monotonic() < ends:
        pids = [each.pid for each in myself.children(recursive=True) if each.pid not in spared]
        any_there = any_there or bool(pids)
        reap(pids)
        living = [pid for pid in pids if _lives(pid)]
        if not living:
            break
        for pid in living:
            _kill_with_group(pid, spared)
        time.sleep(0.001)
    return any_there


def _lives(pid: int) -> bool:
    """Whether a process runs, and is not just a zombie of a spared parent."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _kill_with_group(pid: int, spared: Collection[int]) -> None:
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


BY_SIGNAL = 128
"""Exit code, plus the signal's number, for a worker that a signal ended, as in shells."""
QUICK_S = 0.05
"""Seconds in which a killed group ends; processes that remain moved to another group, and are searched for."""


def main() -> NoReturn:
    """Run the warden; standard input is the line; ``sys.argv``: folder, ``module:function`` or "", pipes."""
    folder, target, pipes = sys.argv[1], sys.argv[2], [int(pipe) for pipe in sys.argv[3:]]
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # Dask's workers may block signals
    adopt_orphans()
    code, worker = 0, None
    if os.read(0, 1):  # the folder exists, and the program is alive
        woken, waking = os.pipe()
        os.set_blocking(waking, False)
        signal.set_wakeup_fd(waking)
        signal.signal(signal.SIGCHLD, _noticed)
        worker = _fork(target, pipes) if target else None
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _noticed)
        for pipe in (*pipes, 1, 2):
            os.close(pipe)
        code = _watch(worker, woken)
    if worker is not None:
        _kill(worker)
    _remove(folder)
    os._exit(code)


def _noticed(number: int, frame: FrameType | None) -> None:
    """Do nothing: a signal only has to wake the waiting warden."""


def _watch(worker: int | None, woken: int) -> int:
    """Wait until the line closes or the worker ends, and return the worker's code."""
    while True:
        ready = select.select([0, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 512)
        ended = 1
        while ended:
            try:
                ended, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if ended == worker:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else BY_SIGNAL - code
        if 0 in ready and not os.read(0, 512):
            return 0


def _fork(target: str, pipes: list[int]) -> int:
    """Fork the worker, which closes the line, calls the target with the pipes, and ends; return its pid."""
    warden = os.getpid()
    worker = os.fork()
    if worker:
        with contextlib.suppress(OSError):  # parent and child both try; one comes first
            os.setpgid(worker, worker)
        return worker
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, _noticed)
    os.setpgid(0, 0)
    die_with(warden)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    module, name = target.split(":")
    getattr(import_module(module), name)(*pipes)
    sys.stdout.flush()
    os._exit(0)


def _kill(worker: int) -> None:
    """Kill the worker's group at once, and descendants that moved to other groups."""
    if sys.platform != "linux":
        kill_descendants()  # while their parents live, by which they are found
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(worker, signal.SIGKILL)
    ends = time.monotonic() + QUICK_S
    while not reap_all():  # orphans became children of this process
        if time.monotonic() > ends:
            kill_descendants()
            return
        time.sleep(0.0005)


def _remove(folder: str) -> None:
    """Remove the temporary files; this can fail once if a process was killed while writing one."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)  # usually it is empty
        return
    import shutil

    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.1)
