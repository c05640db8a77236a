"""The server in the process of a user's function or policy: calls the function, sends back the answers.

The caller trusts nothing that this process says, and gives the process up after a call whose effects a later
call could notice.
"""

import contextlib
import gc
import json
import os
import pickle
import random
import resource
import signal
import sys
import sysconfig
import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from dlsched.core.family import AnyFamily, AnyMethod
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.families import FAMILIES
from dlsched.own_methods import find_method_of_user
from dlsched.processes.streams import words_of, write_frame
from dlsched.processes.usage import Meter
from dlsched.results.answers import status_of_error
from dlsched.study.cells.cell import READY
from dlsched.study.plans.plan import PlannedMethod

_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_STACK)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXCPU)


def serve_calls(family: str, method: PlannedMethod, requests: int, answers: int) -> NoReturn:
    """Answer calls until there are no more; runs in a process that was forked for this."""
    owner, folder, spared = os.getpid(), os.getcwd(), frozenset(sys.modules)
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def say(content: bytes) -> None:
        if os.getpid() != owner:
            os._exit(0)  # the function forked, and both came back
        write_frame(answers, content)

    try:
        # Import the modules now, outside the time of a call; each call raises errors of this again.
        with contextlib.suppress(BaseException):
            _found(method, FAMILIES[family])
        say(READY)
        instance: InstanceFile | None = None
        calls = os.fdopen(requests, "rb")
        while True:
            sent, limits, seed = pickle.load(calls)
            instance = instance if sent is None else sent  # the last one is not sent again
            assert instance is not None
            before = _state()
            _forget(method, folder, spared)
            answer = _answer(method, instance, limits, seed)
            with contextlib.suppress(BaseException):  # the function may have closed or replaced them
                sys.stdout.flush()
                sys.stderr.flush()
            answer["clean"] = _state() == before
            say(json.dumps(answer).encode())
    except EOFError:
        os._exit(0)
    except BaseException as error:
        with contextlib.suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {words_of(error)}\n".encode())
        os._exit(1)


def _answer(method: PlannedMethod, instance: InstanceFile, limits: Limits, seed: int) -> dict[str, Json]:
    family = FAMILIES[instance.family]
    _seed_all(seed)
    depth = sys.getrecursionlimit()
    ended: dict[str, Json]
    meter = Meter()
    try:
        found = _found(method, family)
        meter = Meter()
        result = family.solve(instance, method=found, limits=limits, seed=seed)
        usage = replace(meter.usage(), time_s=result.runtime_s)
        solution = None if result.solution is None else result.solution.as_data()
        ended = {"status": str(result.status), "message": result.message, "solution": solution}
        json.dumps(solution, allow_nan=False)
    except BaseException as error:
        usage = meter.usage()
        status, message = status_of_error(error)
        # without the path of the method, so that rows are the same in any folder
        ended = {"status": status, "message": message.removeprefix(f"{':'.join(method.what)}: "), "solution": None}
    finally:
        sys.setrecursionlimit(depth)
    return ended | {"time_s": usage.time_s, "cpu_s": usage.cpu_s, "memory_mib": usage.memory_mib}


def _forget(method: PlannedMethod, folder: str, spared: Collection[str]) -> None:
    """Drop the user's modules, so that the next call imports them anew without traces of earlier calls.

    These are the modules below the plan's folder and beside the function's file, and the module that the
    plan names, except if it is one of ``spared``, the modules that were loaded before.
    """
    home = method.what[0]
    file = getattr(sys.modules.get(home), "__file__", None)
    names = [home] if home not in spared and str(file).endswith(".py") else []
    for place in (folder, os.path.dirname(home)) if home.endswith(".py") else (folder,):
        names += _loaded_below(place)
    for name in names:
        sys.modules.pop(name, None)


def _found(method: PlannedMethod, family: AnyFamily) -> AnyMethod:
    return find_method_of_user(family, ":".join(method.what), method.parameters)


def _seed_all(seed: int) -> None:
    """Seed the global random generators, so that code without seeds does not depend on earlier calls."""
    import numpy as np

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  the legacy generator is what such code draws from


def _state() -> Mapping[str, object] | None:
    """Process state that a call may change and a later call would notice; None: it cannot be determined."""
    import numpy as np

    umask = os.umask(0o077)
    os.umask(umask)
    try:
        return {
            "folder": os.getcwd(),
            "temporary": os.listdir(os.environ["TMPDIR"]),
            "environment": dict(os.environ),
            "threads": threading.active_count(),
            "collecting": (gc.isenabled(), gc.get_threshold()),
            "path": list(sys.path),
            "streams": (sys.stdin, sys.stdout, sys.stderr),
            "umask": umask,
            "limits": [resource.getrlimit(each) for each in _LIMITS],
            "signals": [signal.getsignal(each) for each in _SIGNALS],
            "timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
            "hooks": (sys.gettrace(), sys.getprofile(), sys.excepthook),
            "numpy": np.geterr(),
        }
    except (OSError, KeyError):
        return None  # a folder was removed


def _loaded_below(folder: str) -> list[str]:
    """Return the names of loaded modules that come from Python files below a folder.

    Modules of dlsched and installed packages are left out, even if the environment is below the folder.
    """
    standard = os.path.join(os.path.realpath(sysconfig.get_path("stdlib")), "")
    start = os.path.join(os.path.realpath(folder), "")
    names = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name == "__main__" or name.partition(".")[0] == "dlsched" or not isinstance(file, str):
            continue
        path = os.path.realpath(file)
        installed = {"site-packages", "dist-packages"} & set(Path(path).parts)
        if path.startswith(start) and path.endswith(".py") and not installed and not path.startswith(standard):
            names.append(name)
    return names
