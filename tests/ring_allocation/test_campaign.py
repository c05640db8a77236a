"""The agreement campaign: independent code bases prove the same optimum, and certificates verify, on random instances.

Of every instance: knapsack, dynamic programming, the MILP by HiGHS, CBC, SCIP and CP-SAT, the MINLP by SCIP, and brute
force where it is tiny. The normal run takes a sample; ``make verify`` takes 5,000 instances (marker ``long``).
"""

import random
from collections import Counter
from fractions import Fraction

import pytest
from nasty import campaign

from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation import Instance, check, generate, objective, relaxation, solve
from dlsched.ring_allocation.certificate import verify
from dlsched.ring_allocation.formulations import build_milp, build_minlp
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.minlp import solve_minlp
from dlsched.testing import brute_force

from .nasty import nasty

SOLVERS = ("highs", "cbc", "scip", "cpsat")
CLOSE = 1e-9  # relative, of the checker's objectives
TINY = 3000  # allocations that brute force tries
MINLP_PAIRS = 40


def draw(seed):
    """A random instance; the kind goes round with the seed so that none is rare."""
    rng = random.Random(seed)
    if seed % 10 >= 7:
        preset = rng.choice(["mixed", "table", "concave", "adversarial"])
        jobs = rng.randint(2, 24)
        gpus = rng.choice([None, None, jobs, 3 * jobs])
        return generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed, max_gpus=rng.choice([4, 16, 64, 64]))
    number = rng.randint(1, 8)
    kind = ("floats", "integers", "ties", "non-monotone", "laws", "identical", "tight")[seed % 10]
    jobs = [job(rng, kind) for _ in range(number)]
    if kind == "identical":
        jobs = [jobs[0]] * number
    smallest = sum(min(map(int, drawn.get("epoch_time_s", {"1": 0}))) for drawn in jobs)
    if kind == "tight":
        gpus = rng.choice([smallest - 1, smallest, smallest + 1, number])
    else:
        gpus = rng.randint(smallest, smallest + 3 * number)
    return Instance(
        name=f"{kind}-{seed}", gpus=max(1, gpus), jobs=[{"id": f"j{n}", **drawn} for n, drawn in enumerate(jobs)]
    )


def job(rng, kind):
    """A job of that kind; costs are seconds, 1 to some 100,000."""
    epochs = float(rng.choice([0, 1, 7, 160])) if kind in ("integers", "ties") else rng.uniform(1, 200)
    drawn = {"epochs": epochs}
    if kind == "laws" and rng.random() < 0.8:
        theta = [
            rng.choice([0.0, rng.uniform(0.01, 1)]),
            rng.choice([0.0, 0.5, 2.0]),
            rng.choice([0.0, 0.01]),
            rng.uniform(0.5, 5),
        ]
        drawn["speed_law"] = {
            "theta": theta,
            "samples": float(rng.randint(10, 500)),
            "model_bytes": float(rng.randint(0, 50)),
        }
        drawn["max_gpus"] = rng.randint(1, 16)
        allowed = [1, 2, 3]
    else:
        shape = rng.choice(["powers", "consecutive", "any"])
        first = 2 if kind == "tight" else rng.choice([1, 1, 1, 3])
        if shape == "powers":
            allowed = [2**power for power in range(rng.randint(1, 5))]
        elif shape == "consecutive":
            allowed = list(range(first, first + rng.randint(1, 8)))
        else:
            allowed = sorted(rng.sample(range(first, 20), rng.randint(1, 6)))
        drawn["epoch_time_s"] = {str(w): time(rng, kind, w) for w in allowed}
    if rng.random() < 0.4:
        drawn["weight"] = rng.choice([0.5, 2.0, 3.0]) if kind != "floats" else rng.uniform(0.1, 10)
    if rng.random() < 0.4:
        drawn["current_gpus"] = rng.choice([*allowed, 5])
        drawn["restart_s"] = rng.choice([0.0, 10.0, 300.0])
    return drawn


def time(rng, kind, w):
    """Seconds an epoch on w GPUs."""
    if kind == "integers":
        return float(max(1, round(120 / w) + rng.randint(0, 3)))
    if kind == "ties":
        return float(rng.randint(1, 4))
    if kind == "non-monotone":
        return rng.uniform(1, 300)
    return rng.uniform(50, 150) / w + rng.uniform(0, 2) * w


def routes(instance):
    """Every exact route's allocation (None: infeasible), by name; ends with a message where one does neither."""
    for method in ("exact", "dp"):
        result = solve(instance, method=method)
        assert result.status in (TerminationStatus.OPTIMAL, TerminationStatus.INFEASIBLE), f"{method}: {result.message}"
        yield method, result.solution
    for solver in SOLVERS:
        milp = build_milp(instance, drop_dominated=True)
        yield solver, decoded(solver, solve_milp(milp.model, solver=solver, isolated=False), milp.decode)
    pairs = sum(min(len(instance.counts(index)), instance.gpus) for index in range(len(instance.jobs)))
    if instance.minimum_gpus <= instance.gpus and pairs <= MINLP_PAIRS:
        minlp = build_minlp(instance)
        if minlp.model is None:  # one count is open to every job
            yield "minlp", minlp.decode({})
        else:
            yield "minlp", decoded("minlp", solve_minlp(minlp.model, isolated=False), minlp.decode)
    if allocations(instance) <= TINY:
        found = brute_force(instance)
        yield "brute force", None if found is None else found[1]


def decoded(name, outcome, decode):
    """Its allocation, when it claims optimality; None when it claims infeasibility."""
    if outcome.status is TerminationStatus.INFEASIBLE:
        return None
    assert outcome.status is TerminationStatus.OPTIMAL, f"{name} ended with {outcome.status}: {outcome.message}"
    return decode(outcome.values)


def allocations(instance):
    """An upper bound of how many allocations fit."""
    product = 1
    spare = instance.gpus - instance.minimum_gpus
    for index in range(len(instance.jobs)):
        counts = instance.counts(index)
        product *= max(1, sum(1 for count in counts if count - counts[0] <= spare))
        if product > TINY:
            break
    return product


def compare(instance, tally):
    """Messages of all that does not agree on one instance; counts what was done in ``tally``."""
    values, problems = {}, []
    try:
        for name, allocation in routes(instance):
            tally[name] += 1
            values[name] = None
            if allocation is not None:
                violations = check(instance, allocation)
                problems += [f"{name}: {violations[0]}"] if violations else []
                values[name] = objective(instance, allocation) if not violations else None
    except AssertionError as error:
        problems.append(str(error))
    held = [value for value in values.values() if value is not None]
    tally["infeasible"] += not held
    if held and (len(held) < len(values) or max(held) - min(held) > CLOSE * max(1.0, max(held))):
        problems.append(f"objectives {values}")
    if held:
        for certificate in (solve(instance).certificate, relaxation(instance)):
            tally["certificates"] += 1
            proven = verify(instance, certificate)
            if not Fraction(certificate.value) <= proven <= Fraction(min(held)) * (1 + Fraction(1, 10**12)):
                problems.append(f"certificate {certificate} proves {float(proven)}, optimum {min(held)}")
    return [f"{instance.name}: {problem}" for problem in problems]


@pytest.mark.parametrize(
    ("first", "number"),
    [(0, 15), (15, 15), *(pytest.param(1000 * part, 1000, marks=pytest.mark.long) for part in range(5))],
)
def test_sample_of_the_campaign(first, number, capsys):
    """All routes, no mismatch: on fifteen instances twice, every kind among them, and on five thousand."""
    tally, problems = Counter(), []
    for seed in range(first, first + number):
        problems += compare(draw(seed), tally)
    counts = ", ".join(f"{name} {tally[name]}" for name in ("exact", "dp", *SOLVERS, "minlp", "brute force"))
    summary = (
        f"{number} instances, {len(problems)} mismatches, {tally['certificates']} certificates verified, "
        f"{tally['infeasible']} infeasible ({counts})"
    )
    with capsys.disabled():
        print(f"\n{summary}")
    assert not problems, "\n".join([summary, *problems[:50]])


@pytest.mark.long
def test_hundreds_by_minlp():
    """SCIP is right, or has no time left, or the instance is refused."""
    others = ("exact", "dp", "milp", "doubling", "marginal", "fixed", "equal", "hull", "lagrange", "lp")
    seen = campaign(nasty, brute_force, range(600), skip=others, limits=Limits(time_s=5.0))
    print(f"\nminlp on nasty numbers: {dict(sorted(seen.items()))}")
    assert not seen["minlp solver_error"]
