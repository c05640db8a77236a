"""The errors that dlsched raises on purpose; everything else that escapes is a defect of dlsched.

========================  ==================================================  =========
error                     raised when                                         exit code
========================  ==================================================  =========
``UsageError``            a method, option or size that cannot be used         2
``InputError``            a file that is missing, malformed or does not fit    3
``InstanceError``         the same, of an instance                             3
``SolverMissingError``    a solver that is not installed, or not loaded       6
``SolverError``           a solver failed or broke its promises                1
``DisagreementError``     two solvers prove different things                   7
``SealError``             rows of a store are not what was written             7
========================  ==================================================  =========
"""


class DlschedError(Exception):
    """Base of the errors below."""

    exit_code = 1


class UsageError(DlschedError, ValueError):
    """A method, option or size that cannot be used as asked."""

    exit_code = 2


class InputError(DlschedError, ValueError):
    """A file or object that is missing, malformed or belongs to something else; says where, what and what is allowed."""

    exit_code = 3


class InstanceError(InputError):
    """An instance that cannot exist; the message names the field, what was found and what is allowed."""


class SolverMissingError(DlschedError, ImportError):
    """A solver whose package or program is not installed or cannot be loaded; the message says what to install, or why."""

    exit_code = 6


class SolverError(DlschedError, RuntimeError):
    """A solver failed, or returned what its model does not allow."""

    exit_code = 1


class DisagreementError(DlschedError, RuntimeError):
    """Two solvers proved contradicting values for one instance."""

    exit_code = 7


class SealError(DlschedError, ValueError):
    """A store of a study has rows that are not what was written; the message names them."""

    exit_code = 7


class PolicyError(DlschedError, ValueError):
    """A scheduling policy answered what cannot be done; the message says when, for which job, and what is allowed."""

    exit_code = 7
