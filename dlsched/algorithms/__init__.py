"""Algorithms on plain arrays and numbers; they know no family.

=============================  ========================================================================================
time
=============================  ========================================================================================
``release_order``, ``srpt``    jobs in order of release; preemptive SRPT on one machine
``rising_speed``               SRPT on one machine whose speed rises over time
``one_machine``                valid inequalities of one machine
``separation``                 parts of an instance that may be decided apart
``serial_schedule``            each job of an order as early as possible
``start_tree``, ``annealing``  exact search over starts; simulated annealing over orders
``overtaking``                 jobs in line, whoever fits runs
``recurrence``                 predictions from earlier jobs of the same kind
=============================  ========================================================================================

=============================  ========================================================================================
units of resources
=============================  ========================================================================================
``compositions``               vectors of sizes: counted, listed, found by rank
``count_vectors``              vectors of counts within a stock
``stock_states``               one vector for every group, by dynamic programming over the stock
``exchanges``, ``transport``   improving exchanges of one unit; who can have what, by maximum flow
``ascending_market``           a market whose prices rise until nobody bids
``draws``                      how many random draws are enough; an unbiased draw
``grouping``                   rows that belong together; ways to divide units
``forest_parts``               units on the nodes of a forest, joined by its links
``closed_walks``               cheapest closed walks that collect units
=============================  ========================================================================================

=============================  ========================================================================================
utilities and rows
=============================  ========================================================================================
``utility_table``              utilities of 0, 1, 2 ... units, with their concave envelopes
``utility_steps``              a utility as a sum of steps
``utility_stretches``          an S-shaped utility between lines above it
``upper_hull``                 the least concave function above points
``pool_price``                 the price at which one pool serves jobs with such tables
``time_costs``                 costs of completion times, for their mean, the largest ratio or alpha-fair utilities
``whole_rows``                 rows over whole numbers, in whole numbers
=============================  ========================================================================================

``sums`` and ``trail`` keep the states of a search and the way back from one; ``memory`` says how much it may take.
"""
