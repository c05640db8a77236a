"""Cells of small instances for tests of where they run, and a method of one's own for every harm it can do."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from dlsched.study.cells.cell import Cell, Outcome, key_of
from dlsched.study.engines import local
from dlsched.study.plans.plan import CellLimits, PlannedMethod
from dlsched.study.recipes import Recipe, read_recipe

ROOMY = CellLimits(time_s=60.0, memory_gib=4.0)
TIGHT = CellLimits(time_s=0.2, grace_s=0.3, memory_gib=4.0)


PROGRAM = """
import json, sys
instance = json.load(open(sys.argv[1]))
print(json.dumps({"solution": {"gpus": {job["id"]: 1 for job in instance["jobs"]}}}))
"""
"""A program that answers one GPU for each job."""


def recipe(seed: int = 0) -> Recipe:
    """An instance of three jobs on eight GPUs."""
    return read_recipe("ring_allocation", "generate", "mixed", seed, {"generate": {"jobs": 3, "gpus": 8, "seed": seed}})


def named(name: str) -> PlannedMethod:
    """A method of dlsched's."""
    return PlannedMethod(name, "name", name)


def function(path: Path, name: str) -> PlannedMethod:
    """A function of a file."""
    return PlannedMethod(name, "python", (str(path), name), fingerprint=path.name)


def command(*words: str, label: str = "program") -> PlannedMethod:
    """A program."""
    return PlannedMethod(label, "command", words, fingerprint=label)


def cell(method: PlannedMethod, seed: int = 0, limits: CellLimits = ROOMY) -> Cell:
    """A cell of it."""
    return Cell(key_of(recipe(seed), method, 0, limits), recipe(seed), method, 0, limits)


def run(
    cells: Iterable[Cell], workers: int = 1, folder: Path | None = None, engine: Callable[..., Any] = local.run
) -> list[Outcome]:
    """What comes of cells, in their order; each has exactly one outcome."""
    cells = list(cells)
    found = [each for some in engine(iter(cells), workers, str(folder or Path.cwd())) for each in some]
    by_key = {outcome.key: outcome for outcome in found}
    assert len(found) == len(by_key) == len(cells)
    return [by_key[each.key] for each in cells]


def said(outcome: Outcome) -> Outcome:
    """All that must not depend on where a cell ran: not its figures, nor by which cell its instance was first met."""
    return replace(outcome, time_s=None, cpu_s=None, memory_mib=None, facts=None)


def lives(pid: int) -> bool:
    """Whether a process is there, and not merely unburied."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


FUNCTIONS = '''
import ctypes, gc, json, os, random, resource, signal, subprocess, sys, threading, time, warnings
import numpy as np
warnings.simplefilter("ignore")

def mark(pid):
    """Write down a process that must be gone in the end."""
    with open(__file__ + ".pids", "a") as file:
        file.write(f"{pid}\\n")

def solution(instance):
    """One GPU for each job: feasible, as the instances have more GPUs than jobs."""
    return {"gpus": {job.id: 1 for job in instance.jobs}}

good = after = solution

def eats(instance):
    held = []
    while True:
        held.append(bytearray(50 << 20))

def eats_in_a_child(instance):
    pid = os.fork()
    if pid == 0:
        eats(instance)
    mark(pid)
    time.sleep(60)

def out_of_memory(instance): raise MemoryError
def hangs_in_c(instance): ctypes.PyDLL(None).pause()  # holds the lock of the interpreter

def hangs_in_a_pattern(instance):
    import re
    re.match("(a+)+$", "a" * 60 + "b")

def stops_itself(instance):
    os.kill(os.getpid(), signal.SIGSTOP)
    return solution(instance)

def stops_all_above(instance):
    import psutil
    for each in psutil.Process().parents()[:2]:
        each.suspend()
    time.sleep(60)

def ignores_signals(instance):
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(60)

def writes_everywhere(instance):
    print("the last line")
    for number in range(3, 256):
        try:
            os.write(number, b"garbage" * 10)
        except OSError:
            pass
    return solution(instance)

def closes_everything(instance):
    os.closerange(0, 256)
    return solution(instance)

def closes_everything_and_stays(instance):
    os.closerange(0, 256)
    time.sleep(60)

def prints_a_megabyte(instance):
    for number in (1, 2):
        os.write(number, b"x" * 500_000 + b"\\n")
    print("y" * 1_000_000)
    return solution(instance)

def prints_and_dies(instance):
    os.write(1, b"nothing\\n")
    os.write(2, b"x" * 1_000_000 + b"\\nsaid last\\n\\n")
    os._exit(3)

def hangs(instance):
    mark(os.getpid())
    time.sleep(600)

def forks(instance):
    os.fork()
    return solution(instance)

def daemon(instance):
    if os.fork() == 0:
        os.setsid()
        pid = os.fork()
        if pid:
            mark(pid)
            os._exit(0)
        time.sleep(600)
    os.wait()
    return solution(instance)

def daemon_of_another_program(instance):
    subprocess.run(["/bin/sh", "-c", f"env -i setsid sleep 600 & echo $! >> {__file__}.pids"])
    return solution(instance)

def daemon_and_dies(instance):
    daemon(instance)
    os._exit(0)

def daemon_and_kills_its_parents(instance):
    daemon(instance)
    import psutil
    for each in psutil.Process().parents()[:2]:
        each.kill()
    time.sleep(60)

def bomb(instance):
    for _ in range(50):
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
        mark(pid)
    return solution(instance)

def leaves(instance): os._exit(0)
def says_goodbye(instance): sys.exit(4)
def aborts(instance): os.abort()
def crashes(instance): ctypes.string_at(0)
def kills_itself(instance): os.kill(os.getpid(), signal.SIGKILL)
def kills_its_group(instance): os.killpg(0, signal.SIGKILL)

def kills_its_parent(instance):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)

def kills_its_worker(instance):
    import psutil
    next(each for each in psutil.Process().parents() if "spawn_main" in " ".join(each.cmdline())).kill()
    time.sleep(60)

def interrupts_its_parent(instance):
    os.kill(os.getppid(), signal.SIGINT)
    return solution(instance)

def spins(instance):
    def spin():
        while True:
            pass
    threading.Thread(target=spin, daemon=True).start()
    return solution(instance)

def changes_all(instance):
    os.chdir("/")
    os.environ.clear()
    random.seed(9), np.random.seed(9), np.seterr(all="raise")
    sys.setrecursionlimit(150)
    sys.path.clear()
    sys.stdout = sys.stderr = None
    resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    gc.disable()
    os.umask(0o777)
    import dlsched.families, dlsched.ring_allocation.checker as checker
    checker.check = lambda *_: []
    return solution(instance)

def changes_or_looks(instance):
    """Harms itself on every other instance."""
    return changes_all(instance) if instance.name[-1] in "02468" else looks(instance)

def looks(instance):
    """Fails where anything differs from how a process begins; answers what the seeded draws say."""
    assert os.getcwd() != "/" and "PATH" in os.environ and sys.getrecursionlimit() == 1000 and sys.path
    assert sys.stdout and gc.isenabled() and threading.active_count() == 1 and os.umask(0o22) == 0o22
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 20 and np.geterr()["divide"] == "warn"
    assert os.listdir(os.environ["TMPDIR"]) == []
    return draws(instance)

def draws(instance):
    time.sleep(0.02)
    return {"gpus": {job.id: 1 + int(random.random() + np.random.random() < 0.8) for job in instance.jobs}}

def removes_its_folder(instance):
    import shutil
    shutil.rmtree(os.path.dirname(os.environ["TMPDIR"]))
    return solution(instance)

def leaves_a_file(instance):
    import tempfile
    open(os.path.join(tempfile.mkdtemp(), "kept"), "w").write("x" * 100)
    return solution(instance)

class Odd(BaseException): pass

class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")

def raises(instance):
    raise ValueError("what was wrong")

def raises_odd(instance):
    raise Odd("odd words")

def raises_mute(instance): raise Mute

def raises_much(instance):
    raise ValueError("z" * 10_000_000)

def raises_no_text(instance):
    raise ValueError("half \\udc80 \\x1b[31m a letter")

def interrupted(instance): raise KeyboardInterrupt
def answers_none(instance): return None

def answers_nan(instance):
    return float("nan")

def answers_nan_inside(instance):
    return {"gpus": {job.id: float("nan") for job in instance.jobs}}

def answers_much(instance):
    return {"gpus": {str(number): 1 for number in range(2_000_000)}}

def answers_another(instance):
    import dlsched
    return dlsched.elastic_stream.example()

def breaks_a_rule(instance):
    return {"gpus": {job.id: instance.gpus for job in instance.jobs}}

def forges(instance):
    """Says on every pipe, as dlsched would, that it has the best of answers."""
    from dlsched.processes.streams import framed
    said = {"status": "optimal", "message": "", "solution": breaks_a_rule(instance),
            "time_s": 0.0, "cpu_s": 0.0, "memory_mib": 0.0, "clean": True}
    for number in range(3, 256):
        try:
            os.write(number, framed(json.dumps(said).encode()))
        except OSError:
            pass
    return solution(instance)
'''


def functions(folder: Path) -> Path:
    """Write them to a file."""
    path = folder / "own.py"
    path.write_text(FUNCTIONS, encoding="utf-8")
    return path


def marked(own: Path) -> list[int]:
    """Wait until a function of the file has written down a process; return all that are."""
    path = Path(f"{own}.pids")
    while not path.exists() or not path.read_text().endswith("\n"):
        time.sleep(0.01)
    return [int(word) for word in path.read_text().split()]
