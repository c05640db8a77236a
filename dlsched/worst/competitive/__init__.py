"""Proofs of how bad a policy of elastic_stream can be, and of how good any policy can be.

============================  ===================================================================================
question                      modules
============================  ===================================================================================
supremum of a policy          ``proven`` (the call), ``search`` on ``runs`` and ``programs``, ``witnesses``
its verifier                  ``verification`` on ``replay``, which share nothing with the search
policies of the user's own    ``own``
the game against any policy   ``game`` on ``grid``; ``strategy`` plays it, ``game_verification`` verifies its value
============================  ===================================================================================
"""
