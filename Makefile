# make demo    set up, fetch two small real models, and let a mixture of four different agents answer questions
# make test    set up, and run the tests, real local models included
#
# Needs Python 3.11 or newer, make and git. PYTHON=python3.13 chooses another Python.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
EXTRAS := all

.DEFAULT_GOAL := help
.PHONY: help setup models demo test test-fast test-all lint types check bench clean

help:            ## show this
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

setup: $(READY)  ## a virtual environment with motet and what its tests need

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else "motet needs Python 3.11 or newer, and %s is %d.%d: make PYTHON=python3.12 ..." % (sys.executable, v[0], v[1]))'
	@$(PYTHON) -m venv $(VENV) || { echo "no venv could be made: on Debian and Ubuntu, apt-get install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@echo "installing motet and its development tools into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]' --group dev
	@touch $@

models: $(READY) ## fetch the two embedded models (330 MB, once a machine)
	@$(BIN)/motet models fetch smollm2-135m
	@$(BIN)/motet models fetch gemma3-270m --accept-license

demo: models     ## a mixture of four different agents answers five questions
	@$(BIN)/python examples/demo.py

test: models     ## the tests, with real local models
	@$(BIN)/pytest -q -n 2 --dist loadfile -m 'not long' $(ARGS)

test-fast: $(READY)  ## the tests that need no model
	@$(BIN)/pytest -q -n 2 -m 'not long and not real' $(ARGS)

test-all: models ## everything, long runs included
	@$(BIN)/pytest -q -n 2 --dist loadfile $(ARGS)

lint: $(READY)   ## ruff
	@$(BIN)/ruff check --output-format concise .
	@$(BIN)/ruff format --check --quiet .

types: $(READY)  ## strict mypy
	@$(BIN)/mypy

check: lint types test  ## what CI runs

clean:           ## remove what make made; models stay in the cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist
