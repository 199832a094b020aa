# Each target makes its own .venv and installs what it needs once; PYTHON picks the interpreter.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# A worker per core: torch's own threads beside them would only fight over the same cores.
WORKERS ?= auto
# The tests start some hundred processes: with PYTHONDONTWRITEBYTECODE each would compile the packages' sources anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: bench digits overhead import test without-native sanitize races thorough coverage mutants fuzz oldest newest compiled consumers docs lint clean

bench: $(VENV)/.installed-bench $(VENV)/.native
	$(BIN)/python -m bench sigmoid

digits: $(VENV)/.installed-examples
	$(BIN)/python -m examples.digits

overhead: $(VENV)/.installed-bench $(VENV)/.native
	$(BIN)/python -m bench overhead

import: $(VENV)/.installed-bench
	$(BIN)/python -m bench import

# A test that takes five minutes shows where it is, and ends as a failure.
HANGS := -o faulthandler_timeout=300 -o faulthandler_exit_on_timeout=true
# The tests of bench draw its pictures, so they need what it needs.
test: $(VENV)/.installed-bench $(VENV)/.installed-test $(VENV)/.native
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS) $(HANGS)

# A part of the tests by the Python methods alone, which compute where there is no native core.
PYTHON_PART ?= $(addprefix tests/tnp/,array/test_small_arrays.py core/test_promotion.py fft/test_fft.py indexing/test_selection.py)
without-native: $(VENV)/.installed-bench $(VENV)/.installed-test
	TNP_NATIVE=0 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS) $(PYTHON_PART)

# The native core's own tests, and drawn calls, with each access to memory and each sum of integers checked.
SANITIZERS = $(shell $${CXX:-g++} -print-file-name=libasan.so) $(shell $${CXX:-g++} -print-file-name=libubsan.so)
CHECKED = TNP_SANITIZE=1 OMP_NUM_THREADS=1 ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 LD_PRELOAD="$(SANITIZERS)" $(BIN)/python
sanitize: $(VENV)/.installed-bench $(VENV)/.installed-test
	TNP_SANITIZE=1 $(BIN)/python backend_torch/native/build.py --strict
	$(CHECKED) -m pytest -q -k 'not nothing_is_left' tests/tnp/array/test_native_slots.py
	$(CHECKED) -m conformance fuzz --calls $(CALLS)

# The tests of threads, with each access of the native core to memory compared with the other threads'.
RACING = TNP_SANITIZE=thread OMP_NUM_THREADS=1 TSAN_OPTIONS=suppressions=tests/races.supp:die_after_fork=0 \
         LD_PRELOAD="$(shell $${CXX:-g++} -print-file-name=libtsan.so)" $(BIN)/python
races: $(VENV)/.installed-bench $(VENV)/.installed-test
	TNP_SANITIZE=thread $(BIN)/python backend_torch/native/build.py --strict
	$(RACING) -m pytest -q -s -p no:xdist -k thread tests/test_faults.py tests/backend_torch/tensors $(addprefix tests/tnp/,array core/test_interop.py devices transforms/test_tape.py ufunc/test_errstate.py)

# Every combination and a thousand examples of what is drawn: hours.
thorough: $(VENV)/.installed-bench $(VENV)/.installed-test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS) --thorough

# Lines and branches of both packages that the tests run, in the tests' own processes too; less than 95 % of either fails.
# The tracer holds references, which NumPy counts before it resizes an array in place: tests of that fail here.
# The native core, built for it, counts its own lines and branches, of which gcovr leaves out what only throws.
coverage: $(VENV)/.installed-bench $(VENV)/.installed-test $(VENV)/.installed-coverage
	rm -rf build/coverage backend_torch/native/covered-*
	mkdir -p build/coverage
	TNP_SANITIZE=coverage $(BIN)/python backend_torch/native/build.py --strict
	-TNP_SANITIZE=coverage OMP_NUM_THREADS=1 $(BIN)/python -m coverage run -m pytest -q -n $(WORKERS)
	$(BIN)/gcovr --fail-under-line 95
	$(BIN)/gcovr --txt-metric branch
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage report --include='tnp/*' --fail-under=95
	$(BIN)/python -m coverage report --include='backend_torch/*' --fail-under=95

# Errors put into the files of promotion and indexing one by one, and which the tests do not see: hours, in mutants/.
# A name says which: MUTANTS='tnp._core.dtypes.*'. conformance/mutants.md has what is known of them.
mutants: $(VENV)/.installed-test $(VENV)/.installed-mutants
	OMP_NUM_THREADS=1 $(BIN)/python -m mutmut run $(MUTANTS)
	$(BIN)/python -m mutmut results

# Drawn calls on NumPy and tnp, with a seed of their own each time, which is printed: --seed runs them again.
CALLS ?= 300
fuzz: $(VENV)/.installed-test
	OMP_NUM_THREADS=1 $(BIN)/python -m conformance fuzz --calls $(CALLS)

# The tests with the oldest versions that pyproject.toml allows, and with the newest, in environments of their own.
oldest: CONSTRAINTS := -c constraints-oldest.txt
oldest newest:
	$(PYTHON) -m venv build/$@
	build/$@/bin/python -m pip install --quiet $(CONSTRAINTS) -e '.[bench,test]'
	OMP_NUM_THREADS=1 build/$@/bin/python -m pytest -q -n $(WORKERS)

# Part of the tests with each function over xp compiled too; COMPILED=tests for all of them takes an hour.
COMPILED ?= $(addprefix tests/tnp/,creation/test_filled.py indexing/test_diagonals.py manipulation/test_packing.py math/test_mathematics.py signal/test_windows.py statistics/test_histograms.py)
compiled: $(VENV)/.installed-test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS) --compiled=eager $(COMPILED)

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check
	$(BIN)/mypy

# The libraries that take tnp's arrays, run on them; make test skips those that are not installed.
consumers: $(VENV)/.installed-consumers $(VENV)/.installed-test
	$(BIN)/python -m pytest -q tests/test_consumers.py tests/tnp/test_special.py

# The documentation, in docs/_build; a warning is an error. SPHINX='-D nb_execution_mode=off' leaves the tutorials unrun.
SPHINX ?=
docs: $(VENV)/.installed-docs
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -q -W --keep-going -j 2 $(SPHINX) -b html docs docs/_build

COMMA := ,
# The constraints choose torch's version before anything else is resolved. Python compiles what is imported, and
# .native the core. .installed-lint,docs installs what both need at once.
$(VENV)/.installed-%: $(VENV)/.created pyproject.toml constraints.txt
	TNP_NATIVE=0 $(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e '.[$*]'
	touch $(addprefix $(VENV)/.installed-,$(subst $(COMMA), ,$*))

# The native core, with the torch that is installed; where there is no compiler, tnp runs without it.
$(VENV)/.native: backend_torch/native/build.py $(wildcard backend_torch/native/*.cpp backend_torch/native/*.h) | $(VENV)/.installed-bench
	$(BIN)/python backend_torch/native/build.py
	touch $@

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	touch $@

clean:
	rm -rf $(VENV) mutants docs/_build docs/.jupyter_cache docs/jupyter_execute docs/reference/generated build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis bench/results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
