# slipbox. Run "make" to list the targets.
#
# Everything needs Go; "encoder" needs python3 with pip once, to download the local encoder's
# weights; "lint" builds golangci-lint once, "test/fuzz" needs python3 with venv,
# "generate" node and npm, "test/clients" python3 with venv, node and npm, and "test/race" a C compiler. Tools are pinned here and cached outside the tree.

GOLANGCI_LINT_VERSION := 2.15.0
HELM_VERSION          := 3.22.0
export BENCHSTAT_VERSION := v0.0.0-20260908200009-22c9c6c9d4da
ACTIONLINT_VERSION    := 1.7.12
GORELEASER_VERSION    := 2.15.1

# The settings of the gateway, so that its advice holds for "make run" too.
ADDR      ?= $(or $(SLIPBOX_ADDR),127.0.0.1:8080)
DATA      ?= $(or $(SLIPBOX_DATA),./data)
BENCH     ?= .
BENCHTIME ?= 1s
PKG       ?= ./test/bench
# The folder with the evaluation's data sets; the bundled sample when empty.
EVAL_DATA ?=
# What is measured; see scripts/eval.sh.
EVAL_PARTS ?= recall noise growth
# How much random tests do: little here and in .ci/run, much in "make nightly".
# Checks of each property, rounds of the test that kills the gateway.
export RAPID_CHECKS ?= 20
export KILL_ROUNDS  ?= 3
# How long each target of "go test -fuzz" runs in test/fuzz/go.
FUZZTIME ?= 60s
# The packages that "make test" and "make cover" run; empty: all, of "make test" all but the clients that it would install.
PACKAGES ?=
COVERAGE ?= coverage.out
# Tests of a package that run concurrently. Many of them wait: for servers, for time limits.
PARALLEL ?= 4
# Packages tested concurrently: one more than this kind of machine has processors, because many tests wait.
AT_ONCE ?= 3

MODULE  := github.com/slipboxhq/slipbox
BUILD   := $(MODULE)/internal/build
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# The date of the commit, not of the build: the same commit gives the same binary.
DATE    ?= $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X $(BUILD).version=$(VERSION) -X $(BUILD).commit=$(COMMIT) -X $(BUILD).date=$(DATE)

# One set of flags for all builds, so that the cache serves run, test and lint alike.
# nomsgpack leaves out gin's MessagePack codec, which no route uses: a tenth of a first build.
# grpcnotrace leaves out gRPC's own pages of traces: they use html/template, which calls methods by
# name, so the linker would keep every exported method: a fifth of the gateway.
# Without DWARF, which debuggers alone read, a first build is shorter by another tenth; DEBUG=1
# keeps it.
BUILD_FLAGS := -trimpath -tags=nomsgpack,grpcnotrace $(if $(DEBUG),,-gcflags=all=-dwarf=false)
export GOFLAGS := $(BUILD_FLAGS) $(filter-out $(BUILD_FLAGS),$(GOFLAGS))

# SQLite is C that was translated to Go. Its own reads and writes are not checked for races:
# they are not ours, and make the tests four times as slow.
# A program with the race detector sleeps a second before it exits, unless it is told not to.
export GORACE ?= atexit_sleep_ms=0
RACE_FLAGS := -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc/...=-race=false

# Without symbol tables, which only debuggers read, test programs link a fifth faster. Garbage that is collected at a
# quarter of the times saves a seventh of the processor time with the race detector. golangci-lint also does what vet does.
# Nothing here keeps "go test" from its cache: what did not change since it passed is not run again. "make nightly" runs all.
GOTEST := GOGC=400 go test -vet=off -ldflags='-s -w' -timeout=20m -p=$(AT_ONCE) -parallel=$(PARALLEL)

# each COMMAND runs "go test" for each line of arguments that tools/raced prints.
each = set -o pipefail; go run ./tools/raced $(1) | while read -r args; do eval "$(2) $$args" </dev/null || exit 1; done

# What a test finds Postgres and Redis by; without them it fails instead of being skipped.
WITH_SERVICES := env="$$(scripts/services.sh env)"; eval "$$env"; export SLIPBOX_REQUIRE_SERVICES=1;

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

.PHONY: help
help: ## Show this help
	@echo "slipbox: make TARGET"; echo
	@grep -hE '^[a-z][a-z/-]*:.*## ' $(MAKEFILE_LIST) | \
		awk -F ':.*## ' '{ printf "  %-16s %s\n", $$1, $$2 }'
	@echo; echo "Variables: ADDR=$(ADDR) DATA=$(DATA) BENCH=$(BENCH) BENCHTIME=$(BENCHTIME) EVAL_DATA=$(EVAL_DATA) RAPID_CHECKS=$(RAPID_CHECKS)"

.PHONY: goflags
goflags: ## Print the flags of all builds, for commands outside of make (GOFLAGS="$(make -s goflags)")
	@echo '$(GOFLAGS)'

.PHONY: build
build: ## Build bin/gateway, bin/worker and bin/slipbox, stamped with version, commit and date
	@scripts/build.sh '$(LDFLAGS)' ./cmd/gateway ./cmd/worker ./cmd/slipbox

.PHONY: encoder
encoder: ## Install the weights of both local encoders, unless they are there (SLIPBOX_ENCODER_DIR)
	@$(or $(GATEWAY),go run ./cmd/gateway) encoder install

.PHONY: run
run: ## Build and serve the demo on ADDR, keeping its data in DATA
	@scripts/build.sh '$(LDFLAGS)' ./cmd/gateway ./cmd/slipbox
	@# The gateway also serves without the weights, and says what is missing.
	@./bin/gateway encoder install || true
	exec ./bin/gateway serve --demo --addr $(ADDR) --data $(DATA) --log-level warn

.PHONY: test
test: services encoder ## Run all tests but those of foreign clients (PACKAGES=./internal/index/... for some)
	$(WITH_SERVICES) $(if $(PACKAGES),$(GOTEST) $(PACKAGES),$(call each,all,$(GOTEST)))

.PHONY: cover
cover: services encoder ## Run all tests and print the coverage
	$(WITH_SERVICES) $(GOTEST) -covermode=atomic -coverprofile='$(COVERAGE)' $(or $(PACKAGES),./...)
	@go tool cover -func='$(COVERAGE)' | tail -n 1

.PHONY: test/race
test/race: services encoder ## Run the tests where goroutines meet with the race detector (tools/raced says which)
	$(WITH_SERVICES) $(call each,race,$(GOTEST) $(RACE_FLAGS))

.PHONY: test/rest
test/rest: services encoder ## Run the tests that test/race, test/long and test/commands leave out
	$(WITH_SERVICES) $(call each,rest,$(GOTEST) -parallel=10)

.PHONY: test/long
test/long: services encoder ## Run the tests in files that the race detector leaves out (go:build !race); COUNT=1 runs those, too, that passed
	$(WITH_SERVICES) $(call each,long,$(GOTEST) -parallel=10 $(if $(COUNT),-count=$(COUNT)))

.PHONY: test/commands
test/commands: services encoder ## Run the tests of the commands, which start them as processes, and of what measures
	$(WITH_SERVICES) $(GOTEST) -count=1 ./cmd/... ./test/bench ./test/load

# The packages over a store, which their tests run on the embedded engine by default. Of the engine and the API those run in which
# calls meet, where the engines differ most; "make nightly" runs all.
OVER_STORE := ./internal/memory ./internal/memory/notes ./internal/clone ./internal/worker
STORIES    := internal/memory/engine internal/api internal/memory/files $(addprefix internal/memory/policy/,layered/layers memgpt/agent memgpt/letta memoryos/tiers)
ON_POSTGRES = SLIPBOX_TEST_ENGINE=postgres $(GOTEST) -parallel=8

.PHONY: test/postgres
test/postgres: services ## Run the tests of the packages over a store on Postgres (WHOLE=1 for all of the engine and the API)
	$(WITH_SERVICES) $(if $(WHOLE),$(ON_POSTGRES) $(STORIES:%=./%),$(call each,meet $(STORIES),$(ON_POSTGRES)))
	$(WITH_SERVICES) $(ON_POSTGRES) $(OVER_STORE)

.PHONY: test/faults
test/faults: services ## Kill, cut and stop the real processes and servers under load, for minutes
	$(WITH_SERVICES) KILL_ROUNDS=20 go test -run TestKill -count=1 -timeout=30m -v ./cmd/gateway
	SLIPBOX_REQUIRE_SERVICES=1 SLIPBOX_FAULT_SECONDS=$${SLIPBOX_FAULT_SECONDS:-90} go test -count=1 -timeout=30m -v ./test/faults

.PHONY: test/clients
test/clients: encoder ## Run the clients that people have (OpenAI's and others) against a gateway, and what the pages show, installing them once (CLIENTS=folders for some)
	SLIPBOX_CLIENTS='$(CLIENTS)' go test -count=1 -timeout=40m -v ./test/clients $(if $(CLIENTS),,./test/pages)

.PHONY: test/go
test/go: ## Test the Go client (sdk/go, a module of its own) against a gateway
	@scripts/go-client-test.sh

.PHONY: test/typescript
test/typescript: ## Check the types of the TypeScript client, and run its tests
	@scripts/install-clients.sh sdk/typescript >/dev/null
	npm --prefix sdk/typescript test

.PHONY: test/console
test/console: encoder ## Use the web console in a headless Chromium (SCREENSHOTS=folder saves each view, and prints the time to the first paint), installing that once
	@scripts/install-clients.sh ./console >/dev/null
	npm --prefix console test
	GOFLAGS=-trimpath go -C test/console test -count=1$(if $(SCREENSHOTS), -v) -timeout=30m ./...

.PHONY: test/fuzz
test/fuzz: ## Fuzz a running gateway from its OpenAPI file
	scripts/fuzz.sh

.PHONY: test/fuzz/go
test/fuzz/go: ## Run each fuzz target of the packages for FUZZTIME; KEEP=20 adds what it found to testdata/fuzz
	@FUZZTIME='$(FUZZTIME)' KEEP='$(KEEP)' scripts/fuzz-go.sh

.PHONY: attack
attack: services ## Attack one tenant as another with requests made from the contracts: API, mem0, MCP; on both engines (SLIPBOX_ATTACKS=100000)
	SLIPBOX_ATTACKS=$${SLIPBOX_ATTACKS:-100000} go test -count=1 -timeout=30m -run 'TestAttack' ./internal/api
	$(WITH_SERVICES) SLIPBOX_TEST_ENGINE=postgres SLIPBOX_ATTACKS=$$(( $${SLIPBOX_ATTACKS:-100000} / 10 )) go test -count=1 -timeout=30m -run 'TestAttack' ./internal/api

.PHONY: soak
soak: services ## Let clients and an agent use a gateway for SLIPBOX_SOAK_SECONDS (3600) on each set-up; seconds of it are in every test run
	$(WITH_SERVICES) SLIPBOX_SOAK_SECONDS=$${SLIPBOX_SOAK_SECONDS:-3600} go test -count=1 -timeout=5h -v -run 'TestSoak$$' ./internal/app

.PHONY: nightly
nightly: ## Run everything at full length: all of .ci/run with large numbers, for hours
	scripts/nightly.sh


.PHONY: lint
lint: ## Check the style, the scripts, and the workflows of hosted CI
	@lint="$$(scripts/install-golangci-lint.sh $(GOLANGCI_LINT_VERSION))"; "$$lint" run ./... && cd test/console && GOFLAGS=-trimpath "$$lint" run ./...
	@lint="$$(scripts/install-actionlint.sh $(ACTIONLINT_VERSION))"; "$$lint"
	@if command -v shellcheck >/dev/null; then shellcheck -x .ci/run scripts/*.sh test/faults/*.sh docs/examples/*.sh docs/examples/*/run.sh; \
		else echo "lint: shellcheck is not installed, the scripts were not checked"; fi

.PHONY: bench
bench: ## Measure a whole gateway, and print a table (BENCH=regexp BENCHTIME=1s, PKG=./... for all)
	@benchstat="$$(scripts/install-benchstat.sh $(BENCHSTAT_VERSION))"; \
		go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem -timeout 30m $(PKG) | tee >(cat >&2) | "$$benchstat" -

.PHONY: bench/servers
bench/servers: ## Measure gateways over a Postgres and a Redis of their own, and print a table; about ten minutes
	@BENCH='$(if $(filter-out .,$(BENCH)),$(BENCH),Servers)' scripts/bench-servers.sh

.PHONY: load
load: ## Flood a gateway as one tenant of 201, and measure the others (ENGINE=embedded or servers, LOAD='--length 90s'); about four minutes
	@ENGINE='$(ENGINE)' LOAD='$(LOAD)' scripts/load.sh

.PHONY: load/short
load/short: ## Flood a gateway for some seconds: every agent of the other tenants is served, and nothing fails
	@ENGINE='$(ENGINE)' LOAD='--short' scripts/load.sh

.PHONY: bench/growth
bench/growth: ## Measure a built gateway over HTTP while a collection grows (SIZES=1000,10000,1000000, DOCS=1 writes docs/)
	@SIZES='$(SIZES)' DOCS='$(DOCS)' scripts/bench-growth.sh

.PHONY: bench/peers
bench/peers: ## The same, beside Chroma with the same vectors; installs it by python3 with pip, once
	@SIZES='$(SIZES)' DOCS='$(DOCS)' PEERS=1 scripts/bench-growth.sh

.PHONY: eval
eval: encoder ## Measure recall, noise and growth of a fresh gateway (EVAL_DATA=folder, EVAL_PARTS="recall noise growth facts ablation", EVAL_TRACKS=systems,…)
	EVAL_DATA='$(EVAL_DATA)' scripts/eval.sh $(EVAL_PARTS)

.PHONY: compare
compare: encoder ## Lay all memory systems and baselines side by side over DIALOGUE, and write a report into OUT (COMPARE='--policies mem0 --seeds 3')
	@scripts/build.sh '$(LDFLAGS)' ./cmd/eval
	bin/eval compare --out '$(or $(OUT),comparison)' $(COMPARE) $(DIALOGUE)

.PHONY: eval/model
eval/model: encoder ## Measure a model: labeled dialogues, and every call of every policy (MODEL_URL=http://host/v1, MODEL=name DIALOGUES=5 TURNS=0 CALLS=4)
	@scripts/model-eval.sh

.PHONY: eval/fit
eval/fit: encoder ## Learn the weights of the ranking, and measure them on data that they were not learned from (EVAL_DATA=folder)
	EVAL_DATA='$(EVAL_DATA)' scripts/eval.sh fit

.PHONY: train
train: encoder ## Train the encoders' adapters on conversations, and measure them (TRAIN_DATA=folder, STEPS="1400 1200", SEED=1, THREADS=1); installs PyTorch, once
	TRAIN_DATA='$(TRAIN_DATA)' STEPS='$(STEPS)' SEED='$(SEED)' THREADS='$(THREADS)' scripts/train.sh

.PHONY: generate
generate: ## Generate files
	go generate ./...

.PHONY: generate/check
generate/check: ## Fail when a generated file is not what its source says
	scripts/generate-check.sh

.PHONY: tidy/check
tidy/check: ## Fail when go.mod or go.sum is not tidy
	@# What only a dependency's own tests import is no part of go.mod: it may be out of reach
	@# (-e), and its newest version comes and goes as an added line of go.sum. Builds run with
	@# -mod=readonly, so a line that is needed and missing fails there.
	@{ go mod tidy -e -diff || true; } | awk '/^diff current\/go.mod/ || /^-[^-]/ { print; bad = 1 } END { exit bad }'

.PHONY: chart/check
chart/check: ## Check the Helm chart and the container file, without a cluster
	scripts/chart-check.sh $(HELM_VERSION)

.PHONY: release/check
release/check: ## Build a release into dist, and publish nothing (builds GoReleaser once, which takes long)
	scripts/release-check.sh $(GORELEASER_VERSION) $(HELM_VERSION)

.PHONY: size
size: ## Print the lines of each package beside its budget, and how many packages, interfaces and operations there are
	@go run ./tools/size

.PHONY: capacity
capacity: ## Compute the machines for a number of notes, and simulate routing (CAPACITY='--adds 50', DOCS=1 writes docs/)
	@go run ./tools/capacity $(if $(DOCS),-docs) $(CAPACITY)

.PHONY: checks
checks: ## List the numbered checks that tests show, and fail when one is missing
	@go run ./tools/checks -strict

.PHONY: services
services: ## Start Postgres, Redis and PgBouncer, installing them when needed
	@scripts/services.sh up postgres redis pgbouncer

.PHONY: services/env
services/env: ## Print their URLs as shell exports, to be evaluated
	@scripts/services.sh env

.PHONY: services/down
services/down: ## Stop Postgres and Redis
	@scripts/services.sh down

.PHONY: verify
verify: ## Everything that .ci/run does
	.ci/run
