"""One count for every job, one capacity for all: what families have in common whose jobs share identical GPUs or nodes."""
