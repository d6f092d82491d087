SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help build test race redteam lint english web fuzz bench oracle story live peers corpus tasks soak stress mutants ci release demo clean

export CGO_ENABLED ?= 0
WITHPG := go run ./internal/testkit/withpg --
FUZZTIME ?= 2m
# Rounds of each benchmark of internal/testkit/bench; most of them repeat what they measure within a round.
BENCHTIME ?= 5x
# What a suite writes under docs/benchmarks begins with when, of which commit and on what it ran.
VERSIONS := date -u +%FT%RZ && git describe --always --dirty && go version && uname -srm

help: ## show this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/ramet
	go build -trimpath -o bin/ramet ./cmd/ramet

test: ## run all tests on both stores (./test --help)
	./test

race: ## run all tests under the race detector (needs gcc)
	./test -race

redteam: ## carry out the attacks of docs/security.md as two accounts, and write their tables (as root)
	tools/redteam

lint: ## check formatting, vet, staticcheck
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./...
	go tool -modfile=tools/go.mod staticcheck ./...

web: ## build the page into internal/face/web/dist (needs Node and npm)
	cd web && npm install --no-save --ignore-scripts --no-audit --no-fund && npm run build

fuzz: ## fuzz every target in turn (FUZZTIME=2m each)
	@grep -rEo --include='*_test.go' '^func Fuzz\w+' . | sed -E 's|/[^/]*:func | |' | sort | \
	while read -r folder target; do \
		echo "== $$folder $$target"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$folder"; \
	done

bench: ## run the benchmarks at full size into docs/benchmarks
	@mkdir -p docs/benchmarks
	{ $(VERSIONS) && RAMET_BENCH_SCALE=1 RAMET_BENCH_GROWTH=$(CURDIR)/docs/benchmarks $(WITHPG) go test -timeout 2h -run '^$$' -bench . -benchtime $(BENCHTIME) ./internal/testkit/bench; } | tee docs/benchmarks/latest.txt
	{ $(VERSIONS) && RAMET_BENCH_SCALE=1 $(WITHPG) go test -timeout 2h -p 1 -run '^$$' -bench . $$(go list ./... | grep -v /bench$$) | \
		sed '/no test files/d'; } | tee docs/benchmarks/others.txt
	{ $(VERSIONS) && RAMET_WEB_BENCH=1 go test -count 1 -timeout 20m -run TestThePageAtFullSize ./internal/face/web; } | tee docs/benchmarks/page.txt

oracle: ## let gitleaks judge the rules for secrets, into docs/benchmarks/secrets.txt
	@cd tools/oracle && { date -u +%F && go version && go list -m github.com/zricethezav/gitleaks/v8 && \
		go test -count 1 -v ./secrets && go test -run '^$$' -bench . -benchtime 3s ./secrets; } | tee ../../docs/benchmarks/secrets.txt

story: ## make docs/terminal.svg, the README's picture, from a recorded session
	go test ./internal/app -run TestTheStory -count 1 -update

live: ## try each vendor whose key is set (a few cents), into docs/benchmarks/live.txt
	@mkdir -p docs/benchmarks
	RAMET_LIVE=$(CURDIR)/docs/benchmarks/live.txt RAMET_LIVE_HEAD="$$($(VERSIONS))" go test -tags extern -count 1 -timeout 30m -v -run TestLive ./internal/testkit/llmtest

peers: ## speak with MCP servers, clients and editors, let other programs drive agents, bring in their sessions, and measure beside them, from npm, as far as they can be had
	RAMET_TEST_PEERS=$(CURDIR)/bin/peers go test -tags extern -count 1 -timeout 40m -v -run TestPeers ./internal/tools/mcp
	RAMET_TEST_PEERS=$(CURDIR)/bin/peers RAMET_TEST_PEERS_TABLE=$(CURDIR)/docs/drivers.md RAMET_TEST_PEERS_BESIDE=$(CURDIR)/docs/benchmarks/peers.md \
		go test -count 1 -timeout 2h -v -run TestPeers ./internal/app

corpus: ## read definitions, and document repositories, of npm, Go and Debian, into docs/benchmarks/corpus.txt
	@mkdir -p docs/benchmarks
	{ $(VERSIONS) && RAMET_TEST_CORPUS=$(CURDIR)/bin/corpus go test -tags extern -count 1 -timeout 30m -v -run TestCorpus ./internal/core/kit; } | tee docs/benchmarks/definitions.txt
	{ $(VERSIONS) && RAMET_TEST_CORPUS=$(CURDIR)/bin/corpus go test -count 1 -timeout 2h -v -run TestCorpus ./internal/app; } | tee docs/benchmarks/corpus.txt

tasks: ## let a model play internal/testkit/bench (MODEL=vendor/name); without one, scripts do
	RAMET_TASKS_MODEL=$(MODEL) go test -count 1 -timeout 6h -v -run TestTasks ./internal/testkit/bench

soak: ## run the tests that take hours, into docs/benchmarks/soak.txt (SEED=n repeats one)
	@mkdir -p docs/benchmarks
	{ $(VERSIONS) && RAMET_SOAK=1 RAMET_SEED=$(SEED) ./test -timeout 3h -count 1 -v -run 'Soak$$' ./... | sed '/no test files/d; /no tests to run/d'; } | tee docs/benchmarks/soak.txt

stress: ## run the suite on a busy machine, on one processor, shuffled, then with the race detector (nightly)
	tools/stress

english: ## measure names and comments, and check changed lines and the messages of clean folders
	go run -C tools ./english count
	go run -C tools ./english check

mutants: ## change core packages at random and count what the tests notice, into docs/benchmarks/mutants.txt (SEED=n)
	@mkdir -p docs/benchmarks
	{ $(VERSIONS) && $(WITHPG) go run -C tools ./mutants -n 40 $(if $(SEED),-seed $(SEED)); } | tee docs/benchmarks/mutants.txt

ci: ## run everything that a change has to pass
	.ci/run

release: ## build archives, packages and images into bin/release (RELEASE="-version 1.2.3 -key FILE")
	go build -C tools/release -o ../../bin/make-release .
	bin/make-release -out bin/release $(RELEASE)

demo: ## see ramet at work, with no key and no network
	go run ./cmd/ramet demo

clean: ## remove what was built
	rm -rf bin
