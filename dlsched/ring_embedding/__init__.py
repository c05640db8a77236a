"""ring_embedding: rings of all-reduce jobs in a network, slot by slot (GADGET, Yu et al., INFOCOM 2022)."""
