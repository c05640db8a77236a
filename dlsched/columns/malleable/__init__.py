"""Pricing of malleable jobs at prices of units over time: each job's cheapest schedule, in time or slots."""
