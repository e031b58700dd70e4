# Everything a newcomer needs is `make run` and `make test`; `make help` lists the rest.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
UV := .tools/bin/uv
BIN := .venv/bin
MEMBERS := $(wildcard libs/*/pyproject.toml services/*/pyproject.toml operator/pyproject.toml cli/pyproject.toml simulation/pyproject.toml)
PACKAGES := $(patsubst %/pyproject.toml,%,$(MEMBERS))
DISTRIBUTIONS := $(shell sed -n 's/^name = "\(.*\)"/\1/p' $(MEMBERS))
export UV_PYTHON_DOWNLOADS := never
export UV_LINK_MODE := copy
# How many processes share out the tests.
export WORKERS ?= 2

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.tools/.installed: requirements-uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Millstream needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@echo "Installing uv into .tools"
	@$(PYTHON) -m venv .tools
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock
	@touch $@

VENV = test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) .venv
INSTALL = $(UV) pip install --quiet --python $(BIN)/python

.venv/.installed: .tools/.installed requirements-dev.lock $(MEMBERS)
	@$(VENV)
	@echo "Installing the locked dependencies and the workspace into .venv"
	@$(INSTALL) --require-hashes -r requirements-dev.lock
	@$(INSTALL) --no-deps $(addprefix -e ,$(PACKAGES))
	@touch $@

# What a node and the client need, and nothing to build or to test with.
.venv/.runnable: .tools/.installed requirements-run.lock $(MEMBERS)
	@$(VENV)
	@echo "Installing $$(grep -c == requirements-run.lock) packages that a node needs into .venv"
	@$(INSTALL) --require-hashes -r requirements-run.lock
	@$(INSTALL) --no-deps $(patsubst %/src,-e %,$(shell sed -n '/^where/,/^]/s/^ *"\(.*\)",/\1/p' pyproject.toml))
	@echo "Compiling to byte code"
	@$(BIN)/python -m compileall -q -j 0 libs services cli
	@touch $@

# The same files, made into extension modules where that is possible (compiled/README.md); PLAIN=1 goes without.
COMPILED := $(shell cat compiled/modules)

.venv/.compiled: .venv/.installed compiled/build.py compiled/modules $(COMPILED)
	@echo "Compiling extension modules (some minutes; PLAIN=1 goes without)"
	@$(BIN)/python compiled/build.py
	@rm -f .venv/.plain && touch $@

.venv/.plain: .venv/.installed
	@$(BIN)/python compiled/build.py --remove
	@rm -f .venv/.compiled && touch $@

# Byte code made beforehand: a first start would compile all of a node, and some environments never write it down.
SOURCES = $(shell find libs services operator cli simulation -name '*.py')

.venv/.bytecode: .venv/.installed $(SOURCES)
	@$(BIN)/python -m compileall -q -j 0 libs services operator cli simulation $(wildcard .venv/lib/python3.*/site-packages/lz4)
	@touch $@

.PHONY: setup
setup: .venv/.installed .venv/.$(if $(PLAIN),plain,compiled) .venv/.bytecode ## Install uv, the locked dependencies and the workspace into .tools and .venv

.PHONY: plain
plain: ## As setup, without compiling (PLAIN=1 does the same for every target)
	@$(MAKE) --no-print-directory setup PLAIN=1

# Whoever has not set up anything gets what running needs, in plain Python; whoever has gets that.
.PHONY: run
run: $(if $(wildcard .venv/.installed),setup,.venv/.runnable) ## Start the all-in-one node on 127.0.0.1:9092 (ARGS="--port 19092 --data DIR --set num.partitions=4")
	@exec $(BIN)/millstream node $(ARGS)

.PHONY: cluster
cluster: setup ## Start three brokers, two controllers and two coordinators on loopback (ARGS passes on)
	@exec $(BIN)/millstream cluster $(ARGS)

.PHONY: simulate
simulate: setup ## Run the whole system under virtual time with a hostile network (SEED=1, SEEDS=1..20 or FROM=1 SEEDS=2000)
	@exec $(BIN)/python -m millstream_simulation $(if $(FROM),--from $(FROM) --count $(or $(SEEDS),1) --quiet,$(if $(SEEDS),--seeds $(SEEDS),--seed $(or $(SEED),1))) $(ARGS)

.PHONY: explore
explore: setup ## Drive the pure cores through every short schedule, and many long ones (ARGS="--schedules 30000")
	@exec $(BIN)/python -m millstream_simulation.explorer $(ARGS)

.PHONY: check
check: .venv/.installed ## Formatting, lint, types, layering
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: unit
unit: setup ## Unit and simulation tests, side by side (WORKERS=4; with ARGS: one after the other)
	@# The order of sets of strings is part of what happens in a simulation: so that a seed is the same story everywhere.
	PYTHONHASHSEED=0 $(BIN)/pytest $(or $(ARGS),-n $(WORKERS) --dist worksteal --durations=30)

.PHONY: test
test: check unit conformance ## All checks and tests that need no cluster

.PHONY: conformance
conformance: setup ## Real clients and Kafka's own tools against real processes (WORKERS, ARGS as with unit)
	tests/conformance/run $(ARGS)

.PHONY: console-test
console-test: setup ## The console's pages in a browser (ARGS="--pictures DIR" keeps what they look like)
	@tests/console/prerequisites
	@$(INSTALL) --require-hashes -r tests/console/requirements.lock
	$(BIN)/pytest tests/console $(ARGS)

.PHONY: chaos
chaos: setup ## Real processes under faults, judged (SEED=1 SECONDS=90 FAMILY=mixed, AGAINST=kafka beside ours, ARGS="--factor 1")
	@tests/chaos/prerequisites
	@exec $(BIN)/python tests/chaos --seed $(or $(SEED),1) --seconds $(or $(SECONDS),90) --family $(or $(FAMILY),mixed) \
		--against $(or $(AGAINST),millstream) $(ARGS)

.PHONY: operator-test
operator-test: setup ## The operator against a real API server, with processes for pods
	tests/operator/run $(ARGS)

.PHONY: alerts
alerts: ## Each alert fires once for what it is about (promtool is in Debian's package prometheus)
	promtool check rules charts/millstream/files/alerts.yaml
	promtool test rules tests/alerts/alerts.yaml

.PHONY: manifests
manifests: ## Plain manifests in place of the chart, into build/manifests (ARGS="--values FILE --set key=value"; needs helm)
	@mkdir -p build/manifests && cp charts/millstream/crds/*.yaml build/manifests/
	@helm template millstream charts/millstream --kube-version 1.33.0 --no-hooks $(ARGS) > build/manifests/zz-millstream.yaml
	@echo "kubectl apply --server-side -f build/manifests/"

.PHONY: e2e
e2e: setup ## The product on a real Kubernetes cluster, from nothing to archived Parquet
	tests/e2e/run

.PHONY: machines
machines: setup ## The product on three real nodes that are drained, cut off and wiped (ARGS="-k drain")
	tests/machines/run $(ARGS)

.PHONY: spark
spark: setup ## The Spark jobs' own tests
	UV=$(abspath $(UV)) spark-on-k8s/run-tests

.PHONY: bench
bench: setup ## Our server beside Apache Kafka: CPU per request and per gigabyte
	$(BIN)/python -m bench $(ARGS)

.PHONY: sbom
sbom: setup ## Write what is shipped, with versions, hashes and licences, as CycloneDX (build/sbom.cdx.json)
	@$(BIN)/python sbom/write.py $(ARGS)

.PHONY: dist
dist: setup ## Build the package into dist/: wheels and a source distribution
	@$(BIN)/python package/build.py

.PHONY: docs
docs: setup ## Write the documents that are made from the code
	$(BIN)/python docs/generate.py

.PHONY: format
format: setup ## Format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	$(addprefix --no-emit-package ,$(DISTRIBUTIONS)) $(UPGRADE)

.PHONY: lock
lock: .tools/.installed ## Resolve the dependencies again and write the hashed locks
	$(COMPILE) pyproject.toml $(MEMBERS) -o requirements.lock
	$(COMPILE) pyproject.toml -c requirements.lock -o requirements-run.lock
	$(COMPILE) pyproject.toml $(MEMBERS) --group dev -c requirements.lock -o requirements-dev.lock
	$(COMPILE) tests/console/requirements.in -c requirements-dev.lock -o tests/console/requirements.lock

.PHONY: clean
clean: ## Remove what setup and tests made (data directories stay)
	find libs services -name '*.so' -delete
	find libs services operator cli simulation -name __pycache__ -prune -exec rm -r {} +
	rm -rf .venv .tools build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
