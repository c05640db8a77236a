"""The command line: one module a command; every error but a defect becomes one line and an exit code."""

import contextlib
import functools
import gc
import os
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from dlsched.core.errors import DlschedError, UsageError
from dlsched.core.imports import import_failure
from dlsched.version import VERSION

COMMANDS = {
    "solve": ("solve:run", "Solve an instance with one method; `exact` proves the optimum."),
    "compare": (
        "compare:run",
        "Run methods on instances; table of objective, bound, gap, ratio to the optimum and time.",
    ),
    "score": ("score:run", "Score a method of your own by its answers to instances whose optima are proven."),
    "bound": ("solve:run_bound", "Print the best bound that is proven without solving, with its certificate."),
    "prove": ("prove:run", "Prove the optimum of an instance, into a file that programs of others check."),
    "check": ("check:run", "Check a result: is it feasible, is its objective true, does its certificate verify."),
    "generate": ("instances:run_generate", "Draw an instance; the same arguments give the same bytes."),
    "methods": ("listing:run_methods", "List exact methods, heuristics and bounds."),
    "doctor": (
        "listing:run_doctor",
        "Show the solvers, their versions, and whether each solves a small model; exit 1 when one fails.",
    ),
    "export": ("instances:run_export", "Write a formulation of an instance as an LP or MPS file."),
    "schema": (
        "instances:run_schema",
        "Print the JSON Schema of the format (what one field alone can say; `solve` checks the rest).",
    ),
    "import": ("traces:run_import", "Read a public file as an instance; say what was dropped, repaired or assumed."),
    "advise": (
        "traces:run_advise",
        "Decide once for a recorded queue: who starts now and where, who gets how many GPUs.",
    ),
    "whatif": ("whatif:run", "Say what other policies would have made of a recorded queue, with a bound: one page."),
    "stream": (
        "instances:run_stream",
        "Let the jobs of an instance of async_sgd arrive over time: an instance of elastic_stream.",
    ),
    "reproduce": ("reproduce:run", "Run a figure of a paper anew: the paper's numbers beside ours, and what differs."),
    "worst": ("worst:run", "Search for the instance on which a method does worst, and shrink it."),
    "study": ("", "Run many methods on many instances, resumable; figures, a report, exports."),
}
"""Commands by name: what runs them, imported when one is called, and what the list of commands says of them."""

GROUPS = {
    "study": {
        "plan": ("study_runs:run_plan", "Say what a study would run, and estimate how long it takes."),
        "run": ("study_runs:run", "Run the cells of a study that have not run yet."),
        "check": ("study_runs:run_check", "Compute every row of a study anew; exit 7 where one is false."),
        "show": ("study_results:run_show", "Show the figures of a study as tables."),
        "report": ("study_results:run_report", "Write a study as a page that opens anywhere."),
        "plot": ("study_results:run_plot", "Draw a figure of a study for a paper."),
        "export": ("study_results:run_export", "Write the rows or the tables of a study to a file."),
    },
}
"""Commands that are groups of others: these."""

RENAMED = {"compare": {"--plot-width": "--width"}}
"""New options of commands by old ones, which work for one more release."""
SOURCE_FIRST = ("import", "advise")
"""Commands that took SOURCE FILE, which works for one more release."""

# Typer carries a Click of its own since 0.16 or so; whichever it is, its usage errors descend from ClickException
_USAGE: type[Any] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


INTERRUPTED = 130
"""Exit code of Ctrl-C while nothing is held that could be shown: 128 and the signal's number."""


class _Command(TyperCommand):
    """A command, ``module:function``, whose module is imported when its parameters, its help or its function are asked for."""

    def __init__(self, name: str, target: str, words: str) -> None:
        self._target = target
        self._line: list[str] = []
        super().__init__(name, short_help=words, rich_markup_mode=None)

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # a base of it
        """Keep the words of the command line: the family that they name may bring options."""
        self._line = [*args]
        return super().parse_args(ctx, args)

    @functools.cached_property
    def _whole(self) -> Any:
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        module, _, function = self._target.partition(":")
        run = getattr(import_module(f"dlsched.cli.{module}"), function)
        getattr(run, "widen", list)(self._line)
        alone.command(name=self.name)(_guarded(run, lambda: self.params))
        return typer.main.get_command(alone)

    # what the base class sets is passed over: it knows neither yet
    params = property(lambda self: self._whole.params, lambda self, value: None)
    callback = property(lambda self: self._whole.callback, lambda self, value: None)
    help = property(lambda self: self._whole.help, lambda self, value: None)


class _Commands(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (target, words) in COMMANDS.items():
            if name in GROUPS:
                self.add_command(_group(name, words))
            else:
                self.add_command(_Command(name, target, words))


def _group(name: str, words: str) -> TyperGroup:
    """Make a command that has commands of its own."""
    group = TyperGroup(name=name, help=words, short_help=words, no_args_is_help=True, rich_markup_mode=None)
    for inner, (target, inner_words) in GROUPS[name].items():
        group.add_command(_Command(inner, target, inner_words))
    return group


app = typer.Typer(
    name="dlsched",
    cls=_Commands,
    help="Exact optima, bounds and published heuristics for allocating GPUs to deep-learning training jobs.",
    epilog="Exit codes: 0 a solution was found; 1 internal or solver error; 2 wrong usage; 3 bad input file; "
    "4 proven infeasible; 5 no answer; 6 solver not installed; 7 a check failed or two solvers disagree; "
    "8 cells of a study failed; 130, 143, 129 ended by Ctrl-C before a method ran, by SIGTERM, by SIGHUP.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version and stop.")
) -> None:
    if version:
        typer.echo(f"dlsched {VERSION}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def _guarded(command: Callable[..., int], parameters: Callable[[], list[Any]]) -> Callable[..., int]:
    """Turn what a command raises into its exit code, before Typer has ways of its own; ``parameters``: of the command."""
    from dlsched.cli.options import options_of, require_other_files  # the version is printed without them

    @functools.wraps(command)
    def call(*arguments: Any, **named: Any) -> int:
        gc.enable()
        try:
            require_other_files(parameters(), named)
            code = command(*arguments, **named)
            sys.stdout.flush()
        except (_USAGE, typer.Exit, typer.Abort):
            raise
        except UsageError as error:
            return _ended_by(type(error)(error.text(options_of(parameters()))))
        except (Exception, KeyboardInterrupt) as error:
            return _ended_by(error)
        return code

    return call


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code; everything to print is printed."""
    try:
        code = app(args=_spread(arguments), prog_name="dlsched", standalone_mode=False)
        sys.stdout.flush()
    except _USAGE as error:
        with contextlib.suppress(OSError):
            error.show()
        return 2
    except typer.Abort:
        return INTERRUPTED
    except typer.Exit as stop:
        return int(stop.exit_code)
    except SystemExit:  # help into a closed pipe: Typer makes it an exit
        _settle()
        return 0
    except (Exception, KeyboardInterrupt) as error:
        return _ended_by(error)
    return code if isinstance(code, int) else 0


def _spread(arguments: list[str]) -> list[str]:
    """Let ``--solutions A B C`` stand for ``--solutions A --solutions B --solutions C``."""
    spread_out: list[str] = []
    inside = False
    for argument in _modern(arguments):
        if argument.startswith("-") and argument != "-":
            inside = argument == "--solutions"
            if not inside:
                spread_out.append(argument)
        else:
            spread_out += ["--solutions", argument] if inside else [argument]
    return spread_out


def _modern(arguments: list[str]) -> list[str]:
    """Replace old spellings, and say so on standard error."""
    command, *rest = arguments or [""]
    changes = []
    for old, new in RENAMED.get(command, {}).items():
        changed = [each.replace(old, new, 1) if each.partition("=")[0] == old else each for each in rest]
        if changed != rest:
            rest = changed
            changes.append(f"{old} is now {new}")
    if command in SOURCE_FIRST and not any(each.partition("=")[0] == "--source" for each in rest):
        from dlsched.catalogue.sources import SOURCES  # the version is printed without them

        place = next((at for at, each in enumerate(rest) if each in SOURCES), None)
        if place is not None:
            changes.append(f"{command} SOURCE FILE is now {command} FILE --source SOURCE")
            rest = [*rest[:place], *rest[place + 1 :], "--source", rest[place]]
    for words in changes:
        print(f"dlsched: {words}; the old spelling goes in the next release", file=sys.stderr)
    return [command, *rest] if arguments else []


def _ended_by(error: BaseException) -> int:
    """Say in a line what ended a command, a defect with its traceback, and return the exit code."""
    if isinstance(error, ImportError):
        error = import_failure(error)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        _settle()
        return 0
    if isinstance(error, DlschedError | OSError | MemoryError):
        _say(f"dlsched: {_in_words(error)}")
        return error.exit_code if isinstance(error, DlschedError) else 1
    _say("".join(traceback.format_exception(error)).rstrip())
    _say("dlsched: this is a defect of dlsched; please report it with the lines above")
    return 1


def _in_words(error: DlschedError | OSError | MemoryError) -> str:
    """Return what an error says, that of the system with the file it concerns."""
    if isinstance(error, OSError) and not isinstance(error, DlschedError) and error.strerror:
        named = error.filename or (None if _is_somewhere() else "the current folder")
        return f"{named}: {error.strerror}" if named else error.strerror
    return str(error) or "out of memory"


def _is_somewhere() -> bool:
    """Whether there is a current folder: another program may have removed it."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True


def _say(line: str) -> None:
    """Print on standard error, which nobody may read any more."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr)
    _settle()


def _settle() -> None:
    """Write what is buffered, and let it go nowhere where nobody reads any more or the disk is full."""
    for output in (sys.stdout, sys.stderr):
        try:
            output.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
