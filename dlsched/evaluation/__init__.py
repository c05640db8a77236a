"""The offline evaluator: replays a cluster's trace under other policies, reports what they would save."""
