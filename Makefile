# Two commands do everything on a fresh machine: `make run` and `make test`.
SHELL := /bin/bash
VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed

# What runs inside an Egeria daemon; where no JDK and Maven are, the rest works without it.
JARS := connector/lineagelog/egeria/jars
JAR  := $(JARS)/lineagelog-egeria-connector.jar
# One build at a time, where the tests of several processes ask for it.
ONE_BUILDS := $(if $(shell command -v flock),flock Makefile)
MAVEN := $(if $(shell command -v flock),flock jars/pom.xml) mvn -q -B -f jars/pom.xml
HAS_JAVA := $(and $(shell command -v javac),$(shell command -v mvn))
JAVA_SOURCES := $(shell find jars -name pom.xml -not -path '*/target/*' -o -path '*/src/main/*' -type f -not -path '*/standin/*')
STANDIN := jars/standin/target/.built
STANDIN_SOURCES := $(shell find jars/standin -path '*/src/main/*' -type f)

.PHONY: setup run test test-long built check format bench soak producers wheel wheel-pure compiled pure clean sql help constraints pyegeria jar jar-if-java standin

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

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
	$(BIN)/python -m lineagelog.store.definition.generate sql

jar: $(JAR) ## build the jars of the connector for an Egeria daemon (needs a JDK, 17 or newer, and Maven)

$(JAR): $(JAVA_SOURCES)
	@$(if $(HAS_JAVA),,echo "make jar needs a JDK (17 or newer) and Maven: javac and mvn are not both on the PATH" >&2; exit 2)
	$(MAVEN) -pl connector -am -DskipTests package
	@mkdir -p $(JARS)
	@cp jars/core/target/lineagelog-egeria-core.jar jars/connector/target/lineagelog-egeria-connector.jar $(JARS)/

standin: $(STANDIN) ## build the stand-in daemons for the tests: jars/standin/target/{4.3,6.0}/{lib,platform.jar}

$(STANDIN): $(JAVA_SOURCES) $(STANDIN_SOURCES) | $(JAR)
	$(MAVEN) -pl standin/v4,standin/v6 -am -DskipTests package
	@touch $@

jar-if-java: $(if $(HAS_JAVA),jar)

jar-if-java:
	@$(if $(HAS_JAVA),,echo "no JDK and Maven here: without the jars for an Egeria daemon, and without their tests" >&2)

# What the tests need from other compilers is built before them, in no test's time; of several at once, one builds.
built: setup
	@$(if $(HAS_JAVA),$(ONE_BUILDS) $(MAKE) -s --no-print-directory jar standin,echo "no JDK and Maven here: without the jars for an Egeria daemon, and without their tests" >&2)
	@$(if $(shell command -v cargo),$(BIN)/python -c 'import hatch_build; hatch_build.build()',echo "no cargo here: without the tests of native/" >&2)

# pyegeria brings 160 packages: an environment of its own, from a list of its own.
PYEGERIA := .venv-pyegeria
pyegeria: $(PYEGERIA)/.installed ## make .venv-pyegeria with pyegeria, for egeria.python

$(PYEGERIA)/.installed: config/pyegeria.txt | setup
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(PYEGERIA)
	$(BIN)/uv pip install --quiet --python $(PYEGERIA)/bin/python --require-hashes -r config/pyegeria.txt
	@touch $@

test: check built ## what must pass, in minutes
	$(BIN)/python -m pytest -q -n 4 --dist loadfile

test-long: built pyegeria ## what must pass, too, and takes longer: kills, rebalances, attacks on the memory, Spark, many examples
	LINEAGELOG_EXAMPLES=$${LINEAGELOG_EXAMPLES:-50} $(BIN)/python -m pytest -q -n 2 --dist loadfile -m '(long or hypothesis) and not soak'

bench: setup ## the benchmarks: ratios in one run (benchmarks/README.md)
	$(BIN)/python -m benchmarks

soak: setup ## long repeats: crashes, a million events, a thousand examples of each property
	LINEAGELOG_EXAMPLES=$${LINEAGELOG_EXAMPLES:-1000} $(BIN)/python -m pytest -q -m 'soak or hypothesis' -o timeout=7200 tests

producers: setup ## run real dbt, Airflow, Spark and Java, and renew their recordings, all or RECORDINGS="NAME …" (JDK, Maven)
	$(BIN)/python -m tests.producers.record $(RECORDINGS)

wheel: setup jar-if-java ## build the wheel into dist/, for this platform where cargo is, else pure Python
	$(BIN)/python -m build --wheel --no-isolation -o dist .

wheel-pure: setup jar-if-java ## build the wheel of pure Python into dist/, for every platform
	LINEAGELOG_PURE=1 $(BIN)/python -m build --wheel --no-isolation -o dist .

compiled: setup ## build the compiled forms of native/ in place (needs cargo): the same results, faster
	$(BIN)/python hatch_build.py

pure: ## remove what `make compiled` built
	rm -f connector/lineagelog/_compiled.*.so

clean: pure ## remove what make built
	rm -rf $(JARS) jars/*/target jars/*/*/target native/target $(VENV) $(PYEGERIA) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .producers

constraints: ## renew constraints.txt from pyproject.toml: versions, hashes, and who needs what
	@printf 'hatchling\neditables\nuv\n' > dist-tools.tmp
	@{ echo '# The versions that are tested together (all extras and the development group). Renew with `make constraints`.'; \
	  $(BIN)/uv pip compile -q --no-header --no-emit-index-url --universal --generate-hashes --python-version 3.12 \
	    pyproject.toml dist-tools.tmp --extra all --group dev; } > constraints.tmp
	@mv constraints.tmp constraints.txt; rm -f dist-tools.tmp
	@echo pyegeria > pyegeria.tmp
	@{ echo '# pyegeria and what it brings, for an environment of its own. Renew with `make constraints`.'; \
	  $(BIN)/uv pip compile -q --no-header --no-emit-index-url --universal --generate-hashes --python-version 3.12 \
	    pyegeria.tmp; } > config/pyegeria.tmp
	@mv config/pyegeria.tmp config/pyegeria.txt; rm -f pyegeria.tmp
