# Short commands for daily work; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOCKED ?=
READY := $(VENV)/ready$(if $(LOCKED),-locked)
LOCK := requirements.lock
PROFILE ?= full
JOBS ?=
AT_ONCE ?=
N ?= 1000
MINUTES ?= 10
SWEEP := $(BIN)/budgetrun sweep --profile $(PROFILE) $(if $(JOBS),--jobs $(JOBS))
BOUNDS := $(BIN)/budgetrun bounds $(if $(filter ci,$(PROFILE)),--streams 1 --no-figures)
RESULTS := $(if $(filter full,$(PROFILE)),results,results/$(PROFILE))
CONFIGS := $(patsubst configs/%.yaml,%,$(wildcard configs/*.yaml))

.DEFAULT_GOAL := help
.PHONY: help setup lock demo test test-all test-more test-compiled test-faults test-results coverage fuzz torture lint mypy docs data bench archive report bounds reproduce-all clean $(addprefix reproduce-,$(CONFIGS))

help:  ## Show these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  make reproduce-CONFIG   Recompute one table or figure: $(CONFIGS)"

setup: $(READY)  ## Create .venv with budgetrun and its test tools; LOCKED=1 for the exact versions in requirements.lock

$(VENV)/ready: pyproject.toml
	@echo "Installing budgetrun, its libraries and its test tools in $(VENV): over 1 GB, some minutes, once"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev]'
	@rm -f $(VENV)/ready-locked
	@touch $@

$(VENV)/ready-locked: pyproject.toml $(LOCK)
	@echo "Installing the libraries and test tools of $(LOCK) in $(VENV): over 1 GB, some minutes, once"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --requirement $(LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $(VENV)/ready $@

lock: $(READY)  ## Renew requirements.lock: the newest versions that pyproject.toml allows
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --extra dev --no-emit-package budgetrun \
		--custom-compile-command "make lock" pyproject.toml --output-file $(LOCK)

demo: $(READY)  ## Run the learners on generated data: a table, a figure and a page
	$(BIN)/budgetrun sweep quickstart

# There is a process for each core.
test test-all test-more test-compiled test-faults test-results coverage: export OPENBLAS_NUM_THREADS := 1

test: $(READY)  ## Run the tests in parallel (tests on real data need BUDGETRUN_DATA)
	$(BIN)/python -m pytest -n auto --dist worksteal

test-all: $(READY)  ## Run the tests with every parameter setting of every learner in every way, and try old and new numba
	BUDGETRUN_EXHAUSTIVE=1 $(BIN)/python -m pytest -n auto --dist worksteal
	$(BIN)/python scripts/attack/try_numba.py

test-more: $(READY)  ## Run what `make test` leaves out: test-compiled, test-faults and test-results
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'compiled or faults or committed'

test-compiled: $(READY)  ## Run the tests of compiled code: a learner of each form has the bits of the interpreter (test-all: every learner)
	$(BIN)/python -m pytest -n auto -m 'compiled and not committed'

test-faults: $(READY)  ## Run the tests that kill sweeps, damage files and run clusters: nothing is lost or changed
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'faults and not compiled'

test-results: $(READY)  ## Compare the committed results with the code, and tables, reports and bounds with the runs
	$(BIN)/python -m pytest -n auto --dist worksteal -m committed

coverage: $(READY)  ## Run the tests and those of results, slower than without, and show the lines that they reach; fails below 95%
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'committed or faults or not compiled' --cov --cov-report=term

torture: $(READY)  ## Kill sweeps and streams at N=1000 random moments each, and check that nothing is lost: two hours
	$(BIN)/python scripts/attack/torture.py $(N)
	$(BIN)/python scripts/attack/torture_run.py $(N)

fuzz: $(READY)  ## Try readers, configs and results folders on fresh hostile input for MINUTES=10
	$(BIN)/python scripts/attack/fuzz.py --minutes $(MINUTES)

lint: $(READY) mypy  ## Check style, formatting, types and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

mypy: $(READY)  ## Check types
	$(BIN)/mypy
	$(BIN)/mypy tests/typed.py

docs: $(READY)  ## Build the site of the documentation in build/docs; once before: .venv/bin/pip install -e '.[docs]'
	$(BIN)/python -m sphinx -qW --keep-going docs build/docs

data: $(READY)  ## Download and verify the data sets of all configs
	$(BIN)/budgetrun data fetch mnist usps census_income a9a ijcnn1 phishing w8a cod_rna susy_30000 covtype_92962

bench: $(READY)  ## Measure the engine against plain loops, on an idle machine
	$(BIN)/python -m benchmarks

archive: $(READY)  ## Pack results with what is too large to be committed, in build/archive, with RO-Crate and Croissant metadata
	$(BIN)/python scripts/results/archive.py

report: $(READY)  ## Write tables, figures and pages again from the finished runs
	$(BIN)/budgetrun report $(RESULTS)

bounds: $(READY)  ## Check the papers' mistake bounds against the finished runs; fails if one is violated
	$(if $(AT_ONCE),echo $(wildcard $(addprefix $(RESULTS)/,$(CONFIGS))) | xargs -n 6 -P $(AT_ONCE) $(BOUNDS),$(BOUNDS) $(RESULTS))

# Most sweeps of the small version are shorter than the start of their workers, and than compiling their learners; the
# interpreter gives the same bits.
ifeq ($(PROFILE),ci)
reproduce-all: export BUDGETRUN_COMPILED ?= 0
endif
reproduce-all: $(READY)  ## Recompute every table and figure; PROFILE=ci for a small version, AT_ONCE=2 sweeps two at a time
	$(if $(AT_ONCE),echo $(CONFIGS) | xargs -n 6 -P $(AT_ONCE) $(SWEEP),$(SWEEP) $(CONFIGS))

$(addprefix reproduce-,$(CONFIGS)): reproduce-%: $(READY)
	$(SWEEP) $*

clean:  ## Remove build products and caches; data and results stay
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage*
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
