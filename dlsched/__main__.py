"""The program ``dlsched``, also ``python -m dlsched``: ready for every end before it imports what takes time.

Nothing but the standard library is imported until signals are handled: Ctrl-C while NumPy is being imported would end
in a traceback of NumPy's.
"""

import contextlib
import errno
import gc
import io
import os
import signal
import sys
import time
import warnings
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class StandardOutput(io.FileIO):
    """Standard output whose errors have its name as their file, like errors of other files."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write bytes, and return how many; an OSError has ``standard output`` as its file."""
        try:
            return super().write(data)
        except OSError as error:
            reason = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise OSError(error.errno, f"cannot be written: {reason}", "standard output") from None


def open_standard_files() -> None:
    """Open closed descriptors 0, 1, 2 on the null device, so that no later file gets these; set UTF-8.

    Printing to a standard output that was closed is an error, as on a full disk: the answer would be lost.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(
                os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR
            )  # the operating system gives the lowest free number, which is this one
    if sys.stdout is None or isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _standard_output()
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  it stays open to the end
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")


def _standard_output() -> io.TextIOWrapper:
    """Open standard output anew, buffered as it is."""
    before = sys.stdout
    unbuffered = isinstance(before, io.TextIOWrapper) and isinstance(before.buffer, io.RawIOBase)  # ``python -u``
    raw = StandardOutput(1, "wb", closefd=False)
    return io.TextIOWrapper(
        raw if unbuffered else io.BufferedWriter(raw),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=raw.isatty(),
        write_through=unbuffered,
    )


_LATER_S = 0.05  # after which a Ctrl-C is delivered again that came where it could not be used
_ONE_PRESS_S = 0.3  # a terminal and a parent process may both hand on one Ctrl-C
_UNUSED = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)  # that Python hides by itself

_raised = -_ONE_PRESS_S  # when Ctrl-C last went to a method


def main() -> NoReturn:
    """Run the command line: handle signals, make the three standard files usable, import, run, exit.

    Ctrl-C ends a method with what it holds, and everything else at once with exit code 130. SIGTERM and SIGHUP end it with
    143 and 129. Solver processes and their files then go by their wardens (``dlsched.processes.warden``).
    """
    handle_signals()

    open_standard_files()
    _forget_errors_of_warnings()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else it reads the metadata of all that is installed
    gc.disable()  # imports leave no garbage; a command turns it on again
    from dlsched.cli import run

    code = run(sys.argv[1:])
    gc.freeze()  # what is still there goes with the process: looking through all of it at the end would take as long as solving
    _forget_interrupts()
    sys.exit(code)


def handle_signals() -> None:
    """Handle signals, but leave alone those that are ignored: by ``nohup``, or in a shell's background."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
        signal.signal(signal.SIGALRM, _interrupt)
        sys.unraisablehook = _unraisable
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Ctrl-C: raise KeyboardInterrupt in a method, a proof or a study, which keep what they hold; elsewhere this is the end.

    Not while a module is being imported: extensions make other errors of it.
    """
    global _raised
    family = getattr(sys.modules.get("dlsched.core.family"), "Family", None)
    study, checking, proof, supremum = (
        sys.modules.get(f"dlsched.{name}")
        for name in ("study.leader", "study.checking", "proofs.proof", "worst.competitive.proven")
    )
    keeping = [
        getattr(function, "__code__", None)
        for function in (
            getattr(family, "solve", None),
            getattr(study, "run", None),
            getattr(checking, "check", None),
            getattr(proof, "prove", None),
            getattr(supremum, "prove_policy", None),
        )
    ]
    importing = False
    # Walk up the stack to a function that keeps its results on Ctrl-C.
    while frame is not None and frame.f_code not in keeping:
        importing = importing or frame.f_code.co_filename == "<frozen importlib._bootstrap>"
        frame = frame.f_back
    same_press = time.monotonic() - _raised < _ONE_PRESS_S  # the method may have ended by now
    if frame is None and not same_press:
        _end(signal.SIGINT, None)
    if frame is not None and importing:
        _again()
    elif not same_press:
        _raised = time.monotonic()
        raise KeyboardInterrupt


def _unraisable(what: "sys.UnraisableHookArgs") -> None:
    """Deliver a Ctrl-C again that came where Python cannot raise it, in a finalizer; print everything else as ever."""
    global _raised
    if issubclass(what.exc_type, KeyboardInterrupt):
        _raised = -_ONE_PRESS_S
        _again()
    else:
        sys.__unraisablehook__(what)


def _again() -> None:
    signal.setitimer(signal.ITIMER_REAL, _LATER_S)


def _forget_interrupts() -> None:
    """Ignore Ctrl-C from here on, all being said and done; also one that waits to be delivered again.

    Python gives SIGALRM its default back when it ends, which would be another end.
    """
    for number in (signal.SIGINT, signal.SIGALRM):
        if signal.getsignal(number) is _interrupt:
            signal.signal(number, signal.SIG_IGN)
            signal.setitimer(signal.ITIMER_REAL, 0.0)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """End at once, without a word: remove half-written files, give a terminal its cursor back."""
    files = sys.modules.get("dlsched.core.files")
    for path in tuple(getattr(files, "UNFINISHED", ())):
        with contextlib.suppress(OSError):
            os.unlink(path)
    with contextlib.suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\r\x1b[K\x1b[?25h")
    os._exit(128 + number)


def _forget_errors_of_warnings() -> None:
    """Undo ``PYTHONWARNINGS=error``, which is meant for the user's own programs: packages used here warn of their future."""
    if any(action == "error" for action, *_ in warnings.filters):
        warnings.resetwarnings()
        for category in _UNUSED:
            warnings.simplefilter("ignore", category)


if __name__ == "__main__":
    main()
