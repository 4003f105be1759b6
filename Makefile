# Two commands set everything up: `make run` and `make test`. Neither needs an activated environment.
PYTHON ?= python3
BIN := .venv/bin
MODEL := tests/models/attention

.PHONY: run test thorough frontends pycuda everywhere fuzz fuzz-fixed harnesses releases docs proofs bless bless-course notebooks \
        site course picture bench clean

# The whole story: attention, dumped from JAX, is verified, interpreted and compiled, and gives what
# XLA gives.
run: .venv/runs
	@mkdir -p build
	@echo "A module from JAX is read and verified:"
	@$(BIN)/hlo verify $(MODEL).hlo
	@echo; echo "The interpreter runs it, and compares with what XLA gave:"
	@$(BIN)/hlo run $(MODEL).hlo --input $(MODEL).npz --expect $(MODEL).npz --quiet
	@echo; echo "The optimizer rewrites it; the last of its rewrites:"
	@$(BIN)/hlo opt $(MODEL).hlo --log -o build/optimized.hlo 2>&1 | tail -n 5
	@echo; echo "It becomes C, which is compiled, called, and compared with XLA and the interpreter:"
	@$(BIN)/hlo run $(MODEL).hlo --platform c --input $(MODEL).npz --expect $(MODEL).npz --quiet
	@$(BIN)/hlo run $(MODEL).hlo --platform c --input $(MODEL).npz --reference interpreter --quiet
	@echo; echo "And CUDA, whose kernels run here on the processor, with a model of a GPU's threads:"
	@$(BIN)/hlo run $(MODEL).hlo --platform cuda-host --input $(MODEL).npz --expect $(MODEL).npz --quiet
	@echo; echo "Every rewrite, with its rule, its proof and the values, for a browser:"
	@$(BIN)/hlo view $(MODEL).hlo -o build/attention.html
	@echo; echo "What next? Read tutorials/00-a-first-parser.md, open build/attention.html, or try"
	@echo "    $(BIN)/hlo step $(MODEL).hlo       walk through the rewrites"
	@echo "    $(BIN)/hlo opt $(MODEL).hlo --stage c"
	@echo "    $(BIN)/hlo --help"

# Containers often set it; then each of the hundreds of processes that tests start compiles PyHLO's
# Python again.
unexport PYTHONDONTWRITEBYTECODE

# Types are checked while tests run: pyright uses one core, and takes a minute.
test: .venv/tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@mkdir -p build
	@$(BIN)/pyright > build/pyright.txt 2>&1 & types=$$!; \
	    echo '$(BIN)/pytest -n 2 -ra -m "not slow" $(ARGS)'; \
	    $(BIN)/pytest -n 2 -ra -m "not slow" $(ARGS); tests=$$?; \
	    wait $$types; types=$$?; echo $(BIN)/pyright; cat build/pyright.txt; \
	    test $$tests = 0 && test $$types = 0
	$(BIN)/python tests/everywhere.py --quick "blas Haswell" "blas SkylakeX" "gcc -march=x86-64-v2" \
	    "clang -march=x86-64-v3"

# All tests, slow ones as well, each of Hypothesis' with 100 examples that nobody has seen: half
# an hour and more.
thorough: .venv/tests
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest -n 2 -ra -m "slow or not slow" $(ARGS)

# The tests as on other machines, a line each: BLAS kernels, threads, Pythons, compilers, processors.
# `make everywhere ROWS="python clang"` runs some of them; `python tests/everywhere.py --help`.
everywhere: .venv/tests
	$(BIN)/python tests/everywhere.py $(ROWS)

# Hours of mutated texts and modules; mistakes go to .fuzz.
fuzz: .venv/tests
	$(BIN)/python -m tests.fuzz --texts 1000000
	$(BIN)/python -m tests.fuzz --modules 50000 --sanitize

# A minute of a processor's time for the same cases each time; CI runs them after the tests.
fuzz-fixed: .venv/tests
	$(BIN)/python -m tests.fuzz --texts 20000 --seed fixed
	$(BIN)/python -m tests.fuzz --modules 1500 --seed fixed --sanitize

# Every harness of JAX's own wheel, 5,594 functions of lax, on PyHLO and on XLA CPU.
# `make harnesses ENGINE=c` compiles them, which takes longer.
ENGINE ?= interpreter
harnesses: .venv/tests
	PYHLO_ALL_HARNESSES=1 PYHLO_HARNESSES_ENGINE=$(ENGINE) $(BIN)/pytest -n 2 -q tests/hlo_jax/test_harnesses.py $(ARGS)

# PyHLO's tests of JAX with the last six releases of JAX, each installed in a folder of its own.
releases: .venv/tests
	$(BIN)/python tests/hlo_jax/releases.py $(ARGS)

# The front ends with the frameworks themselves, each in an environment of its own, .venv-NAME:
# hundreds of MB to download, once. `make frontends FRONTENDS=tf` runs one of them.
# tests/hlo_NAME/requirements.txt says which build is tested: torch without CUDA.
FRONTENDS ?= tf torch
frontends: $(FRONTENDS:%=.venv-%/tests)
	@for name in $(FRONTENDS); do \
	    echo ".venv-$$name/bin/pytest -q tests/hlo_$$name $(ARGS)"; \
	    .venv-$$name/bin/pytest -q tests/hlo_$$name $(ARGS) || exit 1; done

.venv-%/tests: pyproject.toml tests/hlo_%/requirements.txt
	test -x .venv-$*/bin/python || $(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet --no-deps --requirement tests/hlo_$*/requirements.txt
	.venv-$*/bin/python -m pip install --quiet --editable '.[$*]' pytest pytest-xdist hypothesis sybil
	@touch $@

# PyCUDA, for a machine without a GPU or a toolkit, some minutes; tests then drive it on a stand-in
# for NVIDIA's driver.
pycuda: .venv/tests
	$(BIN)/python tests/emit_cuda/stand_in/build.py
	$(BIN)/pytest -q tests/emit_cuda/test_gpu.py

# The pages of docs/ that are written by the program itself.
docs: .venv/tests
	$(BIN)/hlo explain --all > docs/codes.md
	$(BIN)/python -m hlo_tools.drawing.pictures.railroad docs
	$(BIN)/python -m hlo_tools.drawing.graphs.house docs
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

# The chapters as notebooks, in build/notebooks; and all pages as a site, in build/site.
notebooks: .venv/runs
	$(BIN)/python tutorials/export.py notebooks build/notebooks

site: .venv/runs
	$(BIN)/python -m pip install --quiet --editable '.[site]'
	$(BIN)/python tutorials/export.py pages build/pages
	$(BIN)/zensical build --config-file build/zensical.toml

# The course, whole, before a release: every wrong answer, every planted bug, and all notebooks, run
# in an environment that is made for them. Ten minutes, and a network.
course: .venv/tests
	$(BIN)/pytest -n 2 --dist loadfile -q -m slow tests/course $(ARGS)

# The README's picture: the viewer's page, at a rewrite, as a browser without a window shows it.
BROWSER ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
picture: .venv/runs
	@test -n "$(BROWSER)" || { echo "This needs Chromium or Chrome (Debian: apt install chromium)," \
	    "or BROWSER=/where/it/is"; exit 1; }
	@mkdir -p build
	$(BIN)/hlo view tutorials/models/attention.hlo -o build/view.html --passes \
	    algebraic-simplifier,cse,transpose-folding,dce,fusion,multi-output-fusion,hlo-memory-scheduler
	$(BROWSER) --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1400,520 \
	    --virtual-time-budget=5000 --screenshot=$(CURDIR)/docs/pictures/view.png \
	    "file://$(CURDIR)/build/view.html#pass=1&step=3&i=multiply"

bench: .venv/benchmarks
	$(BIN)/python -m benchmarks.parse
	$(BIN)/python -m benchmarks.interpret
	$(BIN)/python -m benchmarks.compiled

clean:
	rm -rf .venv .venv-* build dist .pytest_cache .ruff_cache .hypothesis

.venv/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "PyHLO needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@touch $@

.venv/runs: .venv/python pyproject.toml
	@echo "PyHLO and the libraries that it needs are installed into .venv, once; it takes a minute."
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/tests: .venv/runs
	$(BIN)/python -m pip install --quiet --editable '.[test,dev]'
	@touch $@

.venv/benchmarks: .venv/tests
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	@touch $@
