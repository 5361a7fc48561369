# Two commands do everything on a fresh machine: `make run` and `make test`.
SHELL := /bin/bash
VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup run test check format bench soak wheel compiled pure clean sql help constraints

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## make .venv with the command at .venv/bin/lineagelog

$(STAMP): pyproject.toml constraints.txt .ci/make-venv
	@.ci/make-venv $(VENV)
	@touch $@

run: setup ## serve on http://127.0.0.1:5000 with the embedded PostgreSQL
	@$(BIN)/lineagelog serve

check: setup ## lint, format, types, import contract, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## let ruff mend and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

sql: setup ## regenerate sql/ from the schema
	$(BIN)/python -m lineagelog.store.generate sql

test: check ## everything that must pass
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

bench: setup ## the benchmarks: ratios in one run (benchmarks/README.md)
	$(BIN)/python -m benchmarks

soak: setup ## long repeats: crashes, a million events, a thousand examples of each property
	LINEAGELOG_EXAMPLES=$${LINEAGELOG_EXAMPLES:-1000} $(BIN)/python -m pytest -q -m 'soak or hypothesis' -o timeout=7200 tests

wheel: setup ## build the wheel into dist/
	$(BIN)/python -m build --wheel --no-isolation -o dist .

compiled: setup ## build the compiled forms of native/ in place (needs cargo): the same results, faster
	$(BIN)/python hatch_build.py

pure: ## remove what `make compiled` built
	rm -f connector/lineagelog/_compiled.*.so

clean: pure ## remove what make built
	rm -rf $(VENV) dist build native/target .mypy_cache .ruff_cache .pytest_cache .hypothesis

constraints: ## renew constraints.txt from pyproject.toml
	@printf 'hatchling\neditables\nuv\n' > dist-tools.tmp
	@{ echo '# The versions that are tested together (all extras and the development group). Renew with `make constraints`.'; \
	  $(BIN)/uv pip compile -q --no-header --no-annotate --no-emit-index-url --universal --python-version 3.12 pyproject.toml dist-tools.tmp --extra all --group dev | grep -v emscripten; } > constraints.tmp
	@mv constraints.tmp constraints.txt; rm -f dist-tools.tmp
