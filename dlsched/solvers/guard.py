"""A guard beside every solver process: whatever ends the program that started both, nothing of it is left.

The guard is a shell that waits for its standard input, a pipe from the program, to close; that happens however the program
dies, and needs no thread of a process that a solver may keep busy. Then it kills the solver's process group, to which all
belong that the solver started (CBC), and removes the folder of their temporary files. POSIX only, as the shell is.
"""

import contextlib
import os
import secrets
import subprocess
import tempfile

_SCRIPT = """
trap '' HUP INT TERM
PATH=$PATH:/usr/bin:/bin
read -r group
read -r ended
[ -z "$group" ] || [ -n "$ended" ] || kill -9 "-$group"
rm -rf "$GUARDED" || { sleep 1; rm -rf "$GUARDED"; }
"""
# A process that was killed in the middle of writing a file can make `rm` fail once.


class Guard:
    """A guard that runs, and ``folder``, its folder for the temporary files of what it guards.

    Raises
    ------
    OSError
        The shell cannot be started, or the folder not be made.
    """

    def __init__(self) -> None:
        self.folder = os.path.join(tempfile.gettempdir(), f"dlsched-{secrets.token_hex(8)}")
        reading, writing = os.pipe()
        self._line = os.fdopen(writing, "wb", buffering=0)  # closes with this object, too
        try:
            self.process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=os.environ | {"GUARDED": self.folder},
            )
        finally:
            os.close(reading)
        try:
            os.mkdir(self.folder, 0o700)  # not before the guard that removes it
        except OSError:
            self.dismiss()
            raise

    def watch(self, group: int) -> None:
        """Have a process group killed when this program ends."""
        self._line.write(b"%d\n" % group)

    def forget(self) -> None:
        """Close this process's end of the pipe: after a fork, the guard is the parent's."""
        self._line.close()

    def dismiss(self) -> None:
        """Have the folder removed; what it guarded has ended."""
        with contextlib.suppress(BrokenPipeError):  # somebody killed the guard
            self._line.write(b"ended\n")
        self._line.close()
        self.process.wait()
