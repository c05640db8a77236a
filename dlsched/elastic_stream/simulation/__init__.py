"""Simulation of streams: what a policy sees, the simulator that asks it, and figures of the stream."""
