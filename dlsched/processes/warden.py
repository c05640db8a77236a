"""Between a program and a process that works for it: whatever ends either of them, nothing of it is left.

A process of its own with one thread and nothing to wait for, so that no lock and no native code can keep it from acting. The
worker is forked from it, which takes a millisecond where a second interpreter would take many. Then it waits until the
program closes the line, or dies, which closes it too, or until the worker ends. It kills all that descends from it, removes
their temporary files, and ends with the code of the worker.
"""

import contextlib
import os
import select
import signal
import sys
import time
from importlib import import_module
from types import FrameType
from typing import NoReturn

from dlsched.processes.descendants import adopt_orphans, die_with, kill_descendants, reap_all

BY_SIGNAL = 128
"""A process that a signal ended is told of by this code plus the signal's number, as shells do."""
QUICK_S = 0.05
"""Seconds in which what was killed as one group ends; what is there then fled to another, and is looked for."""


def main() -> NoReturn:
    """Standard input is the line; ``sys.argv``: the folder for files, ``module:function`` or nothing, pipes to call it with."""
    folder, target, pipes = sys.argv[1], sys.argv[2], [int(pipe) for pipe in sys.argv[3:]]
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # a worker of Dask's may block some
    adopt_orphans()
    code, worker = 0, None
    if os.read(0, 1):  # the folder is there, and so is the program
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
    """Do nothing: a signal need not, and must not, do more than wake who waits."""


def _watch(worker: int | None, woken: int) -> int:
    """Wait for the end of the line, or of the worker, and return its code."""
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
    """Fork the worker, which forgets that there is a line, calls the target with the pipes and ends; return its number."""
    warden = os.getpid()
    worker = os.fork()
    if worker:
        with contextlib.suppress(OSError):  # whichever of the two comes first
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
    """Kill the worker's group at one stroke, and whatever fled from it."""
    if sys.platform != "linux":
        kill_descendants()  # while their parents, by whom alone they are known, are there
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(worker, signal.SIGKILL)
    ends = time.monotonic() + QUICK_S
    while not reap_all():  # orphans are children of this process
        if time.monotonic() > ends:
            kill_descendants()
            return
        time.sleep(0.0005)


def _remove(folder: str) -> None:
    """Remove the temporary files; a process that was killed while it wrote one can make that fail once."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)  # as a rule there are none
        return
    import shutil

    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.1)
