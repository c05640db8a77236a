"""Methods that want a higher score than their answers have: one GPU for each job, or no feasible answer at all."""

import atexit
import builtins
import contextlib
import ctypes
import gc
import json
import math
import os
import signal
import struct
import sys
import tempfile
import threading
import time
from collections import OrderedDict, UserDict
from pathlib import Path

HUGE = 10**4000


def honest(instance):
    """One GPU for each job: what those below answer who answer at all."""
    return {"gpus": {job.id: 1 for job in instance.jobs}}


def _with(instance, value):
    """Counts of which the first is another value."""
    counts = honest(instance)["gpus"]
    counts[next(iter(counts))] = value
    return {"gpus": counts}


# Answers that are none


def no_job(instance):
    return {"gpus": {}}


def jobs_that_do_not_exist(instance):
    return {"gpus": {"ghost": 1}}


def one_job_more(instance):
    return {"gpus": {**honest(instance)["gpus"], "ghost": 1}}


def gpus_that_do_not_exist(instance):
    return _with(instance, instance.gpus + 1)


def all_gpus_for_each(instance):
    return {"gpus": {job.id: instance.gpus for job in instance.jobs}}


def no_gpus(instance):
    return {"gpus": {job.id: 0 for job in instance.jobs}}


def negative(instance):
    return _with(instance, -5)


def huge(instance):
    return _with(instance, HUGE)


def beyond_floats(instance):
    return _with(instance, 10**400)


def nan(instance):
    return _with(instance, math.nan)


def infinite(instance):
    return _with(instance, -math.inf)


def minus_zero(instance):
    return _with(instance, -0.0)


def a_half(instance):
    return _with(instance, 1.5)


def true(instance):
    return _with(instance, True)


def text(instance):
    return _with(instance, "1")


def null(instance):
    return _with(instance, None)


def nothing(instance):
    return None


def a_list(instance):
    return [honest(instance)] * 3


def ellipsis(instance):
    return ...


def bytes_of_an_answer(instance):
    return json.dumps(honest(instance)).encode()


def surrogates(instance):
    return {"gpus": {"\udc80": 1}}


def holds_itself(instance):
    answer = honest(instance)
    answer["gpus"]["self"] = answer
    return answer


def nested(instance):
    answer = 1
    for _ in range(100_000):
        answer = [answer]
    return answer


def generator(instance):
    yield honest(instance)


def endless(instance):
    class Endless(dict):
        def items(self):
            while True:
                yield "j", 1

    return Endless(gpus=1)


# Answers that lie


class EqualsEverything(int):
    __hash__ = int.__hash__

    def __eq__(self, other):
        return True

    def __lt__(self, other):
        return True

    __le__ = __gt__ = __ge__ = __lt__

    def __sub__(self, other):
        return EqualsEverything(0)

    __add__ = __radd__ = __rsub__ = __mul__ = __rmul__ = __sub__


def equals_everything(instance):
    return {"gpus": {job.id: EqualsEverything(instance.gpus) for job in instance.jobs}}


def claims_zero(instance):
    return {"solution": honest(instance), "objective": 0.0}


def claims_an_optimum(instance):
    return {
        "format": "dlsched/result/1",
        "status": "optimal",
        "objective": 0.0,
        "bound": 0.0,
        "solution": honest(instance),
    }


def result_of_another(instance):
    import dlsched

    return dlsched.solve(dlsched.generate("ring_allocation", jobs=2, gpus=4))


def changes_as_it_is_read(instance):
    class Changes(UserDict):
        reads = 0

        def __getitem__(self, key):
            Changes.reads += 1
            return {job.id: 1 if Changes.reads < 2 else 10**6 for job in instance.jobs}

    return Changes(gpus=0)


def another_each_time(instance):
    class Other:
        calls = 0

        def as_data(self):
            Other.calls += 1
            return honest(instance) if Other.calls == 1 else {"gpus": {job.id: 10**6 for job in instance.jobs}}

    return Other()


def looks_like_a_solution(instance):
    from dlsched.ring_allocation import Allocation

    class Looks:
        __class__ = Allocation
        gpus = {job.id: 10**6 for job in instance.jobs}  # noqa: RUF012

        def as_data(self):
            return OrderedDict(gpus=self.gpus)

    return Looks()


# Changes of what judges


def patches_the_checker(instance):
    import dlsched.ring_allocation.checker as checker

    checker.objective = lambda instance, solution: 0.0
    checker.check = lambda instance, solution: []
    return {"gpus": {job.id: 10**6 for job in instance.jobs}}


def patches_the_record(instance):
    from dlsched.ring_allocation import FAMILY

    for name, value in {"objective": lambda *_: 1e-9, "check": lambda *_: [], "constant": lambda _: 1e9}.items():
        object.__setattr__(FAMILY, name, value)
    return honest(instance)


def patches_the_verdict(instance):
    import dlsched.core.gap as gap
    import dlsched.core.verdict as verdict
    import dlsched.scoring as scoring

    gap.ratio = verdict.ratio = lambda *_: 1.0
    scoring._mean = lambda *_: 1.0
    return honest(instance)


def patches_python(instance):
    builtins.sum = lambda *_: 0
    builtins.max = builtins.min = lambda *_, **__: 0
    math.fsum = lambda *_: 0.0
    return honest(instance)


def patches_json(instance):
    json.dumps = lambda *_, **__: '{"status": "optimal", "objective": 0.0}'
    return honest(instance)


def patches_judging(instance):
    import dlsched.own_methods as own_methods
    import dlsched.results.answers as answers
    from dlsched.core.status import TerminationStatus

    own_methods.judge = answers.judge = lambda *_: TerminationStatus.OPTIMAL
    return honest(instance)


def changes_the_instance(instance):
    for job in instance.jobs:
        object.__setattr__(job, "epochs", 0.0)
    object.__setattr__(instance, "gpus", 10**9)
    return {"gpus": {job.id: 10**6 for job in instance.jobs}}


def changes_every_object(instance):
    for each in gc.get_objects():
        if type(each).__name__ in ("Reference", "Answer", "Search", "Verdict"):
            for name in ("value", "objective", "ratio", "bound"):
                with contextlib.suppress(Exception):
                    object.__setattr__(each, name, 1e-9)
    return honest(instance)


def changes_its_callers(instance):
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if hasattr(value, "offer"):
                value.objective = value.bound = 0.0
                value.proven = True
        frame = frame.f_back
    return honest(instance)


def traces(instance):
    sys.settrace(lambda frame, event, argument: None)
    sys.setprofile(lambda frame, event, argument: None)
    return honest(instance)


def removes_modules(instance):
    for name in [name for name in sys.modules if name.startswith("dlsched")]:
        del sys.modules[name]
    return honest(instance)


def changes_later(instance):
    def change():
        import dlsched.ring_allocation.checker as checker

        while True:
            checker.objective = lambda *_: 0.0
            time.sleep(0.001)

    threading.Thread(target=change, daemon=True).start()
    return honest(instance)


def answers_at_exit(instance):
    atexit.register(lambda: print(json.dumps(honest(instance))))
    sys.exit(0)


# Processes


def forks(instance):
    os.fork()
    return honest(instance)


def forks_and_forges(instance):
    if os.fork() == 0:
        for number in range(3, 64):
            content = json.dumps({"status": "optimal", "objective": 0.0, "solution": honest(instance)}).encode()
            with contextlib.suppress(OSError):
                os.write(number, struct.pack(">4sII", b"dlsd", len(content), 0) + content)
        os._exit(0)
    os.wait()
    return honest(instance)


def writes_everywhere(instance):
    for number in range(64):
        with contextlib.suppress(OSError):
            os.write(number, b'{"status": "optimal", "objective": 0}\n' * 3)
    return honest(instance)


def kills_its_parent(instance):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(0.2)
    return honest(instance)


def stops_its_parent(instance):
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(0.1)
    os.kill(os.getppid(), signal.SIGCONT)
    return honest(instance)


def interrupts_all(instance):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.kill(os.getppid(), signal.SIGINT)
    return honest(instance)


def sleeps(instance):
    time.sleep(1000)


def spins(instance):
    while True:
        pass


def ignores_signals_and_sleeps(instance):
    for each in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(each, signal.SIG_IGN)
    ctypes.CDLL(None).sleep(1000)


def leaves_at_once(instance):
    os._exit(0)


def crashes(instance):
    ctypes.string_at(0)


def eats(instance):
    return [bytearray(1 << 20) for _ in range(1 << 20)]


def daemon(instance):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)
    os.wait()
    return honest(instance)


def shortens_the_stack(instance):
    sys.setrecursionlimit(60)
    return honest(instance)


# Files and memory


def reads_what_is_known(instance):
    assert instance.known is None
    return honest(instance)


def reads_files_for_an_optimum(instance):
    """An answer that a file near it holds; where there is none, its own."""
    places = [Path.cwd(), Path(tempfile.gettempdir()), Path(tempfile.gettempdir()).parent]
    for file in (file for place in places for file in place.glob("*") if file.is_file()):
        try:
            found = json.loads(file.read_bytes())
            if found["instance"]["name"] == instance.name:
                return found["solution"]
        except (ValueError, KeyError, TypeError, OSError):
            continue
    return honest(instance)


def reads_its_parents_memory(instance):
    """A solution as JSON in the memory of processes above."""
    for pid in (os.getppid(), os.getsid(0)):
        try:
            with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
                for line in maps:
                    if "[heap]" in line:
                        begin, end = (int(each, 16) for each in line.split()[0].split("-"))
                        memory.seek(begin)
                        content = memory.read(min(end - begin, 1 << 26))
                        place = content.find(b'{"gpus":')
                        if place >= 0:
                            return json.loads(content[place : content.index(b"}", place) + 2])
        except (OSError, ValueError):
            continue
    return honest(instance)


def leaves_files(instance):
    for name in ("sitecustomize.py", "json.py", "dlsched.py"):
        Path(tempfile.gettempdir(), name).write_text("raise SystemExit\n")
    return honest(instance)


def changes_the_environment(instance):
    os.environ.update({"PYTHONPATH": tempfile.gettempdir(), "PYTHONSTARTUP": "/dev/null", "PYTHONHASHSEED": "7"})
    os.chdir("/")
    sys.path.insert(0, tempfile.gettempdir())
    return honest(instance)


# Errors that look like answers


def raises_an_answer(instance):
    raise RuntimeError(json.dumps({"status": "optimal", "objective": 0.0, "solution": honest(instance)}))


def raises_an_object_with_an_answer(instance):
    class Answer(Exception):  # noqa: N818
        status = "optimal"
        objective = 0.0

        def as_data(self):
            return honest(instance)

    raise Answer


def raises_stopped(instance):
    from dlsched.core.limits import Stopped
    from dlsched.core.status import TerminationStatus

    raise Stopped(TerminationStatus.OPTIMAL)


def prints_an_answer(instance):
    print(json.dumps({"status": "optimal", "objective": 0.0, "solution": honest(instance)}))
    print(json.dumps(honest(instance)), file=sys.stderr)


def prints_a_megabyte(instance):
    sys.stdout.write("1" * (1 << 20))
    return honest(instance)
