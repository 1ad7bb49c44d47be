# Needs Python >= 3.11 and make, nothing else. Another interpreter: make demo PYTHON=/path/to/python3

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip install --quiet --quiet --disable-pip-version-check

# Two workers share the processors. Threads of BLAS that wait for one another there cost up to 40 times the work.
ONE_BLAS_THREAD := OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 OMP_NUM_THREADS=1

# The first interpreter that runs, is new enough and can make a virtual environment.
SUITS := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3 python; do \
	"$$p" -c '$(SUITS)' >/dev/null 2>&1 && echo "$$p" && break; done)

.PHONY: help demo snapshot snapshot-keep test test-cold test-ecosystem test-endurance test-forgeries test-fuzz test-honest test-lab test-matrix test-sklearn test-stops lint bench docs dist clean
.NOTPARALLEL:
.DEFAULT_GOAL := help

help:
	@echo "make demo            train, certify, check, save and load models on data that scikit-learn ships"
	@echo "make test            the tests, in two workers"
	@echo "make test-cold       every estimator and command in a new process without compiled kernels (up to 20 minutes)"
	@echo "make test-ecosystem  ONNX, skops, shap, mlflow and others with our models (they are installed: half a gigabyte)"
	@echo "make test-endurance  20,000 fits in one process, 32 at once, forks, loky, little memory, Ctrl-C twice (half an hour)"
	@echo "make test-forgeries  a million altered model documents, each judged (40 minutes of processor time)"
	@echo "make test-fuzz       20,000 mutated files of each kind, read in processes of their own (half an hour)"
	@echo "make test-honest     5,000 random honest problems, each judged (a quarter of an hour)"
	@echo "make test-lab        the lab in a real browser (Playwright is installed, Chromium has to be there)"
	@echo "make test-matrix     every estimator x data x option combination (up to 40 minutes)"
	@echo "make test-sklearn    scikit-learn's own tests with our classes in place of its (half an hour)"
	@echo "make test-stops      Ctrl-C at 400 moments of every public call; 100 fits of half a second (20 minutes, a quiet machine)"
	@echo "make snapshot-keep   what 500 calls come to, to the bit, kept in SNAPSHOT=file (build/snapshot.json)"
	@echo "make snapshot        the same calls again, compared with what was kept"
	@echo "make lint            ruff, mypy and the arrows between the rooms"
	@echo "make bench           gapless against its peers, same objective, one judge"
	@echo "make docs            the documentation, into docs/_build/html"
	@echo "make dist            source archive, wheel, and a wheel with compiled kernels, into dist/"
	@echo "make clean           remove everything that these commands made"

demo: $(VENV)/.report
	@$(PY) -m gapless demo

test: $(VENV)/.test
	@$(PY) -m gapless warmup
	$(ONE_BLAS_THREAD) $(PY) -m pytest -n 2 --dist worksteal -m "not slow and not matrix and not gpu and not cold and not browser and not ecosystem and not alone"
	$(PY) -m pytest -m "alone and not cold"

test-cold: $(VENV)/.test
	@$(PY) -m gapless warmup
	$(PY) -m pytest -n 2 --dist worksteal -m cold

test-ecosystem: $(VENV)/.test $(VENV)/.ecosystem
	$(PY) -m pytest -m ecosystem tests/ecosystem

test-sklearn: $(VENV)/.test
	@$(PY) -m gapless warmup
	$(PY) -m tests.sklearn_suite.run

test-endurance: $(VENV)/.test
	@$(PY) -m gapless warmup
	$(PY) -m pytest -s -m slow tests/package/test_endurance.py

test-forgeries: $(VENV)/.test
	@$(PY) -m gapless warmup
	GAPLESS_FORGERIES=1000000 $(PY) -m pytest -s -m slow tests/judge/test_generic_forger.py

test-fuzz: $(VENV)/.test
	@$(PY) -m gapless warmup
	GAPLESS_FUZZ=$${GAPLESS_FUZZ:-20000} $(PY) -m pytest -s -m slow tests/fuzz

test-honest: $(VENV)/.test
	@$(PY) -m gapless warmup
	$(PY) -m pytest -s -m slow tests/judge/test_honest_fits.py

test-lab: $(VENV)/.test
	@$(PIP) playwright axe-playwright-python jupyterlab marimo
	@command -v chromium chromium-browser >/dev/null || echo "there is no Chromium here: apt install chromium"
	@$(PY) -m gapless warmup
	$(PY) -m pytest -m browser tests/lab

test-matrix: $(VENV)/.test
	@$(PY) -m gapless warmup
	$(PY) -m pytest -n 2 --dist worksteal -m matrix

test-stops: $(VENV)/.test
	@$(PY) -m gapless warmup
	$(PY) -m pytest -s -m slow tests/package/test_stops.py tests/package/test_signals.py
	$(PY) -m tests.package.time_limits

# The gate of a change that should change no answer: keep before, compare after, on one machine.
SNAPSHOT ?= build/snapshot.json

snapshot-keep: $(VENV)/.test
	@mkdir -p "$(dir $(SNAPSHOT))"
	$(PY) -m tests.package.snapshot keep "$(SNAPSHOT)"

snapshot: $(VENV)/.test
	$(PY) -m tests.package.snapshot compare "$(SNAPSHOT)"

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The peers are wanted, not needed: where one cannot be installed the benchmark says what it left out.
bench: $(VENV)/.core
	@$(PIP) --editable ".[bench]" || echo "the peers cannot all be installed here; going on with those that are there"
	@$(PY) -m benchmarks

docs: $(VENV)/.docs
	$(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

dist: $(VENV)/.dist
	rm -rf dist
	$(PY) -m build --outdir dist .
	$(PY) packaging/kernel_wheel.py dist/gapless-*-py3-none-any.whl

clean:
	rm -rf $(VENV) build dist gapless-demo docs/_build docs/reference docs/notebooks .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis fuzz-found
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is touched only when its installation has gone through, so an interrupted one is simply done again.
$(VENV)/.python:
	@if [ -z "$(PYTHON)" ]; then \
		echo "gapless needs Python 3.11 or newer with its venv module, and none was found as python3.14 ... python3."; \
		echo "python3 is $$(python3 --version 2>/dev/null || echo not there). Install a newer one, or name it:"; \
		echo "    make demo PYTHON=/path/to/python3"; \
		exit 1; \
	elif ! "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		echo "gapless needs Python 3.11 or newer; $(PYTHON) is $$("$(PYTHON)" --version 2>&1)."; \
		echo "Name another one: make demo PYTHON=/path/to/python3"; \
		exit 1; \
	elif ! "$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null; then \
		echo "$(PYTHON) lacks venv or ensurepip, which make the virtual environment."; \
		echo "On Debian and Ubuntu: apt install python3-venv. Or name another one: make demo PYTHON=/path/to/python3"; \
		exit 1; \
	fi
	@echo "$$("$(PYTHON)" --version): making $(VENV)"
	@"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.python pyproject.toml
	@echo "installing gapless into $(VENV)"
	@started=$$(date +%s); $(PIP) --editable . && echo "installed in $$(($$(date +%s) - started)) s"
	@touch $@

$(VENV)/.report $(VENV)/.test $(VENV)/.lint $(VENV)/.docs $(VENV)/.ecosystem: $(VENV)/.%: $(VENV)/.core
	@echo "installing what '$*' needs"
	@started=$$(date +%s); $(PIP) --editable ".[$*]" && echo "installed in $$(($$(date +%s) - started)) s"
	@touch $@

$(VENV)/.dist: $(VENV)/.core
	@$(PIP) "build>=1.2"
	@touch $@
