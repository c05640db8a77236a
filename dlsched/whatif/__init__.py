"""The offline evaluator: a trace of a cluster, the policies that could have run it, and one page that says what to save."""
