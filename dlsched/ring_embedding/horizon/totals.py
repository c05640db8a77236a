"""The relaxation of ``horizon`` with S-shaped utilities taken as they are: binaries choose the stretch in which z_i lies.

The worker-slots 0 .. Z_i of an S-shaped job are cut into stretches; on each its utility is below the concave envelope of
that stretch alone. One of them is chosen:

    sum_k b_ik = 1     lo_k b_ik <= z_ik <= hi_k b_ik     theta_ik <= tangents of the envelope of stretch k, times b_ik
    z_i = sum_k z_ik   theta_i = sum_k theta_ik

Every theta is in a unit of its own job, so that a solver's tolerance is small beside that job's utility.
The program keeps the rows of the relaxation. So every embedding is a point of it, and its bound holds for
the total utility; the solver proves this bound, and no certificate verifies it.
"""

import numpy as np

from dlsched.algorithms.utility_tables import VANISHING, power_of_two, stretches, tangents
from dlsched.ring_embedding.horizon.relaxation import Program
from dlsched.solvers.linear import LinearModel, maximisation


def build_totals(program: Program) -> LinearModel:
    """Build the program, gains in the unit of ``program``; w, on and z of the relaxation come first."""
    jobs, first, rows = len(program.tables), len(program.columns), program.rows.copy()
    units = [power_of_two(table.most) for table in program.tables]
    upper = [*program.upper, *(float(table.units) for table in program.tables)]
    upper += [table.most / unit for table, unit in zip(program.tables, units, strict=True)]
    equal: list[int] = []
    binaries: list[int] = []
    for (i, _), (offset, slope) in program.tangents.items():
        if slope > VANISHING * units[i]:
            rows.add([(first + jobs + i, 1.0), (first + i, -slope / units[i])], offset / units[i])
    for i, (table, unit) in enumerate(zip(program.tables, units, strict=True)):
        pieces = [(0, 0)] if table.concave else stretches(table, program.unit)
        if len(pieces) == 1:
            continue
        # Three columns for every stretch: whether it is chosen, its worker-slots, its utility.
        start, end = len(upper), len(upper) + 3 * len(pieces)
        for b, (low, high) in zip(range(start, end, 3), pieces, strict=True):
            z, theta = b + 1, b + 2
            upper += [1.0, float(high), table.most / unit]
            binaries.append(b)
            rows.add([(z, 1.0), (b, -float(high))], 0.0)
            rows.add([(z, -1.0), (b, float(low))], 0.0)
            for offset, slope in tangents(table, low, high, program.unit):
                rows.add([(theta, 1.0), (z, -slope / unit), (b, -offset / unit)], 0.0)
        equal.append(rows.add([(b, 1.0) for b in range(start, end, 3)], 1.0))
        equal.append(rows.add([(first + i, 1.0), *((z, -1.0) for z in range(start + 1, end, 3))], 0.0))
        rows.add([(first + jobs + i, 1.0), *((theta, -1.0) for theta in range(start + 2, end, 3))], 0.0)
    costs, integer = np.zeros(len(upper)), np.zeros(len(upper), dtype=bool)
    costs[:first] = -np.array(program.costs) / program.unit
    costs[first + jobs : first + 2 * jobs] = np.array(units) / program.unit
    integer[binaries] = True
    return maximisation(costs, rows.matrix(len(upper)), rows.right, upper=upper, integer=integer, equal=equal)
