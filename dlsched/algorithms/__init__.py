"""Algorithms on plain arrays and numbers; they know no family.

===================  ========================================================================================
time
===================  ========================================================================================
``one_machine``      order of release, preemptive SRPT, valid inequalities of one machine
``serial_schedule``  each job of an order as early as possible; simulated annealing over orders
``start_tree``       exact search over starts; parts of an instance that may be decided apart
``start_prices``     a bound for it from prices of a unit over time
``overtaking``       jobs in line, whoever fits runs
``waiting_jobs``     the first of jobs that wait in classes which may start
``recurrence``       predictions from earlier jobs of the same kind
``time_costs``       costs of completion times, for their mean, the largest ratio or alpha-fair utilities
===================  ========================================================================================

===================  ========================================================================================
units of resources
===================  ========================================================================================
``count_vectors``    vectors of counts: counted, listed, by rank, drawn; one for every group by dynamic programming
``resource_market``  a market whose prices rise until nobody bids; improving exchanges; who can have what, by maximum flow
``ring_sets``        cheapest closed walks that collect units; units on the nodes of a forest, joined by its links
``utility_tables``   utilities of 0, 1, 2 ... units: envelopes, steps, stretches, quotas, the price of a pool
``whole_rows``       rows over whole numbers, in whole numbers
===================  ========================================================================================

``sums`` and ``layered_search`` store the states of a search and the way back from one; ``sums`` says how much memory an
algorithm may take.
"""
