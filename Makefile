# What CI runs and what a newcomer runs. Needs Python 3.11 or newer and make; the first target sets up .venv once.
# Afterwards everything works without a network.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/.installed-$(shell cksum < requirements.lock | cut -d' ' -f1)
LINKED := .venv/.linked-$(shell cat pyproject.toml requirements.lock | cksum | cut -d' ' -f1)
FUZZER_BIN := .venv-schemathesis/bin
FUZZER := .venv-schemathesis/.installed-$(shell cksum < requirements-schemathesis.lock | cut -d' ' -f1)
VENDORS_BIN := .venv-vendors/bin
VENDORS := .venv-vendors/.installed-$(shell cksum < requirements-vendors.lock | cut -d' ' -f1)
SPECS_BIN := .venv-specs/bin
SPECS := .venv-specs/.installed-$(shell cksum < requirements-specs.lock | cut -d' ' -f1)
# What programs of node's world the tests use, each set of them where its lock is.
NODE_PACKAGES := $(patsubst %/package-lock.json,%/node_modules/.package-lock.json, \
  $(wildcard tests/contract/*/package-lock.json tests/e2e/*/package-lock.json tests/integration/*/*/*/package-lock.json))
PURE := tests/unit tests/laws
WORKERS ?= 3

# Many containers set it: then every process compiles all that it imports, which takes it twice as long to start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup fetch demo test fmt lint bench chaos limits standing schemas schemathesis fuzzer specs coverage mutation asyncapi axe webhooks mcp vendors lock wheel clean

help:  ## this list
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' Makefile

# uv is installed from the lock itself and then installs the rest (7 s); where it cannot reach an index that pip
# is set up for, pip does it (40 s). Both check every hash.
$(INSTALLED): requirements.lock
	@echo "setting up .venv" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@awk '/^uv==/{keep=1; print; next} /^ /{if (keep) print; next} {keep=0}' requirements.lock > .venv/uv.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r .venv/uv.lock
	@VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/uv pip install --quiet --require-hashes -r requirements.lock \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@rm -f .venv/.installed-* && touch $@

$(LINKED): $(INSTALLED)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --editable .
	@rm -f .venv/.linked-* && touch $@

# Its dependencies bind ours to older versions: it lives in an environment of its own.
$(FUZZER): requirements-schemathesis.lock | $(INSTALLED)
	@test -x $(FUZZER_BIN)/python || $(PYTHON) -m venv --without-pip .venv-schemathesis
	@VIRTUAL_ENV=$(CURDIR)/.venv-schemathesis $(BIN)/uv pip install --quiet --require-hashes -r $< \
	  || $(BIN)/python -m pip --python $(FUZZER_BIN)/python install --quiet --disable-pip-version-check --require-hashes -r $<
	@rm -f .venv-schemathesis/.installed-* && touch $@

# As the fuzzer: these bind ours to other versions.
$(VENDORS): requirements-vendors.lock | $(INSTALLED)
	@test -x $(VENDORS_BIN)/python || $(PYTHON) -m venv --without-pip .venv-vendors
	@VIRTUAL_ENV=$(CURDIR)/.venv-vendors $(BIN)/uv pip install --quiet --require-hashes -r $< \
	  || $(BIN)/python -m pip --python $(VENDORS_BIN)/python install --quiet --disable-pip-version-check --require-hashes -r $<
	@rm -f .venv-vendors/.installed-* && touch $@

# Like the fuzzer: an environment of its own, for the mock that tests of imports call.
$(SPECS): requirements-specs.lock | $(INSTALLED)
	@test -x $(SPECS_BIN)/python || $(PYTHON) -m venv --without-pip .venv-specs
	@VIRTUAL_ENV=$(CURDIR)/.venv-specs $(BIN)/uv pip install --quiet --require-hashes -r $< \
	  || $(BIN)/python -m pip --python $(SPECS_BIN)/python install --quiet --disable-pip-version-check --require-hashes -r $<
	@rm -f .venv-specs/.installed-* && touch $@

# The lock is the whole of it: no script of a package runs when it is installed.
%/node_modules/.package-lock.json: %/package-lock.json
	@cd $* && npm ci --silent --no-audit --no-fund --ignore-scripts && touch node_modules/.package-lock.json

setup: $(LINKED)  ## create .venv from requirements.lock (once)

fetch: $(FUZZER) $(VENDORS) $(if $(shell command -v npm),$(NODE_PACKAGES) specs)  ## all that tests use besides (`make -j4 fetch`)

demo: setup  ## calls of every kind on embedded servers, then a verified log
	@$(BIN)/toolbus demo

# Most tests wait for processes: more of them at once than there are processors.
test: setup  ## every test, three at a time (WORKERS=0: one after the other, in this process)
	@$(BIN)/python -m pytest -n $(WORKERS)

fmt: setup  ## format, and mend what can be mended
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

lint: setup  ## formatting, lint, types, layers
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

bench: setup  ## the numbers of the design, measured
	@$(BIN)/python -m bench

# RUNS=200 DOCS=1, and RUNS=2 CALLS=10000 FAULTS=none DOCS=1, write their parts of docs/reliability.md.
chaos: setup  ## break everything on purpose and check the history (RUNS=10 SEED=1 JOBS=4 CALLS=520 FAULTS=all)
	@$(BIN)/python -m tests.chaos --runs $(or $(RUNS),10) --seed $(or $(SEED),1) --jobs $(or $(JOBS),4) \
	  --calls $(or $(CALLS),520) --faults=$(or $(FAULTS),all) $(if $(RESUME),--resume) $(if $(DOCS),--write-docs)

limits: setup  ## how close to its limit a tool comes, and how much a long queue delays others (a quiet machine, 4 minutes)
	@$(BIN)/python -m tests.e2e.narrow
	@$(BIN)/python -m tests.e2e.fairness

standing: setup  ## what 100,000 calls cost that stand still: CPU and memory of all processes (20 minutes)
	@$(BIN)/python -m tests.e2e.standing

schemas: setup  ## write docs/schemas, docs/asyncapi.json, docs/openapi.json, docs/errors.md, docs/integrations.md…
	@$(BIN)/python -m toolbus.documents docs
	@$(BIN)/python -m toolbus.openapi docs/openapi.json
	@$(BIN)/python -m toolbus.shelf docs/integrations.md

fuzzer: $(FUZZER)  ## set up what the next one needs, so that `make test` fuzzes too

specs: setup $(SPECS)  ## fetch large public OpenAPI documents (needs npm), so that `make test` imports and calls them too
	@$(BIN)/python -m tests.integration.imports.specifications

schemathesis: setup $(FUZZER)  ## fuzz a running server from its own OpenAPI document, always in the same way
	@$(BIN)/python -m tests.fuzzing.schemathesis_run $(FUZZER_BIN)/schemathesis

coverage: setup  ## 100 % branches of the contracts and every core, by the fast tests alone
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -q $(PURE)
	@$(BIN)/coverage report

mutation: setup  ## which changes of the pure code no test notices (ONLY='toolbus_contracts.values*' for a part)
	@rm -rf build/mutation && mkdir -p build/mutation/src
	@cp -r toolbus contracts/toolbus_* runtime/toolbus_* services/*/toolbus_* build/mutation/src/
	@cp -r tests build/mutation/ && cp tests/mutation.toml build/mutation/pyproject.toml
	@cd build/mutation && $(CURDIR)/$(BIN)/mutmut run --max-children 2 $(ONLY)
	@cd build/mutation && $(CURDIR)/$(BIN)/mutmut results && $(CURDIR)/$(BIN)/mutmut export-cicd-stats > /dev/null
	@$(BIN)/python -m tests.mutation_score build/mutation/mutants/mutmut-cicd-stats.json

asyncapi: tests/contract/asyncapi/node_modules/.package-lock.json  ## check docs/asyncapi.json with the official parser (needs node)
	@node tests/contract/asyncapi/check.mjs docs/asyncapi.json

webhooks: setup tests/contract/webhooks/node_modules/.package-lock.json  ## verify signatures with the public JavaScript library (needs node)
	@$(BIN)/python -m pytest -q tests/unit/approvals/test_signing.py

mcp: setup tests/integration/integrations/mcp/everything/node_modules/.package-lock.json  ## speak to the public MCP reference server (needs npm)
	@$(BIN)/python -m pytest -q tests/integration/integrations/mcp/test_everything.py

vendors: setup $(VENDORS)  ## the vendors' own clients against the servers that our providers are tested with
	@$(BIN)/python -m pytest -q tests/integration/vendors

lock: $(INSTALLED)  ## resolve requirements.lock and those of the fuzzer and of the vendors' clients again
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --all-extras --output-file requirements.lock pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --output-file requirements-schemathesis.lock requirements-schemathesis.in
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --output-file requirements-specs.lock requirements-specs.in
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --output-file requirements-vendors.lock requirements-vendors.in

axe: tests/e2e/inbox/node_modules/.package-lock.json  ## fetch the rules by which browser tests check accessibility (needs npm)

wheel: setup  ## build dist/*.whl
	@$(BIN)/python -m build --wheel --no-isolation

clean:  ## remove what the targets above made, except .venv
	@rm -rf dist build mutants .coverage .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
