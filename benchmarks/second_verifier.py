"""Verify certificates of suprema of policies by the standard library alone: python benchmarks/second_verifier.py FILE...

Written from docs/competitive.md, docs/formats.md and docs/elastic_stream.md; nothing of dlsched is imported. Numbers are tuples
of length 1 on an instance, (a, b) for a + b e on a limit, and forms, coefficients of works and interval lengths, in a tree.
"""

import json
import re
import sys
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from pathlib import Path

MOST_BYTES, MOST_DIGITS, MOST_RAYS, MOST_PIECES = 2**24, 600, 2_000, 1_000
ALIASES = {"fixed": "fifo-fixed", "equal": "fifo-equal", "marginal": "fifo-marginal"}
METHODS = {f"{a}-{b}" for a in ("fifo", "srpt", "sjf") for b in ("fixed", "fastest", "knee", "equal", "marginal")}


def _require(holds, reason):
    if not holds:
        raise ValueError(reason)


def _fields(data, names):
    _require(type(data) is dict and {*data} == {*names}, f"no object of {names}")
    return [data[name] for name in names]


def _items(data, length, read=lambda item: item):
    _require(type(data) is list and len(data) == length, f"no list of {length}")
    return [read(item) for item in data]


def _integer(data, least, most):
    _require(type(data) is int and least <= data <= most, f"no integer from {least} to {most}")
    return data


def _rational(text):
    _require(type(text) is str and len(text) <= MOST_DIGITS, "no text of a rational")
    _require(re.fullmatch(r"-?[0-9]+(/0*[1-9][0-9]*)?", text), f"{text[:20]!r} is no rational")
    return Fraction(text)


def _sum(one, factor, other):
    return tuple(a + factor * b for a, b in zip(one, other, strict=True))


def _times(form, factor):
    return tuple(factor * a for a in form)


def _dot(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True) if a and b)


def _sign(number):
    return next((1 if a > 0 else -1 for a in number if a), 0)


def _cut(rays, row):
    """Extreme rays of a cone under one more row >= 0 (double description); a ray has a bit for each row that is 0 on it."""
    bit = 1 << max((zeros.bit_length() for zeros in rays.values()), default=0)
    values = {ray: _dot(row, ray) for ray in rays}
    new = {ray: rays[ray] | (0 if value else bit) for ray, value in values.items() if value >= 0}
    # The row meets the faces between two rays on either side of it whose common zeros no third one has.
    for one, other in product(rays, rays):
        both = rays[one] & rays[other]
        if values[one] > 0 > values[other] and sum(both & zeros == both for zeros in rays.values()) == 2:
            ray = _sum(_times(other, values[one]), -values[other], one)
            new[_times(ray, 1 / sum(ray))] = both | bit
    _require(len(new) <= MOST_RAYS, "a cone has too many rays")
    return new


class _Policy:
    """A policy for jobs of known speeds[job][units] and weights; rank is their order of arrival. Ties go to the lower number."""

    def __init__(self, method, speeds, weights, rank):
        self.order, self.sizing = ALIASES.get(method, method).split("-")
        self.units, self.speeds, self.weights, self.rank = len(speeds[0]) - 1, speeds, weights, rank

    def _size(self, speeds, present):
        knee = max(n for n in range(1, self.units + 1) if 2 * speeds[n] >= n * speeds[1])
        sizes = {"fixed": min(8, self.units), "fastest": speeds.index(speeds[-1]), "knee": knee, "marginal": 1}
        return (sizes | {"equal": max(1, self.units // present)})[self.sizing]

    def decide(self, left, works, sign):
        """Units of the jobs present, by their work left; only comparisons that matter are made."""
        speeds, sizes = self.speeds, {job: self._size(self.speeds[job], len(left)) for job in left}

        def before(one, other):  # 1 where a job comes before another, -1 where behind it, None where it is not known
            if self.order == "fifo":
                return 1 if self.rank[one] < self.rank[other] else -1
            keys = left if self.order == "srpt" else works
            times = [_times(keys[job], 1 / (speeds[job][sizes[job]] * self.weights[job])) for job in (one, other)]
            known = sign(_sum(times[1], -1, times[0]))
            return (1 if one < other else -1) if known == 0 else known

        def saves(one, other):  # likewise where the next unit saves it more time; ties as admitted
            seconds = {job: [1 / each for each in speeds[job][given[job] :][:2]] for job in (one, other)}
            steps = {job: self.weights[job] * (now - then) for job, (now, then) in seconds.items()}
            known = sign(_sum(_times(left[one], steps[one]), -steps[other], left[other]))
            return before(one, other) if known == 0 else known

        def first(jobs, compare):
            found = [job for job in jobs if all(compare(job, other) == 1 for other in jobs if other != job)]
            _require(found, "a decision does not follow from the splits")
            return found[0]

        # In order each takes its size where that fits; who comes first matters only among those that do not fit together.
        given, free = dict.fromkeys(left, 0), self.units
        while waiting := [job for job in left if sizes[job] <= free and not given[job]]:
            for job in waiting if sum(sizes[j] for j in waiting) <= free else [first(waiting, before)]:
                given[job] = sizes[job]
                free -= sizes[job]
        # With marginal each unit more goes where it saves most time, to a job that is admitted.
        for _ in range(free if self.sizing == "marginal" else 0):
            if jobs := [j for j, n in given.items() if 0 < n < self.units and speeds[j][n] < speeds[j][n + 1]]:
                given[first(jobs, saves)] += 1
        return given

    def flow(self, arrivals, works):
        coming, left = sorted(range(len(works)), key=self.rank.__getitem__), {}
        now = flow = _times(works[0], 0)
        while coming or left:
            given = self.decide(left, works, _sign)
            rates = {job: self.speeds[job][given[job]] for job in left}
            ends = [_times(left[job], 1 / rate) for job, rate in rates.items() if rate]
            passed = min([*ends, *(_sum(arrivals[job], -1, now) for job in coming[:1])])
            now, flow = _sum(now, 1, passed), _sum(flow, sum(self.weights[job] for job in left), passed)
            left = {job: _sum(left[job], -rate, passed) for job, rate in rates.items()}
            come = {job: works[job] for job in coming if arrivals[job] == now}
            left, coming = {job: rest for job, rest in left.items() if any(rest)} | come, coming[len(come) :]
        return flow


def _ratio(method, speeds, weights, arrivals, works, pieces):
    """Ratio of the policy's weighted flow time to that of a schedule, seen to be one; of forms its limit as e tends to 0."""
    jobs, size = range(len(works)), len(works[0])
    _require(all(_sign(arrivals[j]) >= 0 < _sign(works[j]) for j in jobs), "no arrival, or no work")
    _require(type(pieces) is list and len(pieces) <= MOST_PIECES, "no list of pieces of a schedule, or too many")
    order = sorted(jobs, key=lambda job: (arrivals[job], job))
    played = _Policy(method, speeds, weights, [order.index(job) for job in jobs]).flow(arrivals, works)
    now, left, measured = min(arrivals), [*works], _times(works[0], 0)
    for piece in pieces:
        length, units = _fields(piece, ["seconds", "units"])
        passed = tuple(_items([length] if size == 1 else length, size, _rational))
        given = _items(units, len(works), partial(_integer, least=0, most=len(speeds[0]) - 1))
        _require(_sign(passed) >= 0 and sum(given) < len(speeds[0]), "a piece of a schedule is impossible")
        for job in jobs:
            rest = _sum(left[job], -speeds[job][given[job]], passed)
            _require(rest == left[job] or arrivals[job] <= now, "a schedule runs a job before it arrives")
            if _sign(left[job]) > 0 >= _sign(rest):
                end = _sum(now, 1, _times(left[job], 1 / speeds[job][given[job]]))
                measured = _sum(measured, weights[job], _sum(end, -1, arrivals[job]))
            left[job] = rest
        now = _sum(now, 1, passed)
    _require(all(_sign(rest) <= 0 for rest in left), "a schedule leaves work")
    _require(measured[0] > 0, "the schedule is infinitely short")
    return played[0] / measured[0]


class _Tree:
    """For one choice of classes: all runs of the policy from the arrival of job 0 on, against all orders of an optimum."""

    def __init__(self, method, speeds, weights, supremum):
        self.jobs, self.speeds, self.weights, self.supremum = len(speeds), speeds, weights, supremum
        self.policy = _Policy(method, speeds, weights, range(self.jobs))
        # Variables are works, and lengths of intervals: as many as events, each of which ends one.
        self.names = [*(f"w{j}" for j in range(self.jobs)), *(f"d{k}" for k in range(2 * self.jobs - 1))]
        self.unit = [tuple(Fraction(name == other) for other in self.names) for name in self.names]

    def _children(self, node, arrived, ends):
        """Jobs that end or, for an arrival, None, each with its node: all events that may come next."""
        jobs = [*ends, *[None][: self.jobs - arrived]]
        names = ["arrival" if job is None else f"end {job}" for job in jobs]
        return zip(jobs, _fields(*_fields(node, ["events"]), names), strict=True)

    def run(self, node, rays, left, arrived, past, splits):
        """A node of the runs: work left of the jobs present, jobs arrived, past intervals (units, arrived), forms >= 0."""
        index = self.jobs + len(past)
        if type(node) is dict and "split" in node:
            terms, *branches = _fields(node, ["split", "positive", "negative"])
            known = self.names[:arrived] + self.names[self.jobs : index]
            _require(type(terms) is dict and {*terms} <= {*known}, f"a split is no form of {known}")
            form = tuple(_rational(terms.get(name, "0")) for name in self.names)
            for child, row in zip(branches, (form, _times(form, -1)), strict=True):
                self.run(child, _cut(rays, row), left, arrived, past, [*splits, row])
            return
        if not left and arrived == self.jobs:
            # Of each interval: the weight of the jobs present, and its columns of W, A and H.
            columns = []
            for k, (given, known) in enumerate(past, self.jobs):
                speed = [self.speeds[job][given.get(job, 0)] for job in range(self.jobs)]
                forms = [form[k] + _dot(form[: self.jobs], speed) for form in splits]
                weight = sum(self.weights[job] for job in given)
                columns.append((weight, speed, [int(job >= known) for job in range(self.jobs)], forms))
            self.optimum(*_fields(node, ["optimum"]), [0], 1, set(), columns)
            return

        def sign(form):  # 1: nowhere negative, -1: nowhere positive, 0: zero throughout; None: both signs occur
            signs = {_sign([_dot(form, ray)]) for ray in rays}
            return None if {1, -1} <= signs else sum(signs)

        given = self.policy.decide(left, self.unit, sign)
        left = {job: _sum(left[job], -self.speeds[job][given[job]], self.unit[index]) for job in left}
        for form in left.values():
            rays = _cut(rays, form)
        for job, child in self._children(node, arrived, [job for job in left if given[job]]):
            come = {arrived: self.unit[arrived]} if job is None else {}
            rest = {other: form for other, form in left.items() if other != job} | come
            inside = rays if come else _cut(rays, _times(left[job], -1))
            self.run(child, inside, rest, arrived + len(come), [*past, (given, arrived)], splits)

    def optimum(self, node, present, arrived, past, columns):
        """A node of the optimum's orders: jobs present, jobs arrived, and both in past intervals."""
        if type(node) is dict and "events" in node:
            for job, child in self._children(node, arrived, present):
                now = [*present, arrived] if job is None else [other for other in present if other != job]
                self.optimum(child, now, arrived + (job is None), past | {(tuple(present), arrived)}, columns)
            return
        # A leaf: the inequalities of the bound, for all orders of the optimum that begin so.
        lists, lengths = _fields(node, ["work", "arrival", "rows"]), (self.jobs, self.jobs, len(columns[0][3]))
        u, g, h = (_items(each, length, _rational) for each, length in zip(lists, lengths, strict=True))
        _require(min(u + h) >= 0, "a multiplier is negative")
        for weight, speed, before, forms in columns:
            _require(weight + _dot(h, forms) <= _dot(u, speed) + _dot(g, before), "no bound on an interval")
        for jobs, known in past:
            best = [0] * len(self.speeds[0])  # the most that the jobs so far are worth on so many units
            for job in jobs:
                worth = _times(self.speeds[job], u[job])
                best = [max(best[m - n] + worth[n] for n in range(m + 1)) for m in range(len(best))]
            most = self.supremum * sum(self.weights[job] for job in jobs)
            _require(best[-1] + sum(g[known:]) <= most, "an interval of an optimum is left")
        later = range(arrived, self.jobs)
        fast = all(u[job] * self.speeds[job][-1] <= self.supremum * self.weights[job] for job in [*present, *later])
        _require(fast and all(sum(g[job:]) <= 0 for job in later), "multipliers leave what follows")


def verify(data):
    """What a certificate proves, in a line; ValueError if it does not."""
    names = "kind family method jobs units speeds weights supremum ratio instance schedule proof"
    data = {"weights": ["1"]} | data if type(data) is dict else data
    extra = ["limit"] if type(data) is dict and "limit" in data else []
    kind, family, method, jobs, units, speeds, weights, *claims = _fields(data, names.split() + extra)
    _require((kind, family) == ("competitive", "elastic_stream"), "a certificate of another kind")
    _require(type(method) is str and method in {*ALIASES, *METHODS}, "a policy that this verifier does not know")
    _require(type(speeds) is list and 1 <= len(speeds) <= 4, "no tables of speeds, or too many")
    _require(type(weights) is list and 1 <= len(weights) <= 4, "no weights, or too many")
    _items(claims[4], (len(speeds) * len(weights)) ** _integer(jobs, 1, 6))
    tables = [[Fraction(), *_items(each, _integer(units, 1, 64), _rational)] for each in speeds]
    _require(all(t[1] > 0 and all(a <= b for a, b in pairwise(t)) for t in tables), "speeds fall, or are not positive")
    pairs = [*product(tables, _items(weights, len(weights), _rational))]
    _require(all(weight > 0 for _, weight in pairs), "a weight is not positive")
    supremum, ratio = map(_rational, claims[:2])
    # Each job of the instance has one of the tables, in a unit of work of its own, and one of the weights.
    kind, _, same, listed = _fields(claims[2], ["format", "name", "units", "jobs"])
    _require(kind == "dlsched/elastic_stream/1" and _integer(same, units, units), "an instance of another kind")
    on, forms, heavy = [], [], []
    for job in _items(listed, jobs):
        job = {"weight": 1.0} | job if type(job) is dict else job
        _, times, *numbers = _fields(job, ["id", "epoch_time_s", "arrival_s", "epochs", "weight"])
        numbers += _fields(times, [str(n) for n in range(1, units + 1)])
        _require(all(type(a) in (int, float) and (a == 0 or 1e-100 <= a <= 1e100) for a in numbers), "no number")
        arrival, epochs, weight, *times = map(Fraction, numbers)
        like = (
            all(a * s == times[0] * t[1] for a, s in zip(times, t[1:], strict=True)) and w == weight for t, w in pairs
        )
        _require(min(times) and any(like), "a job of the instance has none of the tables with none of the weights")
        on.append([Fraction(), *(1 / each for each in times)])
        heavy.append(weight)
        forms.append([(arrival,), (epochs,)])
    _require(_ratio(method, on, heavy, *zip(*forms, strict=True), claims[3]) == ratio, "the instance has another ratio")
    _require((ratio < supremum) == (len(extra) == 1) and ratio <= supremum, "ratio, supremum and limit do not agree")
    index = partial(_integer, least=0, most=len(pairs) - 1)
    if extra:
        classes, *numbers, pieces = _fields(claims[5], ["classes", "arrivals", "works", "schedule"])
        forms = [_items(each, jobs, lambda pair: tuple(_items(pair, 2, _rational))) for each in numbers]
        own = zip(*(pairs[each] for each in _items(classes, jobs, index)), strict=True)
        _require(_ratio(method, *own, *forms, pieces) == supremum, "the limit is not the supremum")
    roots = [_fields(entry, ["classes", "tree"]) for entry in claims[4]]
    chosen = [_items(classes, jobs, index) for classes, _ in roots]
    _require(sorted(chosen) == [[*row] for row in product(range(len(pairs)), repeat=jobs)], "a choice is missing")
    for classes, root in roots:
        tree = _Tree(method, *zip(*(pairs[each] for each in classes), strict=True), supremum)
        rays = {ray: (1 << len(tree.unit)) - 1 - (1 << k) for k, ray in enumerate(tree.unit)}
        tree.run(root, rays, {0: tree.unit[0]}, 1, [], [])
    return (
        f"{method}, {jobs} jobs on {units} units: the supremum is {supremum}, {'approached' if extra else 'attained'}"
    )


def main(paths):
    """Print a line for each certificate; 1 if any is not verified."""
    failures = 0
    for path in map(Path, paths):
        try:
            _require(path.stat().st_size <= MOST_BYTES, "the file is too large")
            # Of a name that comes twice there is no object.
            data = json.loads(path.read_bytes(), object_pairs_hook=lambda p: dict(p) if len(dict(p)) == len(p) else 0)
            print(f"{path}: verified: {verify(data)}", flush=True)
        except (OSError, ValueError, RecursionError) as error:
            failures += 1
            print(f"{path}: refused: {error}", flush=True)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
