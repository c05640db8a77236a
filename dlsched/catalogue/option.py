"""What a user gives by name, on the command line, in a plan or in Python, declared once."""

from dataclasses import dataclass

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command.

    Parameters
    ----------
    name
        As in plans; on the command line with ``--``, and ``-`` for ``_``.
    kind, metavar
        Its type; the word for its value, empty for a switch.
    words
        What it is, without a full stop.
    of
        To what it belongs, and its default there; empty where it is for all.
    argument
        Its name in Python, empty where that is the same.
    choices
        Its values, for shells; empty where they are not listed.
    negated
        Of a switch: whether ``--no-NAME`` is taken too.
    alone
        What it is in commands that read nothing but queues, with its default; empty where ``words`` and ``of`` say it.
    makes
        Of queues: the families of the instances that it shapes; empty where it shapes none.
    """

    name: str
    kind: type[Value]
    metavar: str
    words: str
    of: str = ""
    argument: str = ""
    choices: tuple[str, ...] = ()
    negated: bool = False
    alone: str = ""
    makes: tuple[str, ...] = ()

    @property
    def python(self) -> str:
        """Name of the argument in Python."""
        return self.argument or self.name

    @property
    def flag(self) -> str:
        """Name on the command line."""
        name = self.name.replace("_", "-")
        return f"--{name}/--no-{name}" if self.negated else f"--{name}"

    @property
    def help(self) -> str:
        """One sentence for the command line."""
        return f"{self.words}; {self.of}." if self.of else f"{self.words}."


def by_name(*options: Option) -> dict[str, Option]:
    """Return options by name, in their order."""
    return {option.name: option for option in options}
