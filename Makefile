# Everything a developer does, by name. `make help` lists it.
.DEFAULT_GOAL := help
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
export CGO_ENABLED ?= 0

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Build and start everything, with its data in ./data
	bin/atelier serve

.PHONY: build
build: ## Build bin/atelier
	go build -trimpath -ldflags '$(LDFLAGS)' -o bin/atelier ./cmd/atelier

.PHONY: test
test: ## Provide real servers, then lint and test everything
	scripts/test

.PHONY: test-quick
test-quick: ## Test on embedded engines only; what needs a server is skipped, loudly
	go test -json ./... 2>&1 | go run ./test/report

.PHONY: lint
lint: ## Run the linters
	scripts/lint

.PHONY: gen
gen: ## Regenerate what is generated: the OpenAPI document, the catalogue of events and the configuration reference
	go run ./cmd/atelier openapi > api/openapi.yaml
	go run ./cmd/atelier events > api/events.yaml
	go run ./cmd/atelier config --reference > docs/configuration.md

.PHONY: bench
bench: build ## Measure against a bare server in the same run
	go run ./test/load
	LOAD_NODE_RED=$$(scripts/npm test/load/nodered) go run ./test/load -automations
	go run ./test/load -hostile

.PHONY: bench-events
bench-events: build ## Measure events with ten millions of them and 5,000 who listen; LOAD_DATA names a folder that keeps the log
	LOAD_EVENTS=10000000 LOAD_FEEDS=5000 go run ./test/load -events all

.PHONY: crash
crash: ## Kill the server a hundred times under write load and look for lost writes
	CRASH_ROUNDS=100 CRASH_ALL=1 go test -count=1 -timeout 30m -run TestKilled -v ./test/crash

.PHONY: syncs
syncs: ## Run a thousand random sequences of edits, pushes, pulls, conflicts and kills against a model, and a hundred racing pushers
	SYNC_SEQUENCES=1000 SYNC_PUSHERS=100 SYNC_MEGABYTES=100 go test -count=1 -timeout 4h -v ./test/sync

.PHONY: ledger
ledger: ## Emit a million events from 64 writers over fifty kills, and compare what is stored, followed and received
	TEST_WEBHOOKS=$$(scripts/npm test/webhooks) LEDGER_EVENTS=1000000 LEDGER_KILLS=50 go test -count=1 -timeout 2h -v ./test/ledger

.PHONY: runs
runs: ## Let 100,000 events start automations over ten kills, and count their effects
	RUNS_EVENTS=100000 RUNS_KILLS=10 go test -count=1 -timeout 2h -v ./test/runs

.PHONY: locks
locks: ## Let 200 want the lock of a workspace through three processes over fifty kills, and push through them (needs TEST_POSTGRES_URL)
	LOCKS_KILLS=50 LOCKS_EVENTS=20000 LOCKS_PUSHES=60 go test -count=1 -timeout 30m -v ./test/locks

.PHONY: rotation
rotation: ## Rotate the signing keys every two seconds for a minute under load (needs TEST_POSTGRES_URL)
	ROTATION_SECONDS=60 go test -count=1 -timeout 30m -run TestRotation -v ./test/rotation

.PHONY: timing
timing: ## Look whether the time of a wrong key or token tells how much of it is right
	go run ./test/timing

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin
