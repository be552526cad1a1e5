# Everything is made from a clone with Python 3.11 or newer and make. `make` alone lists the targets.
#
# Whatever the making has to say goes to stderr, and it reads nothing: the standard streams of `make run` belong to
# the daemon.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PACKAGES := daemon engine book protocol clients
PYTHON ?= python3 python3.14 python3.13 python3.12 python3.11
ARGS ?=

.PHONY: docs help run web warmup compiled style test test-core test-all dist installs windows-zip linux-tarball windows arm64 coverage coverage-kernels acceptance lint bench starter-book lock clean FORCE

help:
	@echo "make run         start the daemon (ARGS='-level 16' passes options)"
	@echo "make web         a board in the browser (ARGS='--book my.book' passes options)"
	@echo "make test        linters, types and the test suite"
	@echo "make coverage    the test suite with the coverage of the Python part, and its floor"
	@echo "make acceptance  the tests that take minutes each; build/acceptance/log is kept"
	@echo "make lint        linters and types only"
	@echo "make coverage-kernels  the lines of the kernels that the tests reach, with kernels run as Python (half an hour)"
	@echo "make bench       measure the engine (ARGS=startup picks one measurement)"
	@echo "make starter-book  make the book that ships again, from WTHOR=FOLDER (an hour)"
	@echo "make docs        the documentation as a site in build/site"
	@echo "make warmup      compile the search for this machine"
	@echo "make lock        write requirements.lock anew from the newest releases"
	@echo "make dist        the source archive, the wheel and an SBOM in dist/, reproducible and checked"
	@echo "make installs    install those with uv, pipx, pip --user and from the archive, without a network"
	@echo "make windows-zip  a zip for Windows that needs nothing installed, in build/windows"
	@echo "make linux-tarball  a folder for Linux that needs nothing installed, not even Python, in build/linux"
	@echo "make windows     run that zip under Wine and compare it with Linux (ARGS='prefix book' names steps)"
	@echo "make test-all    the small suites with the Pythons that are here, the oldest and the newest libraries"
	@echo "make arm64       compile, search, grow a book and serve as an emulated ARM64 machine (root, an hour)"
	@echo "make clean       remove what make has made, compiled code excepted"

run: compiled
	@exec $(BIN)/desdaemon $(ARGS)

web: compiled $(VENV)/.installed-web
	@exec $(BIN)/desdaemon web $(ARGS)

warmup: $(VENV)/.installed
	@$(BIN)/desdaemon warmup >&2 </dev/null

# Silent where nothing is to be done.
compiled: $(VENV)/.installed
	@$(BIN)/desdaemon warmup --check >/dev/null 2>&1 </dev/null || { \
	  echo "compiling the engine for this machine" >&2; $(BIN)/desdaemon warmup >&2 </dev/null; }

bench: compiled
	@exec $(BIN)/desdaemon bench $(ARGS)

# The book that ships, book/data/starter.txt.xz, from the games in WTHOR/WTH_*.wtb. After a kill the same command goes
# on; build/starter-book is the book that grows. docs/book.md explains the numbers. Each `book answer` searches what is
# new alone; in another order it would end with other lines.
WTHOR ?= $(error WTHOR=FOLDER names the folder of WTH_1977.wtb and so on)
GROWING := build/starter-book/starter.book

starter-book: compiled
	@mkdir -p build/starter-book book/data
	@[ -e $(GROWING) ] || printf '%s\n' 'book new 18 36' 'book save $(GROWING)' | \
	  $(BIN)/desdaemon -q --config none
	@printf '%s\n' 'book add openings --unsearched' 'book add "$(WTHOR)/WTH_*.wtb" --played 4' \
	  'book answer "$(WTHOR)/WTH_*.wtb" --level 10 --plies 6 --played 5' \
	  'book answer "$(WTHOR)/WTH_*.wtb" --level 16 --plies 6 --played 20' \
	  'book answer "$(WTHOR)/WTH_*.wtb" --level 10 --plies 6 --played 2' \
	  'book answer "$(WTHOR)/WTH_*.wtb" --level 16 --plies 6 --played 2' \
	  'book answer "$(WTHOR)/WTH_*.wtb" --level 16 --plies 6' 'book verify' \
	  'book export book/data/starter.txt.xz' 'book info' | $(BIN)/desdaemon -q --config none -book-file $(GROWING)

lint: style types-linux types-darwin types-win32

style: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types-%: $(VENV)/.installed-dev
	$(BIN)/mypy --platform $* --cache-dir .mypy_cache/$*

# What a system has is asked alone, in a third of the time; the file says what is left out.
names-%: $(VENV)/.installed-dev
	$(BIN)/mypy --platform $* --cache-dir .mypy_cache/names-$* --config-file tests/support/names_elsewhere.ini

# The slowest tests are told at the end; build/durations.json has how long each took. Three processes, whole files each:
# tests wait for a fifth of their time; more processes would disturb each other, because the daemons of the tests search
# with threads of their own. Types are checked in the time that they and the making of the kernels wait; those for
# Windows and macOS as a whole by `make lint` alone.
#   make test WHAT=clients/bot     the tests of one part: folders or files below tests/
#   make test-core                 those of the core alone
# Bytecode is kept, whatever PYTHONDONTWRITEBYTECODE says: tests start thousands of processes, each of which would compile
# what it imports.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -m 'not slow' -n 3 --dist loadfile --durations=15 $(ARGS)

test: style
ifdef WHAT
	@$(MAKE) -s compiled types-linux
	$(PYTEST) $(WHAT:%=tests/%)
else
	@mkdir -p build
	@nice -n 19 $(MAKE) -s types-linux names-win32 >build/types.log 2>&1 & types=$$!; \
	  $(MAKE) -s compiled && $(PYTEST); status=$$?; wait $$types || { cat build/types.log >&2; status=1; }; exit $$status
endif

test-core: style types-linux compiled
	$(PYTEST) $$($(BIN)/python tests/support/core_tests.py)

# The floor is in pyproject.toml; processes that the tests start count too.
coverage: $(VENV)/.installed-dev compiled
	@rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/coverage run -m pytest -m 'not slow' $(ARGS)
	@$(BIN)/coverage combine -q && $(BIN)/coverage report

# Kernels run as Python can be traced; the thousandfold slower search decides how long it takes, and tests/conftest.py
# how much processor time a test has. Runs with ARGS add up: build/coverage/kernels keeps their lines until it is
# removed. From Python 3.12 on tracing costs next to nothing, before it doubles the time.
KERNEL_TESTS := tests/engine tests/book
CORE = $(shell $(BIN)/python -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")')

coverage-kernels: $(VENV)/.installed-dev compiled
	@mkdir -p build/coverage
	@printf '[run]\ninclude = %s/engine/kernels/*\n    %s/book/kernels/*\n    %s/book/*/kernels.py\npatch = subprocess\ndisable_warnings = no-data-collected\ndata_file = %s\n' \
	  "$(CURDIR)" "$(CURDIR)" "$(CURDIR)" "$(CURDIR)/build/coverage/kernels" > build/coverage/settings
	@export DESDAEMON_KERNELS=python PYTHONPATH=tests/support COVERAGE_CORE=$(CORE) COVERAGE_RCFILE=build/coverage/settings; \
	  $(BIN)/coverage run -m pytest -q -rs --timeout=3600 -n auto --maxprocesses 2 --dist loadfile \
	  -m 'not slow and not compiled' $(or $(ARGS),$(KERNEL_TESTS)); status=$$?; \
	  $(BIN)/coverage combine -q -a; $(BIN)/coverage report --skip-empty -m; exit $$status

# The log is kept, and says at its beginning and its end what could not be tried for want of a program.
acceptance: $(VENV)/.installed-dev $(VENV)/.installed-docs compiled
	@mkdir -p build/acceptance
	@bash -o pipefail -c '{ $(BIN)/python tests/support/programs.py && \
	  $(BIN)/python -m pytest -m slow -rs --timeout=3600 --durations=15 $(ARGS); } 2>&1 | tee build/acceptance/log'

docs: $(VENV)/.installed-docs
	@$(BIN)/mkdocs build -q
	@echo "build/site/index.html"

# $(call counted,TEXT,COMMANDS): at a terminal the seconds that the commands take are counted behind the text.
define counted
printf '%s ' "$(1)" >&2; [ -t 2 ] || echo >&2; \
  { n=0; [ ! -t 2 ] || while sleep 1 && kill -0 $$$$ 2>/dev/null; do \
    n=$$((n + 1)); printf '\r%s %d s ' "$(1)" $$n >&2; done; } & counter=$$!; \
  { $(2); }; status=$$?; kill $$counter 2>/dev/null; [ ! -t 2 ] || echo >&2; exit $$status
endef

# The locked releases where they can be had; elsewhere (a newer Python, a partial mirror) what pyproject.toml allows.
# Bytecode at once, whatever PYTHONDONTWRITEBYTECODE says: without it each start compiles what it imports. By all
# processors, which pip does not use, and not of what is hardly ever imported, half of it all. Every installation makes
# the tree of links anew, without bytecode.
SELDOM := /(tests|mypy|mypyc|pip|pygments)/

define install
	@$(call counted,installing $(1),{ \
	  { $(PIP) install -q --no-compile -c requirements.lock 'setuptools>=77' || \
	    $(PIP) install -q --no-compile 'setuptools>=77'; } && \
	  { $(PIP) install -q --no-compile -c requirements.lock $(2) 2>/dev/null || { \
	    echo "the locked releases are not to be had here; taking others" >&2; \
	    $(PIP) install -q --no-compile $(2); }; }; \
	} >&2 </dev/null)
	@ls -dt build/__editable__* 2>/dev/null | tail -n +2 | xargs rm -rf
	@$(call counted,preparing its files,$(BIN)/python -m compileall -qq -j 0 -x '$(SELDOM)' \
	  $(VENV)/lib/python*/site-packages build/__editable__* >&2 </dev/null || true)
	@touch $@
endef

# Strict: a tree of links that other tools can read, not an import hook. It has to be made again for a new file.
EDITABLE := --no-build-isolation --config-settings editable_mode=strict -e

NEEDED := pyproject.toml requirements.lock $(VENV)/.files

$(VENV)/.installed: $(NEEDED)
	$(call install,desdaemon in $(VENV),$(EDITABLE) .)

# At once, so that a machine which begins with the tests installs the program a single time.
$(VENV)/.installed-dev: $(NEEDED)
	$(call install,desdaemon and the tools for tests in $(VENV),$(EDITABLE) '.[dev]')
	@touch $(VENV)/.installed

$(VENV)/.installed-web: $(VENV)/.installed
	$(call install,what the board in the browser needs in $(VENV),$(EDITABLE) '.[web]')

$(VENV)/.installed-docs: $(VENV)/.installed
	$(call install,the tools for the site in $(VENV),$(EDITABLE) '.[docs]')

# The names of all source files and the place of the checkout; touched only when one of them changes. Two makes may look
# at once.
$(VENV)/.files: FORCE $(VENV)/.created
	@new=$@.$$$$; { pwd; find $(PACKAGES) -type f ! -path '*/__pycache__/*' | LC_ALL=C sort; } >$$new; \
	  cmp -s $$new $@ && rm $$new || mv $$new $@

$(VENV)/.created:
	@for python in $(PYTHON); do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >&2 2>/dev/null </dev/null; then \
	    $(call counted,creating $(VENV) with $$python,$$python -m venv $(VENV) >&2 </dev/null && touch $@); \
	  fi; \
	done; \
	echo "no Python 3.11 or newer among: $(PYTHON) (name one with make PYTHON=...)" >&2; exit 1

# The tools of packaging and of the matrix, in no version of their own: they check what is made, and are not part of it.
TOOLS := build/tools

$(TOOLS)/.installed: $(VENV)/.created
	@$(BIN)/python -m venv $(TOOLS)
	@$(call counted,installing the tools of packaging in $(TOOLS),\
	  $(TOOLS)/bin/pip install -q --disable-pip-version-check twine check-wheel-contents uv pipx >&2 </dev/null)
	@touch $@

dist: $(VENV)/.installed $(TOOLS)/.installed
	@$(BIN)/python .ci/dist.py dist
	@$(TOOLS)/bin/twine check --strict dist/*.tar.gz dist/*.whl
	@$(TOOLS)/bin/check-wheel-contents dist/*.whl

# What has to be downloaded is in build/wheels before anything is installed.
INSTALL_PYTHON ?= $(shell readlink -f $(BIN)/python)
installs: dist
	@mkdir -p build/wheels
	@$(call counted,downloading what desdaemon needs,\
	  $(INSTALL_PYTHON) -m pip download -q -d build/wheels dist/*.whl 'setuptools>=77' >&2 </dev/null)
	@$(BIN)/python .ci/installs.py dist build/wheels $(TOOLS) $(INSTALL_PYTHON) $(ARGS)

# Reproducible; with Python 3.11 and what requirements.lock names. docs/windows.md and docs/install.md say what is in
# them.
windows-zip linux-tarball: dist
	@$(BIN)/python .ci/standalone.py $(firstword $(subst -, ,$@)) dist/*.whl build/$(firstword $(subst -, ,$@))

# Needs Debian's package wine. ARGS='prefix book' names steps, TESTS=tests/book the tests; docs/windows.md says more.
windows: windows-zip $(VENV)/.installed-dev
	@mkdir -p build/wine
	@bash -o pipefail -c '$(BIN)/python .ci/wine.py build/windows/*.zip build/wine $(ARGS) 2>&1 | tee build/wine/log'

# ARGS='3.11:oldest' picks a cell; build/matrix has the logs.
test-all: $(TOOLS)/.installed
	@$(BIN)/python .ci/matrix.py $(abspath $(TOOLS))/bin/uv $(ARGS)

# Heavy; needs root and Debian's packages: the file says what. docs/platforms.md has the log of a run.
arm64: dist
	@mkdir -p build/arm64
	@bash .ci/arm64.sh build/arm64 dist/*.whl $(BIN)/pip $(ARGS)

lock:
	@rm -rf build/lock && for python in $(PYTHON); do $$python -m venv build/lock && break; done
	@build/lock/bin/python -m pip --disable-pip-version-check install -q 'setuptools>=77' '.[dev,docs]'
	@{ sed '/^[^#]/,$$d' requirements.lock; \
	  build/lock/bin/python -m pip freeze --all | grep '^[A-Za-z0-9._-]*==' | grep -v '^\(pip\|desdaemon\)=='; \
	} >build/lock/requirements.lock && mv build/lock/requirements.lock requirements.lock && rm -rf build/lock

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(PACKAGES) tests -name __pycache__ -prune -exec rm -rf {} +
