"""Column generation on plain arrays, for programs with more columns than can be listed.

=================  =====================================================================================================
``generation``     ``Master``, the known columns and their linear program; ``Smoothing``, the best prices known and which
                   to try next; ``generate``, column generation for vectors of counts, one for each group within a stock
``slack``          ``Pricing``: interface of a family with such columns; the search of all choices near the bound
``price_ascent``   best prices of a supply over time, from the cheapest plans at the prices tried
``packing_cuts``   best prices of single rigid jobs over time, by cutting planes of knapsacks
``malleable``      cheapest plans of jobs whose count may change at any time; ``slot_costs``: at the slots' borders only
=================  =====================================================================================================

One round of column generation, for a program that is minimised (of one that is maximised the costs are negative)::

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
"""
