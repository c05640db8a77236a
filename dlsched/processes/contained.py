"""A process that is contained, as the program sees it that started it; between the two stands a warden (``warden``)."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence

from dlsched.processes.descendants import kill_marked
from dlsched.processes.warden import BY_SIGNAL

END_S = 15.0
"""Seconds that a warden has to kill everything."""


class Contained:
    """A process that runs, and ``folder``, its folder for temporary files.

    Both go with all that it started when ``end`` is called, this object is forgotten, or this program ends, however it does.

    Parameters
    ----------
    target
        ``module:function``, which the process calls with the pipes; None: there is no process, and only the folder is kept.
    pipes
        Descriptors that it inherits, under the same numbers; they stay open here.
    environment
        Variables besides those of this program.
    cwd
        The folder in which it works; None: this program's.
    heard
        Whether its standard error is to be read here, from ``said``; else it is this program's.

    Raises
    ------
    OSError
        It cannot be started, or the folder not be made.
    """

    def __init__(
        self,
        target: str | None = None,
        pipes: Sequence[int] = (),
        *,
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
        heard: bool = False,
    ) -> None:
        self.folder = os.path.join(tempfile.gettempdir(), f"dlsched-{secrets.token_hex(8)}")
        paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
        variables = os.environ | {"PYTHONPATH": paths, "TMPDIR": self.folder} | dict(environment or {})
        variables.pop("PYTHONWARNINGS", None)  # a warning of a solver's package must not keep it from being imported
        code = "from dlsched.processes.warden import main; main()"
        self._owner = os.getpid()  # after a fork it is another process's
        self._warden = subprocess.Popen(
            [sys.executable, "-P", "-c", code, self.folder, target or "", *map(str, pipes)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE if heard else None,
            pass_fds=pipes,
            start_new_session=True,
            cwd=cwd,
            env=variables,
        )
        self.end = weakref.finalize(self, _end, self._warden, self.folder, self._owner)
        """End it, with all that it started."""
        _all.add(self)
        try:
            os.mkdir(self.folder, 0o700)  # not before there is a warden that removes it
            self._tell()
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        """Of its warden, from which it descends."""
        return self._warden.pid

    @property
    def said(self) -> int:
        """Descriptor of its standard error, where that is read."""
        assert self._warden.stderr is not None
        return self._warden.stderr.fileno()

    @property
    def alive(self) -> bool:
        """Whether it is this process's, and runs."""
        return self._owner == os.getpid() and self._warden.poll() is None

    def wait(self) -> int | None:
        """Wait for a process that is about to end; return its code, negative of a signal, or None where it does not."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._warden.wait(END_S)
        code = self._warden.returncode
        return BY_SIGNAL - code if code is not None and code > BY_SIGNAL else code

    def forget(self) -> None:
        """Close this process's end of the line: after a fork, it is the parent's."""
        assert self._warden.stdin is not None
        self._warden.stdin.close()

    def _tell(self) -> None:
        """Have the warden begin."""
        assert self._warden.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died, which shows by its pipes
            self._warden.stdin.write(b"\n")


_all: weakref.WeakSet[Contained] = weakref.WeakSet()


def _after_fork() -> None:
    """Close a parent's lines in a process that was forked from it, lest they stay open when the parent dies."""
    for contained in list(_all):
        contained.forget()
    _all.clear()


os.register_at_fork(after_in_child=_after_fork)


def _end(warden: "subprocess.Popen[bytes]", folder: str, owner: int) -> None:
    if owner != os.getpid():
        return
    assert warden.stdin is not None
    warden.stdin.close()
    warden.send_signal(signal.SIGCONT)  # what it guards may have stopped it
    try:
        warden.wait(END_S)
    except subprocess.TimeoutExpired:
        warden.kill()
        warden.wait()
    if warden.returncode < 0:  # somebody killed it, and its work is left
        kill_marked(folder)
    if os.path.exists(folder):
        shutil.rmtree(folder, ignore_errors=True)
    if warden.stderr is not None:
        warden.stderr.close()
