# Everything runs in .venv, which the first target that needs it makes. `make install` gives all that development needs.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test test-all check format clean

install: .venv/dev
demo: .venv/core
	@$(BIN)/sugenet demo

test: install check
	$(BIN)/pytest -m "not slow" -n logical --dist worksteal

test-all: install check
	-$(BIN)/pip install --quiet ray  # where it installs: its test says that it skips where it does not
	$(BIN)/pytest -n logical --dist worksteal

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/core: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable .
	@touch $@

.venv/dev: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --editable ".[dev]"
	@touch $@ .venv/core

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
