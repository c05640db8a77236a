"""Streams as they happen: what a policy sees, the simulator that asks it, figures of the stream that comes out."""
