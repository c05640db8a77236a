"""Between a keeper and the process in which its cells run: whatever ends either of them, nothing of it is left.

A process of its own with one thread and nothing to wait for, so that no lock and no native code can keep it from acting. It
waits until the keeper closes the line, or dies, which closes it too, or until the process ends. Then it kills all that
descends from it, removes their temporary files, and ends with the code of the process.
"""

import contextlib
import os
import resource
import select
import shutil
import signal
import sys
import time
from importlib import import_module
from types import FrameType
from typing import NoReturn

from dlsched.processes.descendants import adopt_orphans, die_with, kill_descendants

BY_SIGNAL = 128
"""A process that a signal ended is told of by this code plus the signal's number, as shells do."""


def main() -> NoReturn:
    """Standard input is the line; ``sys.argv``: the folder for files, ``module:function`` to run, pipes of tasks and outcomes."""
    folder, target, tasks, outcomes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # a worker of Dask's may block some
    os.mkdir(folder, 0o700)
    adopt_orphans()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGCHLD, _noticed)
    myself = os.getpid()
    child = os.fork()
    if child == 0:
        _become_server(myself, folder, target, tasks, outcomes)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _noticed)
    for pipe in (tasks, outcomes, 1, 2):
        os.close(pipe)
    code = _watch(child, woken)
    kill_descendants()
    _remove(folder)
    os._exit(code)


def _noticed(number: int, frame: FrameType | None) -> None:
    """Do nothing: a signal need not, and must not, do more than wake who waits."""


def _watch(child: int, woken: int) -> int:
    """Wait for the end of the line, or of the process, and return its code."""
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
            if ended == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else BY_SIGNAL - code
        if 0 in ready and not os.read(0, 512):
            return 0


def _become_server(parent: int, folder: str, target: str, tasks: int, outcomes: int) -> NoReturn:
    """Forget that there is a line, and run cells until there are no more."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, _noticed)
    os.setpgid(0, 0)
    die_with(parent)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
        file.write(b"500")  # where the machine's memory ends, it is a cell that is killed, and not who keeps it
    module, name = target.split(":")
    getattr(import_module(module), name)(folder, tasks, outcomes)
    sys.stdout.flush()
    os._exit(0)


def _remove(folder: str) -> None:
    """Remove the temporary files; a process that was killed while it wrote one can make that fail once."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.1)
