"""Allocation of counts: each job gets a count of identical units from a shared capacity, at a cost."""
