PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
DEMO = demo
WORKERS ?= auto
# tests that pytest has compiled once are kept for the next run
unexport PYTHONDONTWRITEBYTECODE
PYTEST = $(BIN)/python -m pytest -n $(WORKERS)

# The long campaigns in pieces, each of which ends within about half an hour on two cores (13: three quarters). Every long test is of one of them.
PIECES = 1 2 3 4 5 6 7 8 9 10 11 12 13 14
PIECE_1 = tests/async_sgd tests/algorithms tests/queueing
PIECE_2 = tests/test_forged.py
PIECE_3 = tests/elastic_stream --ignore=tests/elastic_stream/test_price_campaign.py
PIECE_4 = tests/elastic_stream/test_price_campaign.py
PIECE_5 = tests/matching_placement tests/worst
PIECE_6 = tests/cluster tests/srpt_mapping
PIECE_7 = tests/ring_embedding --ignore=tests/ring_embedding/test_nasty.py
PIECE_8 = tests/ring_embedding/test_nasty.py tests/test_contract.py
PIECE_9 = tests/test_docs.py tests/docs tests/test_typing.py tests/test_imports.py tests/test_adding_a_family.py tests/test_adding_a_solver.py tests/test_extending.py tests/test_instances.py tests/test_shipped.py tests/test_benchmarks.py tests/test_benchmark_pages.py
PIECE_10 = tests/study tests/processes tests/test_signals.py
PIECE_11 = tests/test_random_instances.py
PIECE_12 = tests/test_own_certificates.py tests/modelling
PIECE_13 = tests/cli
PIECE_14 = tests/proofs

.PHONY: help demo test test-slow coverage test-all test-lowest test-machines verify $(PIECES:%=verify-%) lint docs bench bench-speed clean

help:
	@echo "make demo      heuristics against proven optima in all six families, half a minute (own environment in $(VENV))"
	@echo "make test      the tests that take about a second each at most, in their own environment"
	@echo "make test-slow the others, but for the long campaigns"
	@echo "make coverage  both, and the lines they reach: at least 95 %"
	@echo "make test-all  make test with Python 3.11, 3.12 and 3.13"
	@echo "make test-lowest  both with the oldest dependencies that are allowed"
	@echo "make test-machines  a selection under settings that stand for other processors; MACHINES=libm for one of them"
	@echo "make verify    the long agreement campaigns, and every shipped optimum proven again; in pieces: make verify-1 .. verify-14"
	@echo "make lint      ruff and mypy --strict"
	@echo "make docs      the documentation, warnings as errors"
	@echo "make bench     the benchmark pages in benchmarks/results"
	@echo "make bench-speed  those of speed alone, on a machine that does nothing else"

$(VENV)/.plots: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "$(PYTHON) is no Python 3.11 to 3.13; say which: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[plots,report]'
	@touch $@

$(VENV)/.dev: $(VENV)/.plots
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(VENV)/.plots
	@mkdir -p $(DEMO)
	@$(BIN)/dlsched study run benchmarks/studies/demo.toml -s $(DEMO)/demo.study.sqlite
	@$(BIN)/dlsched study show $(DEMO)/demo.study.sqlite --brief
	@$(BIN)/dlsched study report $(DEMO)/demo.study.sqlite -o $(DEMO)/report.html

# Bytecode is made first: hundreds of tests start processes that import dlsched.
test: $(VENV)/.dev
	@$(BIN)/python -m compileall -q -j 0 dlsched
	$(PYTEST) -m "not long and not slow"

test-slow: $(VENV)/.dev
	$(PYTEST) -m "slow and not long"

coverage: $(VENV)/.dev
	$(PYTEST) -m "not long" --cov=dlsched --cov-report=term:skip-covered --cov-fail-under=95

test-all:
	for version in 3.11 3.12 3.13; do \
		$(MAKE) test VENV=.venv-$$version PYTHON="$$(.ci/find-python $$version)" || exit 1; \
	done

test-lowest: $(VENV)/.plots
	$(BIN)/python -m pip install --quiet --editable '.[dev]' --constraint .ci/lowest.txt
	$(PYTEST) -m "not long"

test-machines: $(VENV)/.dev
	$(BIN)/python tests/machines/settings.py $(MACHINES)

verify: $(PIECES:%=verify-%)

$(PIECES:%=verify-%): verify-%: $(VENV)/.dev
	$(PYTEST) -m long -s $(PIECE_$*)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict dlsched

docs: $(VENV)/.dev
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

bench-speed: $(VENV)/.dev
	$(BIN)/python benchmarks/knapsack.py
	$(BIN)/python benchmarks/knapsack_classes.py
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/streams.py
	$(BIN)/python benchmarks/stream_bounds.py
	$(BIN)/python benchmarks/placement.py
	$(BIN)/python benchmarks/placement_growth.py
	$(BIN)/python benchmarks/srpt.py
	$(BIN)/python benchmarks/gang_speed.py
	$(BIN)/python benchmarks/slots.py
	$(BIN)/python benchmarks/horizon.py
	$(BIN)/python benchmarks/nodes.py
	$(BIN)/python benchmarks/simulation.py

bench: bench-speed
	$(BIN)/python benchmarks/pages.py
	$(BIN)/python benchmarks/whatif.py
	$(BIN)/python benchmarks/whatif_parts.py
	$(BIN)/python benchmarks/worst_proofs.py
	$(BIN)/python benchmarks/worst.py

clean:
	rm -rf .venv .venv-3.11 .venv-3.12 .venv-3.13 demo docs/_api docs/_build docs/_figures docs/_results .coverage* .hypothesis .mypy_cache .ruff_cache
