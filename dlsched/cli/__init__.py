"""The command line: one module a command; every error that is no defect becomes one line and an exit code."""

import functools
import io
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import typer

from dlsched.cli import (
    bound,
    check,
    compare,
    doctor,
    export,
    generate,
    methods,
    schema,
    solve,
    stream,
    trace_import,
)
from dlsched.core.errors import DlschedError
from dlsched.version import VERSION

# Typer carries a Click of its own since 0.16 or so; whichever it is, its usage errors descend from ClickException
_USAGE: type[Any] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

app = typer.Typer(
    name="dlsched",
    help="Exact optima, bounds and published heuristics for allocating GPUs to deep-learning training jobs.",
    epilog="Exit codes: 0 a solution is held; 1 internal or solver error; 2 wrong usage; 3 bad input file; "
    "4 proven infeasible; 5 no answer; 6 solver not installed; 7 a check failed or two solvers disagree.",
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


def _guarded(command: Callable[..., int]) -> Callable[..., int]:
    """Turn what a command raises on purpose into one line and its exit code, before Typer has ways of its own."""

    @functools.wraps(command)
    def call(*arguments: Any, **named: Any) -> int:
        try:
            code = command(*arguments, **named)
            sys.stdout.flush()
        except DlschedError as error:
            print(f"dlsched: {error}", file=sys.stderr)
            return error.exit_code
        except KeyboardInterrupt:
            print("dlsched: interrupted before there was an answer", file=sys.stderr)
            return 5
        except BrokenPipeError:
            _silence_output()
            return 0
        except OSError as error:
            _silence_output()
            print(f"dlsched: {error}", file=sys.stderr)
            return 1
        return code

    return call


for module in (solve, compare, bound, check, generate, methods, doctor, export, schema, trace_import, stream):
    app.command(name=module.NAME)(_guarded(module.run))


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code; everything to print is printed."""
    try:
        code = app(args=compare.spread(arguments), prog_name="dlsched", standalone_mode=False)
        sys.stdout.flush()
    except _USAGE as error:
        error.show()
        return 2
    except (KeyboardInterrupt, typer.Abort):
        print("dlsched: interrupted before there was an answer", file=sys.stderr)
        return 5
    except typer.Exit as stop:
        return int(stop.exit_code)
    except (BrokenPipeError, SystemExit):  # help into a closed pipe: Typer makes it an exit
        _silence_output()
        return 0
    except Exception:
        traceback.print_exc()
        print("dlsched: this is a defect of dlsched; please report it with the lines above", file=sys.stderr)
        return 1
    return code if isinstance(code, int) else 0


def _silence_output() -> None:
    """Nobody reads standard output any more: let what is still buffered go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Entry point of the ``dlsched`` program; output is UTF-8, and standard output may be closed."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  it stays open to the end
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))
