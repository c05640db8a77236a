"""One count for every job, one capacity for all: what the families share whose jobs are given GPUs or nodes of one kind."""
