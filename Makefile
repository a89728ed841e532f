# `make demo` and `make test` work on a bare machine: what the build needs is installed when it is missing.
# The build cache lies outside the clone; DAGSPLIT_TARGET_DIR moves it.

DAGSPLIT_TARGET_DIR ?= $(HOME)/.cache/dagsplit/target
export CARGO_TARGET_DIR := $(DAGSPLIT_TARGET_DIR)
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

DAGSPLIT := $(CARGO_TARGET_DIR)/release/dagsplit
CHECK := $(CARGO_TARGET_DIR)/release/dagsplit-check
DEMO_INSTANCE := instances/bert12_inference.json
DEMO_METHODS := dp,dpl,certify
DEMO_SCOPES := acyclic,arbitrary
DEMO_OUTPUT := demo

FUZZ_RUNS ?= 1000000

.PHONY: help demo test python mutants repeat audit fuzz miri toolchain browser build

help:
	@echo "make demo     build, split $(DEMO_INSTANCE) with and without contiguity, draw the split"
	@echo "make test     formatting, lints, tests and documentation, with and without HiGHS, and the Python package's tests"
	@echo "make python   the tests of the Python package alone"
	@echo "make mutants  which tests see errors that are put into the library on purpose (tools/mutants)"
	@echo "make repeat   every property test fifty times, each time with fresh cases"
	@echo "make audit    licences, sources, versions and known faults of the dependencies (cargo-deny)"
	@echo "make fuzz     $(FUZZ_RUNS) inputs for every reader (cargo-fuzz)"
	@echo "make miri     the data structures under Miri, or under address sanitizer where there is no Miri"

demo: build
	@mkdir -p $(DEMO_OUTPUT)
	$(DAGSPLIT) info $(DEMO_INSTANCE)
	$(DAGSPLIT) solve $(DEMO_INSTANCE) --scope $(DEMO_SCOPES) --method $(DEMO_METHODS) \
		--time-limit 60 --output $(DEMO_OUTPUT)/split.json
	$(DAGSPLIT) verify $(DEMO_INSTANCE) $(DEMO_OUTPUT)/split.json
	$(DAGSPLIT) solve $(DEMO_INSTANCE) --output $(DEMO_OUTPUT)/best.json --proof $(DEMO_OUTPUT)/best.proof \
		--html $(DEMO_OUTPUT)/best.html
	$(CHECK) $(DEMO_INSTANCE) $(DEMO_OUTPUT)/best.proof $(DEMO_OUTPUT)/best.json
	$(DAGSPLIT) draw $(DEMO_INSTANCE) --split $(DEMO_OUTPUT)/split.json --output $(DEMO_OUTPUT)/split.svg
	@echo "the picture of the split is $(DEMO_OUTPUT)/split.svg, the page of the best one $(DEMO_OUTPUT)/best.html"

test: toolchain browser
	cargo fmt --all --check
	cargo clippy --locked --lib --no-default-features -- -D warnings
	cargo clippy --locked --workspace --all-targets --no-default-features -- -D warnings
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo test --locked --workspace --lib --bins --tests
	cargo test --locked --workspace --doc
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --document-private-items
	bash tools/python_tests.sh

python: toolchain
	bash tools/python_tests.sh

mutants: toolchain
	python3 tools/mutants/mutants.py --write docs/mutants.md

repeat: toolchain
	python3 tools/repeat_tests.py

audit: toolchain
	cargo deny --version || cargo install --locked cargo-deny
	cargo deny check

fuzz: toolchain
	cargo fuzz --version || cargo install --locked cargo-fuzz
	set -e; for target in $$(cargo fuzz list); do \
		RUSTC_BOOTSTRAP=1 cargo fuzz run -s none --features highs $$target -- -runs=$(FUZZ_RUNS) -max_len=8192; \
	done

miri: toolchain
	bash tools/miri.sh

build: toolchain
	cargo build --locked --release --package dagsplit --package dagsplit-check

toolchain:
	@bash tools/ensure-toolchain.sh

browser:
	@bash tools/ensure-toolchain.sh browser
