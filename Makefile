# One typeable command each; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
PROFILE ?= full
JOBS ?=
SWEEP := $(BIN)/budgetrun sweep --profile $(PROFILE) $(if $(JOBS),--jobs $(JOBS))
RESULTS := $(if $(filter full,$(PROFILE)),results,results/$(PROFILE))
CONFIGS := $(patsubst configs/%.yaml,%,$(wildcard configs/*.yaml))

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint data bench report bounds reproduce-all clean $(addprefix reproduce-,$(CONFIGS))

help:  ## Show these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  make reproduce-CONFIG   Recompute one table or figure: $(CONFIGS)"

setup: $(READY)  ## Make .venv with budgetrun and what its tests need

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY)  ## Set up, then run the learners on generated data: a table and a picture
	$(BIN)/budgetrun sweep quickstart

test: $(READY)  ## Set up, then run the tests (those on real data need BUDGETRUN_DATA)
	$(BIN)/python -m pytest

lint: $(READY)  ## Check style, and that public functions have types
	$(BIN)/ruff check .

data: $(READY)  ## Fetch and verify the data sets of all configs
	$(BIN)/budgetrun data fetch mnist usps census_income a9a ijcnn1 phishing w8a cod_rna susy_30000 covtype_92962

bench: $(READY)  ## Measure the engine against plain loops
	$(BIN)/budgetrun bench

report: $(READY)  ## Write tables, figures and pages again, from the runs that are there
	$(BIN)/budgetrun report $(RESULTS)

bounds: $(READY)  ## Hold the papers' mistake bounds against the runs that are there; fails if one is violated
	$(BIN)/budgetrun bounds $(RESULTS)

reproduce-all: $(READY)  ## Recompute every table and figure; PROFILE=ci for a small version
	$(SWEEP) $(CONFIGS)

$(addprefix reproduce-,$(CONFIGS)): reproduce-%: $(READY)
	$(SWEEP) $*

clean:  ## Remove what was built; data and results stay
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
