# Two commands set everything up: `make run` and `make test`. Neither needs an activated environment.
PYTHON ?= python3
BIN := .venv/bin
SOFTMAX := tests/models/softmax_layer

.PHONY: run test everywhere fuzz harnesses docs proofs bless bless-course bench clean

# The main job: a dense softmax layer, dumped from JAX, is parsed, verified, printed, run, and its
# value compared with XLA's.
run: .venv/runs
	$(BIN)/hlo verify $(SOFTMAX).hlo
	$(BIN)/hlo print $(SOFTMAX).hlo
	$(BIN)/hlo run $(SOFTMAX).hlo --input $(SOFTMAX).npz --expect $(SOFTMAX).npz

test: .venv/tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/pytest -n 2 -ra -m "not slow" $(ARGS)
	$(BIN)/python tests/everywhere.py --quick blas "gcc -march=x86-64-v2" "clang -march=x86-64-v3"

# The tests as on other machines, a line each: BLAS kernels, threads, Pythons, compilers, processors.
# `make everywhere ROWS="python clang"` runs some of them; `python tests/everywhere.py --help`.
everywhere: .venv/tests
	$(BIN)/python tests/everywhere.py $(ROWS)

# Hours of mutated texts and modules; mistakes go to .fuzz.
fuzz: .venv/tests
	$(BIN)/python -m tests.fuzz --texts 1000000
	$(BIN)/python -m tests.fuzz --modules 50000 --sanitize

# Every harness of JAX's own wheel, 5,594 functions of lax, on PyHLO and on XLA CPU.
harnesses: .venv/tests
	PYHLO_ALL_HARNESSES=1 $(BIN)/pytest -n 2 -q tests/hlo_jax/test_harnesses.py $(ARGS)

# The pages of docs/ that are written by the program itself.
docs: .venv/tests
	$(BIN)/hlo explain --all > docs/codes.md
	$(BIN)/python -m hlo_tools.views.railroad docs
	$(BIN)/python -m hlo_tools.reference docs

# Proves the rules that are new or were changed, and writes down what came of it.
proofs: .venv/tests
	$(BIN)/hlo rules --prove --record

# Rewrites the expected halves of golden tests, where interpreter and verifier agree.
bless: .venv/tests
	$(BIN)/pytest --bless -q

# Rewrites what chapters and pages show: look at what changed.
bless-course: .venv/tests
	$(BIN)/pytest --bless -q tests/course/test_chapters.py tests/course/test_docs.py

bench: .venv/benchmarks
	$(BIN)/python -m benchmarks.parse
	$(BIN)/python -m benchmarks.interpret
	$(BIN)/python -m benchmarks.compiled

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis

.venv/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "PyHLO needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@touch $@

.venv/runs: .venv/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/tests: .venv/runs
	$(BIN)/python -m pip install --quiet --editable '.[test,dev]'
	@touch $@

.venv/benchmarks: .venv/tests
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@
