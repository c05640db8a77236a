"""Proofs of how bad a policy of elastic_stream can be, and of how good any policy can be.

============================  ===================================================================================
question                      modules
============================  ===================================================================================
supremum of a policy          ``proven`` (the call), ``search`` on ``runs`` and ``programs``, ``witnesses``
over all concave tables       ``concave`` on ``tables``; verified by ``table_verification``
its verifier                  ``verification``, ``tree_verification`` and ``claims`` on ``replay``: share nothing with the search
policies of the user's own    ``own``
the game against any policy   ``game`` on ``grid``; ``strategy`` plays it, ``game_verification`` verifies its value
============================  ===================================================================================
"""
