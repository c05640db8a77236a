"""The matching market: its categories, its prices, and samples of it."""
