"""The three standard files of a program: usable whatever is closed, and a standard output whose errors bear its name."""

import errno
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class StandardOutput(io.FileIO):
    """Standard output, whose errors bear its name, as those of other files do."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write bytes, as far as they go.

        Raises
        ------
        OSError
            They cannot be written, with ``standard output`` as its file.
        """
        try:
            return super().write(data)
        except OSError as error:
            said = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise OSError(error.errno, f"cannot be written: {said}", "standard output") from None


def open_standard_files() -> None:
    """Open on the null device those of 0, 1 and 2 that are closed, lest the next file opened be one of them; speak UTF-8.

    Python has None for them then; what is printed to a standard error that is None appears on standard output. What is
    printed to a standard output that was closed is an error, as on a full disk: the answer would be lost.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(
                os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR
            )  # takes the lowest free number, which is this one
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
