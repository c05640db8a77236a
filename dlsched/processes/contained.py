"""A contained child process, as its parent program sees it; a ``warden`` process stands between the two."""

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

from dlsched.processes.warden import BY_SIGNAL, kill_marked

END_S = 15.0
"""Seconds within which a warden has to kill everything."""


class Contained:
    """A running child process, and ``folder``, its folder for temporary files.

    Both, and all its descendants, are removed by ``end``, with this object, and when this program ends, however that happens.
    It calls ``target``, ``module:function``, with the inherited descriptors ``pipes``; ``environment`` is added to this
    program's, ``captured`` standard error is read from ``stderr``. ``OSError``: it cannot be started.
    """

    def __init__(
        self,
        target: str | None = None,
        pipes: Sequence[int] = (),
        *,
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
        captured: bool = False,
    ) -> None:
        self.folder = os.path.join(tempfile.gettempdir(), f"dlsched-{secrets.token_hex(8)}")
        paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
        variables = os.environ | {"PYTHONPATH": paths, "TMPDIR": self.folder} | dict(environment or {})
        variables.pop("PYTHONWARNINGS", None)  # else a warning could make a solver's import fail
        code = "from dlsched.processes.warden import main; main()"
        # Its standard input is the line: the warden reads one byte to begin, and ends all when the line closes.
        self._owner = os.getpid()  # in a fork this object belongs to the parent
        self._warden = subprocess.Popen(
            [sys.executable, "-P", "-c", code, self.folder, target or "", *map(str, pipes)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE if captured else None,
            pass_fds=pipes,
            start_new_session=True,
            cwd=cwd,
            env=variables,
        )
        self.end = weakref.finalize(self, _end, self._warden, self.folder, self._owner)
        """Kill the process and its descendants, and remove the folder."""
        _all.add(self)
        try:
            os.mkdir(self.folder, 0o700)  # only once there is a warden that removes it
            assert self._warden.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # it died; its pipes show that
                self._warden.stdin.write(b"\n")  # begin
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        """Process id of its warden, from which it descends."""
        return self._warden.pid

    @property
    def stderr(self) -> int:
        """Descriptor of its standard error, if ``captured``."""
        assert self._warden.stderr is not None
        return self._warden.stderr.fileno()

    @property
    def alive(self) -> bool:
        """Whether it runs and is a child of this process."""
        return self._owner == os.getpid() and self._warden.poll() is None

    def wait(self) -> int | None:
        """Wait for a process about to end; return its code, negative for a signal; None: it still runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._warden.wait(END_S)
        code = self._warden.returncode
        return BY_SIGNAL - code if code is not None and code > BY_SIGNAL else code


_all: weakref.WeakSet[Contained] = weakref.WeakSet()


def _after_fork() -> None:
    """Close the parent's lines in a fork, so that they do not stay open when the parent dies."""
    for contained in list(_all):
        line = contained._warden.stdin
        assert line is not None
        line.close()
    _all.clear()


os.register_at_fork(after_in_child=_after_fork)


def _end(warden: "subprocess.Popen[bytes]", folder: str, owner: int) -> None:
    """Close the warden's line, upon which it kills everything; do its work if it was killed or does not end."""
    if owner != os.getpid():
        return
    assert warden.stdin is not None
    warden.stdin.close()
    warden.send_signal(signal.SIGCONT)  # the process that it guards may have stopped it
    try:
        warden.wait(END_S)
    except subprocess.TimeoutExpired:
        warden.kill()
        warden.wait()
    if warden.returncode < 0:  # somebody killed it, so its work is done here
        kill_marked(folder)
    if os.path.exists(folder):
        shutil.rmtree(folder, ignore_errors=True)
    if warden.stderr is not None:
        warden.stderr.close()
