# Everything starts here; `make` alone lists the commands. The work is done in lib/trainspeed.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# Two reports at once would measure each other.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
PRESET ?= auto
NOTEBOOKS ?=
OUT ?= outputs
PARAMS ?=
MODEL ?=
NODES ?=
BUDGET ?=
RESUME ?=
FROM ?=
ifeq ($(origin AS),default)
AS =
endif
HEAD ?=
ADDRESS ?=
MEASURE ?=
FLEET ?=
RUNS ?=
USD ?=
A ?=
B ?=
A_USD ?=
B_USD ?=
LAB ?=

# A value as one word of the shell, whatever spaces and quotes it holds.
quote = '$(subst ','\'',$(1))'
option = $(if $(strip $(2)),$(1) $(call quote,$(2)))
CHOICE = --preset $(call quote,$(PRESET)) $(call option,--notebooks,$(NOTEBOOKS)) \
	$(call option,--params,$(PARAMS)) $(call option,--model,$(MODEL)) $(if $(strip $(BUDGET)),$(call quote,--budget=$(BUDGET))) $(call option,--nodes,$(NODES)) --out $(call quote,$(OUT))
FLEET_CHOICE = $(call option,--fleet,$(FLEET)) $(call option,--head,$(HEAD))
# Two sides may be named one by one; then a price that is not given is a dash.
SIDES = $(if $(strip $(A)$(B)),$(call quote,$(A)) $(call quote,$(B)))
PRICES_OF_TWO = $(if $(strip $(A_USD)$(B_USD)),$(or $(strip $(A_USD)),-) $(or $(strip $(B_USD)),-))
SOURCES = $(wildcard lib tests notebooks benchmarks examples)

.PHONY: setup setup-fleet report plan check render share compare history node fleet test test-lab lint bench lab data clean help

report: setup ## measure and write the report: PRESET=auto|smoke|quick|standard|article NOTEBOOKS="layout amp" OUT=outputs PARAMS=file.yaml|'layout: {blocks: 9}' MODEL=path/file.py:function|timm/<name>|keras/<name> BUDGET=15m RESUME=1
	@.venv/bin/python -m trainspeed report $(CHOICE) $(if $(filter-out 0 no false,$(RESUME)),--resume)

plan: $(if $(strip $(FLEET)),setup-fleet,setup) ## what `make report` would run, how long it would take, and what twice the BUDGET would add; with FLEET=fleet.yaml, on every machine of a fleet, with the price; measures nothing
	@.venv/bin/python -m trainspeed plan $(CHOICE) $(FLEET_CHOICE)

node: setup-fleet ## make this machine a node of a fleet: AS=a10g HEAD=10.0.0.5; without HEAD it is the head, which measures nothing unless MEASURE=1; ADDRESS=its own address or interface, where it has several
	@.venv/bin/python -m trainspeed node $(call option,--as,$(AS)) $(call option,--head,$(HEAD)) $(call option,--address,$(ADDRESS)) $(if $(filter-out 0 no false,$(MEASURE)),--measure)

fleet: setup-fleet ## the report on every machine of FLEET=fleet.yaml, side by side in fleet.html; NODES=2 trains across nodes, too; otherwise as `make report`
	@.venv/bin/python -m trainspeed fleet $(CHOICE) $(FLEET_CHOICE) $(if $(filter-out 0 no false,$(RESUME)),--resume)

check: setup ## is the instrument right on this machine? about 2 minutes on 2 CPU cores, 6 on a GPU; writes check.html
	@.venv/bin/python -m trainspeed check --out $(call quote,$(OUT))

render: setup ## write the report again from runs that exist: FROM=folder (default: OUT); measures nothing
	@.venv/bin/python -m trainspeed render $(call option,--from,$(FROM)) $(call option,--notebooks,$(NOTEBOOKS)) --out $(call quote,$(OUT))

share: setup ## the report in OUT as one file to send on, and its verdicts as Markdown, JSON and a badge, in OUT/share; FROM=folder shares that of its runs instead; measures nothing
	@.venv/bin/python -m trainspeed share $(call option,--from,$(FROM)) --out $(call quote,$(OUT))

compare: setup ## which of several folders or ledgers is fastest, and which cheapest: RUNS="outputs/a10g outputs/h100 data/measured/xyz" USD="1.2 3.9 -", prices of an hour; of two also A= B= A_USD= B_USD=
	@.venv/bin/python -m trainspeed compare $(SIDES) --out $(call quote,$(OUT)) $(call option,--runs,$(RUNS)) $(if $(strip $(USD)),$(call quote,--usd=$(strip $(USD)))) $(if $(PRICES_OF_TWO),$(call quote,--usd-of-two=$(PRICES_OF_TWO)))

history: setup ## what changed from one session of OUT to the next, and since when training is slower or faster; sessions of several folders: RUNS="ci/1 ci/2"
	@.venv/bin/python -m trainspeed history --out $(call quote,$(OUT)) $(call option,--runs,$(RUNS))

setup: ## build the environments: quick when they are up to date; PYTHON=python3.12 chooses the interpreter
	@$(PYTHON) lib/setup_environments.py

setup-fleet:
	@$(PYTHON) lib/setup_environments.py --fleet

data: setup ## download CIFAR-10 and MNIST, and check them
	@.venv/bin/python -m trainspeed data

# The panel's Measure edits and runs a notebook through what the option exposes.
lab: setup ## open the notebooks in JupyterLab; LAB="--no-browser --port 9999" for further options of `jupyter lab`
	@.venv/bin/jupyter lab --notebook-dir notebooks --expose-app-in-browser $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB)

# Python's caches are wanted: else each of hundreds of processes compiles lib anew, and three compile all tests at once;
# two make them here, each of one half.
test: setup-fleet ## lint, then all tests but those of test-lab; they need no GPU
	@export PYTHONDONTWRITEBYTECODE=; find tests -name 'test_*.py' | sort | \
		xargs -P 2 -n 250 .venv/bin/python -m pytest --collect-only -qq &>/dev/null & $(MAKE) lint; wait
	@PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest -n 3

test-lab: setup ## each notebook that measures, and the front page, run whole in a real JupyterLab, in about two minutes; needs Chromium
	@PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest -n 2 -m lab tests/lab

lint: setup ## check style, format and the direction of imports, and that the notebooks hold no outputs
	@.venv/bin/ruff check $(SOURCES)
	@.venv/bin/ruff format --check $(SOURCES)
	@.venv/bin/lint-imports --no-cache
	@if grep -lE '"output_type"|"execution_count": [0-9]' notebooks/*.ipynb 2>/dev/null; then \
		echo "lint: clear the outputs of these notebooks before committing them" >&2; exit 1; fi

bench: setup-fleet ## measure Trainspeed itself
	@.venv/bin/python benchmarks/run.py

clean: ## remove the environments and caches; measured data, reports and downloads stay
	rm -rf .venv .venvs .cache .pytest_cache .ruff_cache .hypothesis build lib/*.egg-info
	find lib tests notebooks -name __pycache__ -prune -exec rm -rf {} + -o -name .ipynb_checkpoints -prune -exec rm -rf {} +

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
