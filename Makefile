# Everything happens in .venv (made here) and .demo. uv is used when it is there, pip otherwise.
PYTHON ?= python3
BIN := .venv/bin
DEMO := .demo
UV := $(shell command -v uv 2>/dev/null)

.PHONY: demo test check format lint types sample dictionary clean

demo: .venv/.kix
	@$(BIN)/kix sync --sample --home $(DEMO)
	@echo; $(BIN)/kix board sample_moe_router_topk --home $(DEMO)/sample
	@echo; echo "Who leads each board of the B200, and by how much over the next?"
	@$(BIN)/kix sql --home $(DEMO)/sample "select kernel, stack_version as stack, any_value(project) filter (place = 1) as leader, \
	  min(primary_value) as best_ns, round(min(relative_to_best) filter (rank = 2), 2) as next_is_times_best \
	  from leaderboard where product = 'NVIDIA B200' group by comparison_key, kernel, stack_version order by kernel, stack limit 8"
	@echo; $(BIN)/kix status --home $(DEMO)/sample

test: .venv/.dev
	$(BIN)/python -m pytest -n auto

check: format lint types test

format: .venv/.dev
	$(BIN)/ruff format --check .

lint: .venv/.dev
	$(BIN)/ruff check .

types: .venv/.dev
	$(BIN)/mypy

sample:
	$(PYTHON) scrapers/sol_execbench/sample/make_sample.py

dictionary: .venv/.kix
	$(BIN)/python -m warehouse.dictionary > docs/data-dictionary.md

clean:
	rm -rf .venv $(DEMO)

.venv/.kix: pyproject.toml
ifdef UV
	uv venv --quiet --allow-existing --python $(PYTHON) .venv
	uv pip install --quiet --python $(BIN)/python -e .
else
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(BIN)/python -m pip install --quiet -e .
endif
	@touch $@

.venv/.dev: .venv/.kix
ifdef UV
	uv pip install --quiet --python $(BIN)/python --group dev
else
	$(BIN)/python -m pip install --quiet --group dev
endif
	@touch $@
