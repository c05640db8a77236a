"""Column generation on plain arrays, for programs with more columns than can be listed.

A family has a linear program over columns, an algorithm that prices them, and perhaps a search for the
integral optimum near the bound. This package holds what does not depend on the family's columns:

=================  =====================================================================================================
``generation``     ``Master``: the known columns and their linear program. ``add`` a column as a sparse row, under a key
                   that says which it is; ``solve`` returns value, weights, prices of the rows at most and duals of the
                   equalities. ``Smoothing``: the best prices known and what they prove; which prices to try next.
                   ``generate``: column generation for vectors of counts, one for each group within a stock
``slack``          ``Pricing``: interface of a family with such columns. ``Prices`` and what they prove; ``close_gap`` and
                   ``search_beam``, the search of all choices within a slack of the bound, exact or as a beam
``price_ascent``   best prices of a supply over time, from the cheapest plans at the prices tried
``malleable``      cheapest plans of jobs whose count may change at any time; ``slot_costs``: at the slots' borders only
``rigid_prices``   best prices for jobs of fixed counts and lengths
=================  =====================================================================================================

One round of column generation, for a program that is minimised::

    optimum = master.solve(time_s=time_s)
    if optimum.value - smoothing.bound <= CLOSE * optimum.value:
        break                                              # the bound is as good as the program's value
    for trial in smoothing.trials(optimum.prices):
        priced, bound = price(trial)                       # the family's: columns and a Lagrangian bound
        smoothing.keep(trial, bound)
        joined = [master.add(each.key, each.cost, each.rows, each.values) for each in priced if reduced(each) < 0]
        if any(joined):
            break                                          # else the next trial; the last is ``optimum.prices`` itself
    else:
        break                                              # no column improves the program: it is solved

To maximise a program, hand it over with negative costs: then minus ``value`` is its value, ``prices`` keep
their meaning, and ``Sense.MAXIMIZE`` keeps its upper bounds. Costs are divided by ``unit``, a number of the
magnitude of the value, since HiGHS' tolerances are absolute; a caller that scales rows too does so before
``add``. Pricing algorithms are not here: the columns of no two families are alike.
"""
