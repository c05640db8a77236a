"""Exact methods: programs and the dynamic program, column generation and its closing."""
