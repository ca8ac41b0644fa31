# On a fresh machine with Python 3.11 or newer and a package index:
#   make install sets up .venv with the pinned versions
#   make demo    policies side by side on a Spark cluster of this machine, with a report in reports/
#   make test    all tests, those on a real Spark cluster too

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PAPER := reports/paper-random-walk
DEMO := reports/hft
EXAMPLES := tests/end_to_end/spark/test_examples.py
LONG := $(addprefix tests/end_to_end/spark/,test_asked_sources.py test_lost_executors.py test_replay.py)

.PHONY: install demo paper test test-core test-spark test-commands test-examples test-long test-platforms test-kafka package check format docs lock java chromium clean force
.NOTPARALLEL:

install: $(INSTALLED) java

# Under seven minutes a policy. It needs Java; `make paper` does not.
demo: $(INSTALLED) java
	$(BIN)/foresight bench hft --report $(DEMO).html --json $(DEMO).json

# The MPC paper's comparison, in simulation.
paper: $(INSTALLED)
	$(BIN)/foresight bench paper-random-walk --repeat 3 --curve 1 --report $(PAPER).html --json $(PAPER).json

test: test-core test-spark

test-core: $(INSTALLED) java chromium
	$(BIN)/pytest -n 2 --dist loadscope -m "not spark and not commands and not platforms and not kafka"

# On real Spark clusters of this machine; the tests that share a driver stay in one process.
test-spark: $(INSTALLED) java
	$(BIN)/pytest -n 2 --dist loadgroup --durations 8 -m spark tests/end_to_end/spark \
		$(addprefix --ignore=,$(EXAMPLES) $(LONG))

# Every command that README and docs show, shortened by its own options; two minutes.
test-commands: $(INSTALLED)
	$(BIN)/pytest -n 2 -m commands tests/end_to_end

# The examples as the documentation starts them; two minutes.
test-examples: $(INSTALLED) java
	$(BIN)/pytest -m spark $(EXAMPLES) tests/runtime/tuning/test_on_spark.py

# Spark's Kubernetes scheduler; two minutes.
test-platforms: $(INSTALLED) java
	$(BIN)/pytest --durations 8 -m platforms tests/platforms

# A broker and Spark's source for it come by Maven; skipped where it is out of reach.
test-kafka: $(INSTALLED) java
	$(BIN)/pytest --durations 8 -m kafka tests/platforms/kafka

# Whole waves of load and lost executors on a cluster, which take minutes each.
test-long: $(INSTALLED) java
	$(BIN)/pytest -m spark $(LONG)

package: $(INSTALLED)
	scripts/package.sh $(VENV) dist

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The files generated from the configuration schemas.
docs: $(INSTALLED)
	$(BIN)/python -m runtime.documents

# Pins the newest versions that pyproject.toml allows.
lock:
	scripts/lock.sh

java:
	@scripts/java.sh $(VENV)/.java-missing

# For the tests of the page.
chromium:
	@scripts/chromium.sh $(VENV)/.chromium-missing

# The stamp holds the folder it was made in: a moved checkout is installed anew.
$(INSTALLED): pyproject.toml constraints.txt scripts/install.sh
	@scripts/install.sh $(VENV)
	@echo "$(CURDIR)" >$@

ifneq ($(shell cat $(INSTALLED) 2>/dev/null),$(CURDIR))
$(INSTALLED): force
endif

clean:
	rm -rf $(VENV) build dist reports *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
