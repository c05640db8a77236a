"""Jobs that may meet, decided block by block: our own search over starts, and CP-SAT in turns with it."""
