"""Rings in a network: its tables, how rings are placed, what rings cost at given prices."""
