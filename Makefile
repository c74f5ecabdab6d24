# The commands people type. `make` alone lists them. Each sets up .venv first, from the lock files, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXPERIMENT ?= tiny
# What the pipeline writes, apart from scores and reports (kept in git) and downloads (to be fetched again).
WRITTEN := data/corpora data/subwords data/shards data/unpacked runs models outputs exports reports/outputs .dvc/cache .dvc/tmp \
	.prefect .benchmarks mlruns mlartifacts mlflow.db mlflow.db.lock
# All tools quiet and at home: nothing is reported to anybody, state stays in this folder.
export DO_NOT_TRACK := 1
export DVC_NO_ANALYTICS := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export MLFLOW_DISABLE_TELEMETRY := true
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help install install-export install-test reproduce up down test test-all lint doctor clean lock

help: ## list these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1 \t/' | expand -t 22

$(VENV)/base.done: requirements/base.txt requirements/torch.in
	@echo "setting up $(VENV) (2.4 GB, one or two minutes)"
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"error: this needs Python 3.11 or newer, and $(PYTHON) is {v.major}.{v.minor}: make PYTHON=python3.11 ...")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.9
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(VENV) --require-hashes -r requirements/base.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/torch.in $(addprefix --index-url ,$(TORCH_INDEX))
	@touch $@

$(VENV)/test.done: $(VENV)/base.done requirements/test.txt
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(VENV) --require-hashes -r requirements/test.txt
	@touch $@

install: $(VENV)/base.done ## set up .venv only

install-export: install ## what `python -m tasks.export` needs (CTranslate2)
	@uv pip install --quiet --python $(VENV) --require-hashes -r requirements/export.txt

install-test: $(VENV)/test.done

reproduce: install ## raw text to a trained, scored Transformer and reports/table2.md (EXPERIMENT="tiny multi30k" for others)
	@set -f; python -m flows.reproduce $(EXPERIMENT)

up: install ## server, worker and MLflow UI on this machine, until Ctrl-C or `make down`
	@python -m flows.services up

down: install ## stop what `make up` started
	@python -m flows.services down

doctor: install ## what this machine lacks for an experiment, and how long it would take (EXPERIMENT=big)
	@python -m tasks.doctor $(EXPERIMENT)

test: install-test ## the tests that take minutes
	@python -m pytest -q -n auto --dist=loadfile --no-loadscope-reorder -m "not slow" --durations=10

test-all: install-test ## all tests
	@python -m pytest -q -n auto --dist=loadfile --no-loadscope-reorder --durations=10

lint: install-test ## format, lint and types
	@ruff format --check
	@ruff check
	@mypy

clean: ## say what takes disk here; with YES=1 delete it (scores, reports, downloads and .venv stay)
	@du -shc $(WRITTEN) 2>/dev/null | sort -h || true
	@if [ -n "$(YES)" ]; then rm -rf $(WRITTEN); else echo "this is what 'make clean YES=1' deletes, trained models among it"; fi

lock: install ## write the lock files again after a change of requirements/*.in
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes requirements/base.in -o requirements/base.txt
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes requirements/export.in -o requirements/export.txt
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes requirements/test.in -o requirements/test.txt
