"""Modelling layers for fractional allocations beside the proven optimum of ring_allocation: the piece ``peers`` of ``scale.py``.

A peer solves min slopes @ y, 0 <= y <= lengths, sum(y) <= spare over the segments of the lower convex hulls of all jobs, in an
environment of its own below ``PEERS_FOLDER`` (else a temporary folder), within ``PEERS_LIMIT_S`` (else 180) seconds on the clock
and 12 GiB of address space, where it is one process. Its seconds are for building and solving.
"""

import os
import subprocess
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import dlsched
from dlsched import ring_allocation
from dlsched.allocation.cost_table import hull
from dlsched.certificates import PriceCertificate, rounded_down
from dlsched.core.arrays import FloatArray
from dlsched.ring_allocation.costs import cost_table

CVXPY = """
import resource
import cvxpy as cp
resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
def solve(jobs, lengths, slopes, spare):
    y = cp.Variable(len(lengths))
    shared = cp.sum(y) <= spare
    cp.Problem(cp.Minimize(slopes @ y), [y >= 0, y <= lengths, shared]).solve()
    return y.value, shared.dual_value, 0.0
"""
DEDE = """
import dede as dd, ray
def inspect(worker):  # problem.solve returns neither the answer nor a price
    first = worker.probs_r[0]
    return time.process_time(), worker.get_solution_idx_d(), (first.l1.value + first.f1.value)[0]
def solve(jobs, lengths, slopes, spare):
    ends, unit = np.flatnonzero(np.diff(jobs)) + 1, np.abs(slopes).mean()
    parts = [dd.Variable(len(each), nonneg=True) for each in np.split(lengths, ends)]
    shared = [dd.sum(dd.hstack(parts)) <= spare]
    own = [part <= most for part, most in zip(parts, np.split(lengths, ends))]
    problem = dd.Problem(dd.Minimize(slopes / unit @ dd.hstack(parts)), shared, own)
    problem.solve(num_cpus=1, rho=1, solver=dd.ECOS)
    worker_s, places, multiplier = ray.get(problem._subprob_cache.probs[0].__ray_call__.remote(inspect))
    first = dict(zip((part.id for part in parts), [0, *ends.tolist()]))
    y = np.zeros(len(lengths))
    y[[first[part] + position for part, position in places]] = problem.sol_d
    return y, multiplier * unit, worker_s
"""
AROUND = """
import sys, time
import numpy as np
jobs, lengths, slopes, spare = np.load(sys.argv[1]).values()
{}
begin = time.process_time()
y, price, elsewhere_s = solve(jobs, lengths.astype(float), slopes, float(spare))
np.savez(sys.argv[2], y=y, price=price, seconds=time.process_time() - begin + elsewhere_s)
"""
PEERS: dict[str, tuple[str, tuple[str, ...]]] = {  # program and packages
    "cvxpy": (CVXPY, ("cvxpy==1.9.3",)),
    "dede": (DEDE, ("dede==0.1.6", "scipy==1.11.4")),  # its CVXPY 1.4.0 cannot be imported beside SciPy 1.17
    "resalloc": (Path(__file__).with_name("peer_resalloc.py").read_text(), ("torch", "numpy")),
}
LIMIT_S = float(os.environ.get("PEERS_LIMIT_S", "180"))


class Relaxation:
    """The segments of an instance's hulls: job, length and slope, shape (S,), and the GPUs that smallest counts spare."""

    def __init__(self, instance: ring_allocation.Instance) -> None:
        table = cost_table(instance)
        corners = np.flatnonzero(hull(table))
        job = np.searchsorted(table.starts, corners, side="right") - 1
        same = job[1:] == job[:-1]
        self.jobs, self.lengths = job[1:][same], np.diff(table.counts[corners])[same]
        self.slopes = np.diff(table.costs[corners])[same] / self.lengths
        self.instance, self.spare = instance, instance.gpus - instance.minimum_gpus

    def rounded(self, y: FloatArray) -> ring_allocation.Allocation:
        """Scale an answer to the capacity, round down to corners, and give out what is left by gain per GPU."""
        y = np.clip(y, 0, self.lengths)
        given = np.bincount(self.jobs, y * min(1.0, self.spare / y.sum()))[self.jobs]
        # a segment is taken if what its job is given reaches its end
        before = np.cumsum(self.lengths) - self.lengths
        taken = before + self.lengths - before[np.searchsorted(self.jobs, self.jobs)] <= given + 1e-6
        left, rest = self.spare - int(self.lengths[taken].sum()), np.flatnonzero(~taken)
        shut = set[int]()  # jobs whose next segment is too long for what is left
        for each in rest[np.argsort(self.slopes[rest], kind="stable")].tolist():
            if self.lengths[each] > left or self.jobs[each] in shut:
                shut.add(int(self.jobs[each]))
            else:
                taken[each], left = True, left - int(self.lengths[each])
        arrays = self.instance.arrays
        counts = arrays.least + np.bincount(self.jobs, self.lengths * taken, len(arrays.ids)).astype(np.int64)
        return ring_allocation.Allocation(dict(zip(arrays.ids, counts.tolist(), strict=True)))


def answer_of(peer: str, relaxation: Relaxation, folder: Path) -> dict[str, FloatArray] | str:
    """Return answer, price and seconds of a peer, whose environment is made when there is none, or why there are none."""
    code, packages = PEERS[peer]
    environment = Path(os.environ.get("PEERS_FOLDER", folder)).absolute() / peer
    python, given, answer = environment / "bin" / "python", folder / "given.npz", folder / "answer.npz"
    if not python.exists():
        venv.create(environment, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    np.savez(given, a=relaxation.jobs, b=relaxation.lengths, c=relaxation.slopes, d=relaxation.spare)
    command = [python, "-c", AROUND.format(code), given, answer]
    variables = os.environ | {"RAY_TMPDIR": str(folder), "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    try:
        run = subprocess.run(command, timeout=LIMIT_S, env=variables, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return f"none within {LIMIT_S:g} s on the clock"
    return f"{run.returncode}: {(run.stderr.splitlines() or [''])[-1]}" if run.returncode else dict(np.load(answer))


def peers(sizes: Sequence[int], methods: Sequence[str]) -> None:
    """``exact`` whole, the peers rounded, on the preset mixed; the checker and the verifier of certificates judge all."""
    print("jobs | segments | method | seconds | above the optimum | verified gap | seconds to check | to verify")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            instance = ring_allocation.generate(jobs=size)
            begin = time.process_time()
            result = dlsched.solve(instance, method="exact")
            seconds, allocation, certificate = time.process_time() - begin, result.solution, result.certificate
            assert result.status == "optimal"
            relaxation = Relaxation(instance)
            for method in ("exact", *(methods or ("cvxpy", "dede"))):
                label = f"{size:,} | {len(relaxation.jobs):,} | {method}"
                if method != "exact":
                    answer = answer_of(method, relaxation, Path(folder))
                    if isinstance(answer, str):
                        print(f"{label} | {answer}", flush=True)
                        continue
                    seconds, allocation = float(answer["seconds"]), relaxation.rounded(answer["y"])
                    certificate = PriceCertificate(max(0.0, float(answer["price"])), 0.0)
                instance.__dict__.pop("arrays")  # made anew, as of a file that was just read
                clock = [time.process_time()]
                assert not dlsched.check(instance, allocation)
                clock.append(time.process_time())
                bound = rounded_down(ring_allocation.FAMILY.verify(instance, certificate))
                clock.append(time.process_time())
                objective = ring_allocation.objective(instance, allocation)
                ratios = " | ".join(f"{dlsched.gap(objective, each):.1e}" for each in (result.objective, bound))
                print(f"{label} | {seconds:.2f} | {ratios}", *(f"| {each:.2f}" for each in np.diff(clock)), flush=True)
