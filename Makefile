# Entry point: `make demo` shows what Loadstone does, `make test` tests it. Both do all set-up themselves.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# File in which tests record skips and their reasons.
SKIPPED := target/test-skipped.txt
# Duration of each fuzzing, in seconds.
FUZZ_S := 600
# Sources of the installed programs.
SOURCES := pyproject.toml setup.py Cargo.toml Cargo.lock $(wildcard src/loadstone/workloads/*/workload.toml) \
           $(shell find crates -name '*.rs' -o -name Cargo.toml)

.PHONY: help setup demo test packages test-rust test-python test-fast test-unit test-combinations test-all rates wheel image sites fleet-trial kvm-trial bench calibrate fuzz mutants lint format schemas docs reference checksums clean

help:            ## list the targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*##/\t/' | expand -t 16

setup: $(VENV)/installed   ## build the programs and install them into .venv

# The demo's programs are a part of all: where all are installed, they stay.
demo: $(if $(wildcard $(VENV)/installed),setup,$(VENV)/demo)   ## run one laptop tile of six roles for half a minute, judge and score it, write a report
	@$(BIN)/loadstone demo

test:            ## test every behaviour once, in 15 minutes, or 25 the first time; installs missing system packages
	@# all at once the first time: one waits for the compiler, the others for the network
	@$(MAKE) --no-print-directory --jobs=3 packages test-rust $(VENV)/testing
	@$(MAKE) --no-print-directory test-python

test-rust:       ## tests of the driver and the servers
	MAKEFLAGS= cargo test --workspace --quiet --release

test-python: $(VENV)/testing   ## tests of everything else, real runs and virtual machines included
	@# programs start several times faster with their byte code kept
	@# and tests wait more than they compute: five at a time keep two cores busy
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --numprocesses 5 --dist loadgroup -m "not combination" tests
	@echo "durations: target/test-durations.txt"
	@if [ -s $(SKIPPED) ]; then echo "skipped:"; cat $(SKIPPED); else echo "skipped: nothing"; fi

test-fast:       ## tests without servers, in two minutes, for the daily loop
	@# tests of the driver mostly wait, so those of the package run beside them
	@$(MAKE) --no-print-directory --jobs=2 test-rust test-unit

test-unit: $(VENV)/developing   ## tests of the package without servers
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --numprocesses 3 --dist loadgroup tests/unit

test-combinations: $(VENV)/testing   ## tests of further software and platforms for what `make test` shows once
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --numprocesses 5 --dist loadgroup -m combination tests

test-all: test test-combinations rates sites fleet-trial image   ## test every behaviour many times (hours; resumes after an interruption)

rates: $(VENV)/developing   ## measure how often each property holds, and write docs/evidence/test-rates.md
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m tests.rates $(CASES)

lint: $(VENV)/developing   ## style, types, direction of imports, plain English; warnings are errors
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.prose
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

format: $(VENV)/developing   ## format all sources
	$(BIN)/ruff format
	cargo fmt --all

calibrate: $(VENV)/developing   ## measure in virtual time how often studies are right (hours for many trials)
	$(BIN)/python -m benches.calibrate

bench: $(VENV)/developing   ## measure the driver and the commands against other tools (an hour) and write docs/evidence/performance.md
	@scripts/system-packages nginx wrk h2load
	$(BIN)/python -m benches $(CASES)

fleet-trial: $(VENV)/developing   ## starts on eight hosts and deaths of every part, twenty of each (half an hour, as root)
	@scripts/system-packages ssh nginx
	$(BIN)/python -m tests.fleet.trial starts
	$(BIN)/python -m tests.fleet.trial kills

kvm-trial: wheel   ## try machines by KVM on a host that QEMU emulates (a quarter of an hour): target/kvm-trial/summary.md
	@scripts/system-packages qemu images kernel
	$(BIN)/python -m tests.kvm $(CASES)

sites: $(VENV)/developing   ## record, import and run twelve stock applications (half an hour) and write docs/evidence/stock-applications.md
	@scripts/system-packages chromium h2 mariadb sites
	@scripts/stock-applications target/sites $(PYTHON)
	$(BIN)/python -m tests.sites $(CASES)

fuzz: $(VENV)/developing   ## fuzz importers, the response parser and plans, ten minutes each (needs a nightly Rust and cargo-fuzz)
	for shape in document_of_any_shape visit_of_any_shape; do \
	  timeout $(FUZZ_S) $(BIN)/pytest --quiet --hypothesis-profile fuzz -k $$shape tests/unit/workloads || [ $$? = 124 ] || exit 1; \
	done
	@cargo +nightly fuzz --version > /dev/null 2>&1 || { \
	  echo "needs: rustup toolchain install nightly; cargo +nightly install cargo-fuzz"; exit 2; }
	cargo +nightly fuzz run answer -- -max_total_time=$(FUZZ_S) -timeout=20
	cargo +nightly fuzz run plan -- -max_total_time=$(FUZZ_S) -timeout=20 -rss_limit_mb=3000

mutants: $(VENV)/developing   ## find changes of judge, schedule and record that no test detects (an hour; needs cargo-mutants)
	@cargo mutants --version > /dev/null 2>&1 || { echo "needs: cargo install --locked cargo-mutants"; exit 2; }
	LOADSTONE_PROGRAMS_BUILT=1 $(BIN)/pip install --quiet --editable '.[dev,mutants]'
	cargo mutants --package loadstone-schedule --package loadstone-record --jobs 2 --timeout 10 --output target || true
	rm -rf mutants && $(BIN)/mutmut run --max-children 2 && $(BIN)/mutmut results

schemas: setup   ## write the schemas of documents from the driver's types, and Python's records from them
	for document in plan events simulation simulated discrete-events; do \
	  $(BIN)/loadstone-driver schema $$document > schemas/$$document.json; done
	$(BIN)/python -m schema_records

image: $(VENV)/developing   ## build the container image `loadstone` with podman
	@scripts/system-packages podman
	@scripts/make-image $(BIN)

wheel: $(VENV)/developing   ## build a wheel with the package and its programs: dist/loadstone-*.whl
	@scripts/make-wheel $(BIN)

docs: $(VENV)/documenting   ## the documentation as a site, for use without a network: target/docs/html/index.html
	@rm -rf target/docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --doctree-dir target/docs/trees docs target/docs/html
	@echo "open target/docs/html/index.html"

reference: $(VENV)/developing   ## write the pages of docs/reference from the code
	$(BIN)/python -m docs_reference

checksums:       ## record the checksums of the shipped workloads
	cd src/loadstone/workloads && for name in */workload.toml; do \
	  echo "$$(sha256sum < $$name | cut -d" " -f1) $$(dirname $$name)"; done > sha256sums

clean:           ## remove everything that was built
	rm -rf target $(VENV)

$(VENV)/bin/python:
	@scripts/make-venv $(PYTHON) $(VENV)

$(VENV)/demo: $(SOURCES) | $(VENV)/bin/python
	@echo "building what the demo needs and installing it into $(VENV) (two or three minutes the first time) ..."
	@[ -e $(VENV)/installed ] || scripts/install-programs $(VENV) demo
	@touch $@

$(VENV)/installed: $(SOURCES) | $(VENV)/bin/python
	@echo "building the programs and installing them into $(VENV) (some minutes the first time) ..."
	@scripts/install-programs $(VENV) everything
	@touch $@

# System packages that tests use.
packages:
	@scripts/system-packages libvirt nginx chromium qemu images containers podman kernel dovecot postgresql mariadb php apache tomcat jpa balancers caches nfs ssh h2 tools

$(VENV)/testing: $(VENV)/developing | packages
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt libvirt-python
	@touch $@

$(VENV)/developing: $(VENV)/installed
	@LOADSTONE_PROGRAMS_BUILT=1 $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(VENV)/documenting: pyproject.toml constraints.txt | $(VENV)/bin/python
	@LOADSTONE_PROGRAMS_BUILT=1 $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@
