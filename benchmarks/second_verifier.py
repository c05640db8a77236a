"""Verify certificates of suprema of policies by the standard library alone: python benchmarks/second_verifier.py FILE...

Nothing of dlsched is imported; written from docs/competitive.md, docs/formats.md and docs/elastic_stream.md. It knows the orders
fifo, srpt and sjf with all sizings. Numbers are tuples, "forms": of length 1 on an instance, (a, b) for a + b e on a limit, and
coefficients of works and interval lengths in a tree. One class of policies decides on all; ``sign`` says what is known of a form.
"""

import json
import re
import sys
from fractions import Fraction
from itertools import pairwise, product
from math import gcd, lcm
from pathlib import Path

MOST_BYTES, MOST_NODES, MOST_DIGITS, MOST_RAYS, MOST_PIECES = 2**26, 200_000, 600, 2_000, 1_000
ALIASES = {"fixed": "fifo-fixed", "equal": "fifo-equal", "marginal": "fifo-marginal"}
METHODS = {f"{a}-{b}" for a in ("fifo", "srpt", "sjf") for b in ("fixed", "fastest", "knee", "equal", "marginal")}


def _require(holds, reason):
    if not holds:
        raise ValueError(reason)


def _fields(data, needed, optional=()):
    """Values of exactly these fields of an object; None for an optional one that is absent."""
    _require(type(data) is dict and {*needed} <= {*data} <= {*needed, *optional}, f"no object of {needed}")
    return [data.get(name) for name in (*needed, *optional)]


def _items(data, length):
    _require(type(data) is list and len(data) == length, f"no list of {length}")
    return data


def _integer(data, least, most):
    _require(type(data) is int and least <= data <= most, f"no integer from {least} to {most}")
    return data


def _rational(text):
    _require(type(text) is str and len(text) <= MOST_DIGITS, "no text of a rational")
    _require(re.fullmatch(r"-?[0-9]+(/0*[1-9][0-9]*)?", text), f"{text[:20]!r} is no rational")
    return Fraction(text)


def _float(data):
    _require(type(data) in (int, float) and (data == 0 or 1e-100 <= data <= 1e100), "no number of an instance")
    return Fraction(data)


def _plus(one, other, factor=1):
    return tuple(a + factor * b for a, b in zip(one, other, strict=True))


def _times(form, factor):
    return tuple(factor * a for a in form)


def _dot(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True) if a and b)


def _primitive(form):
    """Return the positive multiple of a form whose integers have no common divisor."""
    whole = [int(a) for a in _times(form, lcm(*(Fraction(a).denominator for a in form)))]
    return tuple(a // (gcd(*whole) or 1) for a in whole)


def _lexicographic(form):
    """Sign of a number, or of a + b e for every small e > 0."""
    return next((1 if a > 0 else -1 for a in form if a), 0)


class Cone:
    """A cone of variables >= 0 under further rows >= 0, by its extreme rays (the double description method)."""

    def __init__(self, rays, rows):
        self.rays, self.rows = rays, rows  # by ray a bit for each row that is 0 on it; number of rows

    def variable(self, unit):
        """One more variable."""
        rays = {ray: zeros | 1 << self.rows for ray, zeros in self.rays.items()}
        return Cone(rays | {_primitive(unit): (1 << self.rows) - 1}, self.rows + 1)

    def cut(self, row):
        """One more row: rays beyond it make way for those where it meets the faces between two rays."""
        values = {ray: _dot(_primitive(row), ray) for ray in self.rays}
        rays = {ray: self.rays[ray] | (not value) << self.rows for ray, value in values.items() if value >= 0}
        for one, other in product(self.rays, self.rays):
            both = self.rays[one] & self.rays[other]
            if values[one] > 0 > values[other] and sum(both & zeros == both for zeros in self.rays.values()) == 2:
                rays[_primitive(_plus(_times(other, values[one]), one, -values[other]))] = both | 1 << self.rows
        _require(len(rays) <= MOST_RAYS, "a cone has too many rays")
        return Cone(rays, self.rows + 1)

    def sign(self, form):
        """1: nowhere negative, -1: nowhere positive, 0: zero throughout; None: both signs occur."""
        signs = {_lexicographic([_dot(form, ray)]) for ray in self.rays}
        return None if {1, -1} <= signs else sum(signs)


class Policy:
    """A policy for jobs of known speeds[job][units]; rank is their order of arrival. Ties go to the lower number."""

    def __init__(self, method, speeds, rank):
        self.order, self.sizing = ALIASES.get(method, method).split("-")
        self.units, self.speeds, self.rank = len(speeds[0]) - 1, speeds, rank

    def size(self, job, present):
        """Units of a job that runs; with marginal its least."""
        speeds, share = self.speeds[job], max(1, self.units // max(1, present))
        knee = max(n for n in range(1, self.units + 1) if 2 * speeds[n] >= n * speeds[1])
        fastest = speeds.index(speeds[-1])
        return dict(fixed=min(8, self.units), fastest=fastest, knee=knee, equal=share, marginal=1)[self.sizing]

    def decide(self, left, works, sign):
        """Units of the jobs present, by their work left; only comparisons that matter are made."""
        speeds, sizes = self.speeds, {job: self.size(job, len(left)) for job in left}

        def before(one, other):
            """1 where a job comes before another, -1 where behind it, None where it is not known."""
            if self.order == "fifo":
                return 1 if self.rank[one] < self.rank[other] else -1
            keys = left if self.order == "srpt" else works
            times = [_times(keys[job], 1 / speeds[job][sizes[job]]) for job in (one, other)]
            known = sign(_plus(times[1], times[0], -1))
            return (1 if one < other else -1) if known == 0 else known

        def saves(one, other):
            """Likewise where the next unit saves a job more than another; ties as admitted."""
            steps = {job: 1 / speeds[job][given[job]] - 1 / speeds[job][given[job] + 1] for job in (one, other)}
            known = sign(_plus(_times(left[one], steps[one]), left[other], -steps[other]))
            return before(one, other) if known == 0 else known

        def first(jobs, compare):
            found = [job for job in jobs if all(compare(job, other) == 1 for other in jobs if other != job)]
            _require(found, "a decision does not follow from the splits")
            return found[0]

        # In order each takes its size where that fits; who comes first matters only among those that do not fit together.
        given, free = dict.fromkeys(left, 0), self.units
        while waiting := [job for job in left if sizes[job] <= free and not given[job]]:
            together = sum(sizes[job] for job in waiting) <= free
            for job in waiting if together else [first(waiting, before)]:
                given[job] = sizes[job]
                free -= sizes[job]
        # With marginal each unit more goes where it saves most time, to a job that is admitted.
        while free and self.sizing == "marginal":
            jobs = [j for j, n in given.items() if 0 < n < self.units and speeds[j][n] < speeds[j][n + 1]]
            free -= 1 if jobs else free
            if jobs:
                given[first(jobs, saves)] += 1
        return given


def _flow_of_policy(policy, arrivals, works):
    """Play a policy on numbers, and return its total flow time."""
    coming, left = sorted(range(len(works)), key=policy.rank.__getitem__), {}
    now = flow = _times(works[0], 0)
    while coming or left:
        given = policy.decide(left, works, _lexicographic)
        rates = {job: policy.speeds[job][given[job]] for job in left}
        ends = [_times(left[job], 1 / rate) for job, rate in rates.items() if rate]
        passed = min([*ends, *(_plus(arrivals[job], now, -1) for job in coming[:1])])
        now, flow = _plus(now, passed), _plus(flow, passed, len(left))
        left = {job: _plus(left[job], passed, -rate) for job, rate in rates.items()}
        come = {job: works[job] for job in coming if arrivals[job] == now}
        left, coming = {job: rest for job, rest in left.items() if any(rest)} | come, coming[len(come) :]
    return flow


def _flow_of_schedule(pieces, speeds, arrivals, works):
    """Measure a schedule, after seeing that it is one, and return its total flow time."""
    size, now, left, ends = len(arrivals[0]), min(arrivals), [*works], [*arrivals]
    _require(type(pieces) is list and len(pieces) <= MOST_PIECES, "no list of pieces of a schedule, or too many")
    for piece in pieces:
        length, units = _fields(piece, ["seconds", "units"])
        passed = tuple(map(_rational, [length] if size == 1 else _items(length, size)))
        given = [_integer(each, 0, len(speeds[0]) - 1) for each in _items(units, len(works))]
        _require(_lexicographic(passed) >= 0 and sum(given) < len(speeds[0]), "a piece of a schedule is impossible")
        for job, count in enumerate(given):
            if count and any(passed) and _lexicographic(left[job]) > 0:
                _require(arrivals[job] <= now, "a schedule runs a job before it arrives")
                ends[job] = _plus(now, min(passed, _times(left[job], 1 / speeds[job][count])))
                left[job] = _plus(left[job], passed, -speeds[job][count])
        now = _plus(now, passed)
    _require(all(_lexicographic(rest) <= 0 for rest in left), "a schedule leaves work")
    return tuple(sum(each) for each in zip(*map(_plus, ends, arrivals, [-1] * len(ends)), strict=True))


def _ratio(method, speeds, arrivals, works, pieces):
    """Ratio of the policy's flow time to the schedule's; of forms its limit as e tends to 0."""
    jobs = range(len(works))
    _require(all(_lexicographic(arrivals[j]) >= 0 < _lexicographic(works[j]) for j in jobs), "no arrival, or no work")
    order = sorted(jobs, key=lambda job: (arrivals[job], job))
    played = _flow_of_policy(Policy(method, speeds, [order.index(job) for job in jobs]), arrivals, works)
    measured = _flow_of_schedule(pieces, speeds, arrivals, works)
    power = next(k for k, a in enumerate(measured) if a)
    _require(not any(played[:power]), "the ratio has no limit")
    return played[power] / measured[power]


def _ratio_of_instance(data, method, tables, count, pieces):
    """Ratio of an instance of the given sizes; each job has one of the tables, in a unit of work of its own."""
    kind, _, units, jobs = _fields(data, ["format", "name", "units", "jobs"])
    _require(kind == "dlsched/elastic_stream/1" and units == len(tables[0]) - 1, "the instance has other units")
    speeds, arrivals, works = [], [], []
    for job in _items(jobs, count):
        _, epochs, on, arrival = _fields(job, ["id", "epochs", "epoch_time_s", "arrival_s"])
        on = [_float(each) for each in _fields(on, [str(n) for n in range(1, len(tables[0]))])]
        like = (all(a * s == on[0] * table[1] for a, s in zip(on, table[1:], strict=True)) for table in tables)
        _require(min(on) and any(like), "a job of the instance has none of the tables")
        speeds.append([Fraction(), *(1 / each for each in on)])
        arrivals.append((_float(arrival),))
        works.append((_float(epochs),))
    return _ratio(method, speeds, arrivals, works, pieces)


class Tree:
    """For one choice of tables: all runs of the policy from the arrival of job 0 on, against all orders of an optimum."""

    def __init__(self, method, speeds, supremum, nodes):
        self.jobs, self.speeds, self.supremum, self.nodes, self.leaves = len(speeds), speeds, supremum, nodes, 0
        self.policy = Policy(method, speeds, range(self.jobs))
        # Variables are works, and lengths of intervals: as many as events, each of which ends one.
        self.names = [*(f"w{j}" for j in range(self.jobs)), *(f"d{k}" for k in range(2 * self.jobs - 1))]
        self.unit = [tuple(Fraction(name == other) for other in self.names) for name in self.names]

    def _children(self, node, arrived, ends):
        """Jobs that end or, for an arrival, None, each with its node: all events that may come next."""
        jobs = [*ends, *[None][: self.jobs - arrived]]
        names = ["arrival" if job is None else f"end {job}" for job in jobs]
        return zip(jobs, _fields(*_fields(node, ["events"]), names), strict=True)

    def run(self, node, cone, left, arrived, past, splits):
        """A node of the runs: work left of the jobs present, jobs arrived, past intervals (units, arrived), forms >= 0."""
        self.nodes, index = self.nodes - 1, self.jobs + len(past)
        _require(self.nodes >= 0, "too many nodes")
        if type(node) is dict and "split" in node:
            terms, *branches = _fields(node, ["split", "positive", "negative"])
            known = self.names[:arrived] + self.names[self.jobs : index]
            values = dict(zip(known, _fields(terms, (), known), strict=True))
            form = tuple(_rational(values.get(name) or "0") for name in self.names)
            for child, row in zip(branches, (form, _times(form, -1)), strict=True):
                self.run(child, cone.cut(row), left, arrived, past, [*splits, row])
            return
        if not left and arrived == self.jobs:
            self.optimum(*_fields(node, ["optimum"]), [0], 1, set(), [*self.rows(past, splits)])
            return
        # Where a split's form is zero throughout its branch, the policy decides as the split says.
        sides = {_primitive(_times(form, side)): side for form in splits for side in (-1, 1)}

        def sign(form):
            return sides.get(_primitive(form), 0) if (known := cone.sign(form)) == 0 else known

        given = self.policy.decide(left, self.unit, sign)
        left = {job: _plus(left[job], self.unit[index], -self.speeds[job][given[job]]) for job in left}
        inside, past = cone.variable(self.unit[index]), [*past, (given, arrived)]
        for form in left.values():
            inside = inside.cut(form)
        for job, child in self._children(node, arrived, [job for job in left if given[job]]):
            rest = {other: form for other, form in left.items() if other != job}
            if job is None:
                more = inside.variable(self.unit[arrived])
                self.run(child, more, rest | {arrived: self.unit[arrived]}, arrived + 1, past, splits)
            else:
                self.run(child, inside.cut(_times(left[job], -1)), rest, arrived, past, splits)

    def rows(self, past, splits):
        """Of each interval of a run: jobs present, and its columns of W, A and H."""
        for k, (given, arrived) in enumerate(past, self.jobs):
            speed = [self.speeds[job][given.get(job, 0)] for job in range(self.jobs)]
            before = [int(job >= arrived) for job in range(self.jobs)]
            yield len(given), speed, before, [form[k] + _dot(form[: self.jobs], speed) for form in splits]

    def optimum(self, node, present, arrived, past, rows):
        """A node of the optimum's orders: jobs present, jobs arrived, and both in past intervals."""
        self.nodes -= 1
        _require(self.nodes >= 0, "too many nodes")
        if type(node) is dict and "events" not in node:
            self.leaf(*_fields(node, ["work", "arrival", "rows"]), present, arrived, past, rows)
            return
        for job, child in self._children(node, arrived, present):
            now = [*present, arrived] if job is None else [other for other in present if other != job]
            self.optimum(child, now, arrived + (job is None), past | {(tuple(present), arrived)}, rows)

    def leaf(self, work, arrival, multipliers, present, arrived, past, rows):
        """The inequalities of the bound, for all orders of the optimum that begin so."""
        self.leaves += 1
        u, g = ([_rational(a) for a in _items(each, self.jobs)] for each in (work, arrival))
        h = [_rational(a) for a in _items(multipliers, len(rows[0][3]))]
        _require(min(u + h) >= 0, "a multiplier is negative")
        for count, speed, before, forms in rows:
            _require(
                count + _dot(h, forms) <= _dot(u, speed) + _dot(g, before), "multipliers leave an interval of a run"
            )
        for jobs, known in past:
            best = [0] * len(self.speeds[0])  # the most that the jobs so far are worth on so many units
            for job in jobs:
                worth = _times(self.speeds[job], u[job])
                best = [max(best[m - n] + worth[n] for n in range(m + 1)) for m in range(len(best))]
            _require(
                best[-1] + sum(g[known:]) <= self.supremum * len(jobs), "multipliers leave an interval of an optimum"
            )
        later = range(arrived, self.jobs)
        fast = all(u[job] * self.speeds[job][-1] <= self.supremum for job in [*present, *later])
        _require(fast and all(sum(g[job:]) <= 0 for job in later), "multipliers leave what follows")


def verify(data):
    """What a certificate proves, in a line; ValueError if it does not."""
    names = "kind family method jobs units speeds supremum ratio instance schedule proof"
    kind, family, method, jobs, units, speeds, *claims, proof, limit = _fields(data, names.split(), ["limit"])
    _require((kind, family) == ("competitive", "elastic_stream"), "a certificate of another kind")
    _require(type(method) is str and method in {*ALIASES, *METHODS}, "a policy that this verifier does not know")
    _require(type(speeds) is list and 1 <= len(speeds) <= 4, "no tables of speeds, or too many")
    _items(proof, len(speeds) ** _integer(jobs, 1, 5))
    tables = [[Fraction(), *map(_rational, _items(each, _integer(units, 1, 64)))] for each in speeds]
    _require(all(t[1] > 0 and all(a <= b for a, b in pairwise(t)) for t in tables), "speeds fall, or are not positive")
    supremum, ratio = map(_rational, claims[:2])
    _require(_ratio_of_instance(claims[2], method, tables, jobs, claims[3]) == ratio, "the instance has another ratio")
    _require((ratio < supremum) == ("limit" in data) and ratio <= supremum, "ratio, supremum and limit do not agree")
    if "limit" in data:
        classes, *numbers, pieces = _fields(limit, ["classes", "arrivals", "works", "schedule"])
        own = [tables[_integer(each, 0, len(tables) - 1)] for each in _items(classes, jobs)]
        forms = [[tuple(map(_rational, _items(each, 2))) for each in _items(of_jobs, jobs)] for of_jobs in numbers]
        _require(_ratio(method, own, *forms, pieces) == supremum, "the limit is not the supremum")
    leaves, nodes = 0, MOST_NODES
    for entry, chosen in zip(proof, product(range(len(tables)), repeat=jobs), strict=True):
        classes, root = _fields(entry, ["classes", "tree"])
        _require(
            [_integer(each, 0, len(tables) - 1) for each in _items(classes, jobs)] == [*chosen], "a choice is missing"
        )
        tree = Tree(method, [tables[each] for each in chosen], supremum, nodes)
        tree.run(root, Cone({}, 0).variable(tree.unit[0]), {0: tree.unit[0]}, 1, [], [])
        leaves, nodes = leaves + tree.leaves, tree.nodes
    attained = "approached" if "limit" in data else "attained"
    return f"{method}, {jobs} jobs on {units} units: the supremum is {supremum}, {attained} ({leaves} leaves)"


def main(paths):
    """Print a line for each certificate; 1 if any is not verified."""
    failures = 0
    for path in map(Path, paths):
        try:
            _require(path.stat().st_size <= MOST_BYTES, "the file is too large")
            # Of a name that comes twice there is no object.
            data = json.loads(
                path.read_bytes(), object_pairs_hook=lambda p: dict(p) if len(dict(p)) == len(p) else None
            )
            print(f"{path}: verified: {verify(data)}", flush=True)
        except (OSError, ValueError, RecursionError) as error:
            failures += 1
            print(f"{path}: refused: {error}", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
