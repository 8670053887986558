# Everything runs in .venv, which the first target that needs it makes. `make install` gives all that development needs.
PYTHON ?= python3
BIN := .venv/bin
PYTHONS ?= python3.11 python3.12 python3.13  # those that `make dist` tries the wheel with, where they are

# of the tests: one more than there are cores, since some tests wait
WORKERS ?= $(shell $(PYTHON) -c "import os; print(os.cpu_count() + 1)")

.PHONY: install demo test test-all check kernels format docs refresh dist lock lce clean

install: .venv/dev
demo: .venv/core
	@mkdir -p build && $(BIN)/sugenet demo -o build/demo.html

test: install
	@$(MAKE) --no-print-directory -j2 check kernels
	$(BIN)/pytest -m "not slow" -n $(WORKERS) --dist worksteal

test-all: install check
	-$(BIN)/pip install --quiet ray  # where it installs: its test says that it skips where it does not
	-$(BIN)/pip install --quiet jupyterlab
	-$(BIN)/pip install --quiet ai-edge-litert  # the same
	SUGENET_LCE_PYTHON=$(abspath $(wildcard .venv-lce/bin/python)) $(BIN)/pytest -n $(WORKERS) --dist worksteal --hypothesis-profile=all

lce:  # .venv-lce, in which Larq Compute Engine makes and runs the files that `make test-all` reads
	$(PYTHON) -m venv .venv-lce
	.venv-lce/bin/pip install --quiet larq-compute-engine==0.16.0 larq==0.14.0 tensorflow-cpu==2.15.1 "numpy<2"

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

kernels: install  # compiled before all workers of the tests need them at once
	$(BIN)/sugenet warm-up --quiet

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: install  # build/site; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "build/site/index.html"

refresh: install  # write what is printed and drawn now into pages, sessions, notebooks and pictures: read the difference
	$(BIN)/python -m tools.notebook
	-SUGENET_REWRITE=1 $(BIN)/pytest -q -n logical tests/cli/test_docs.py tests/cli/test_golden.py tests/test_notebooks.py
	$(BIN)/python -m tools.doctests README.md docs/*.md
	$(BIN)/python -m tools.gallery

dist: install  # wheel, sdist and the page in dist/; the wheel is tried in clean environments
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/sugenet page -o dist/sugenet.html
	$(BIN)/python -m tools.tryout dist $(PYTHONS)

$(BIN)/python:
	$(PYTHON) -m venv .venv

# LOCKED=1, as CI has it, installs exactly what the lock files name, by hash; others get the ranges of pyproject.toml.
# Modules are then compiled when they are first imported, since most of them never are.
.venv/core: pyproject.toml | $(BIN)/python
ifdef LOCKED
	$(BIN)/pip install --quiet --no-compile --require-hashes -r requirements-core.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
else
	$(BIN)/pip install --quiet --editable .
endif
	@touch $@

.venv/dev: pyproject.toml | $(BIN)/python
ifdef LOCKED
	$(BIN)/pip install --quiet --no-compile --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
else
	$(BIN)/pip install --quiet --editable ".[dev]"
endif
	@touch $@ .venv/core

lock: install  # what CI installs, with hashes: requirements.lock, requirements-core.lock
	$(BIN)/python -m tools.lock

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
