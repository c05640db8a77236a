"""The verifying side of prices."""
