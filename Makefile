# make help lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := build

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GOFLAGS_RELEASE := -trimpath -ldflags '-s -w -X main.version=$(VERSION)'
# The race detector needs a C compiler; without one the tests run without it.
RACE := $(shell command -v "$$(go env CC)" >/dev/null 2>&1 && echo -race)
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
FUZZTIME ?= 20s
BENCHTIME ?= 1s
MODELCHECKS ?= 10000
CRASH_ROUNDS ?= 110
UNIT = $$(go list ./... | grep -v /integration)

.PHONY: help run build test test-unit test-integration model console-test crash docs-test dashboard mqadmin-table bench bench-quick bench-go pgo curves soak bench-store bench-timer \
	lint fuzz scenarios fuzz-differential docs cross release clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 20

run: build ## build and run name server and broker, files in ./rocketd-data
	./bin/rocketd

build: ## bin/rocketd: static, for this machine
	CGO_ENABLED=0 go build $(GOFLAGS_RELEASE) -o bin/rocketd .

test: test-unit test-integration ## everything: unit tests, real Java and Go clients, Apache side by side

test-unit: ## go vet and unit tests, with the race detector where there is a C compiler
	go vet ./...
	@[ -n "$(RACE)" ] || echo "no C compiler: unit tests run without the race detector"
	go test $(RACE) -timeout 10m $(UNIT)

test-integration: build ## real clients and Apache's broker; without JDK and Maven the Go part alone (with CI=true: an error)
	@missing=; for tool in java javac mvn; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	if [ -n "$$missing" ]; then \
		echo "missing:$$missing - install a JDK (8 or newer) and Maven (Debian: apt-get install default-jdk-headless maven)"; \
		if [ -n "$$CI" ]; then exit 1; fi; \
		echo "tests with Java clients and Apache's broker are left out"; \
	fi; \
	for tool in python3 npm; do command -v $$tool >/dev/null || echo "no $$tool: the gRPC client that needs it is left out"; done
	go test -timeout 40m ./integration/... ./brokertest/...

model: ## the models of tests with rapid, with random seeds, MODELCHECKS runs of each
	@set -o pipefail; for dir in $$(git grep -l 'rapid\.Check(' -- '*_test.go' | xargs -n1 dirname | sort -u); do echo "== $$dir"; \
		ROCKETD_MODEL=1 go test "./$$dir" -count=1 -v -timeout 2h -run Model -rapid.checks=$(MODELCHECKS) | grep -E 'passed|failed|late|early|reproduce|raceback|_test.go:[0-9]+: [^[]|^(ok|FAIL)' || exit 1; \
	done

console-test: ## the console's API, and its page in a headless Chromium; without one the page is left out (with CI=true: an error)
	@command -v chromium chromium-browser google-chrome >/dev/null || echo "no Chromium: the page is not tested (Debian: apt-get install chromium)"
	go test -count=1 -timeout 10m ./console ./integration/console

crash: ## CRASH_ROUNDS random kills of a broker under load, with each way of flushing: nothing acknowledged may be missing
	CRASH_ROUNDS=$(CRASH_ROUNDS) go test -count=1 -timeout 60m -v -run TestKillLosesNothing ./integration

docs-test: ## every block of README and docs is run as it stands, those with downloads too (needs Go, JDK, Maven, Python and the network)
	DOCS_TEST=all go test -count=1 -timeout 30m -v ./integration/docs

dashboard: ## docs/dashboard.md: Apache's dashboard and exporter before Apache and rocketd; DASHBOARD_JAR=FILE EXPORTER_JAR=FILE, made by mvn package from their sources
	@[ -n "$(DASHBOARD_JAR)$(EXPORTER_JAR)" ] || { echo "DASHBOARD_JAR and EXPORTER_JAR name the jars of rocketmq-dashboard 2.1.1 and rocketmq-exporter 0.0.3; no registry has them: mvn -DskipTests package in their sources makes them"; exit 1; }
	DASHBOARD_JAR="$(DASHBOARD_JAR)" EXPORTER_JAR="$(EXPORTER_JAR)" go test -count=1 -timeout 10m -v ./integration/dashboard -dashboard-table $(CURDIR)/docs/dashboard.md

mqadmin-table: ## docs/mqadmin.md: mqadmin's sub-commands against Apache and rocketd
	go test -count=1 -timeout 10m -run '^TestMQAdmin$$' ./integration -mqadmin-table $(CURDIR)/docs/mqadmin.md

bench: ## rocketd beside Apache 5.5.0 and a bare server, about 25 minutes; BENCH="-rounds 1 -only TEXT -apache=false" as you like
	go run ./integration/bench $(BENCH)

bench-quick: ## the same in about 6 minutes: one round, shorter, without the rows that take long
	go run ./integration/bench -quick -rounds 1 -scale 0.5 $(BENCH)

pgo: ## default.pgo: the CPU profile of the rows of bench, which go build takes as advice; 3 minutes
	go run ./integration/bench -scale 0.2 -pgo $(CURDIR)/default.pgo

bench-go: ## Go benchmarks of the hot paths
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

curves: ## docs/curves: cost per message as topics, queues, connections, store, timers and groups grow; CURVES="-most 0.1" for a smaller form
	go run ./integration/bench -curves docs/curves $(CURVES)

SOAK ?= 30m
soak: ## full load for SOAK, and how the memory grew
	go run ./integration/bench -soak $(SOAK)

BENCH_GB ?= 10
bench-store: build ## the store: append, pull, recovery of 1 and BENCH_GB GB, restarts, stops, outage, 50,000 queues, and the machine's limits, 6 minutes
	go run ./integration/benchstore -large $(BENCH_GB) $(BENCHSTORE)

bench-timer: ## timers and delay levels beside Apache's broker: lateness, bursts, CPU, many pending (BENCHTIMER="-pending 10000000" and the like)
	go run ./integration/benchtimer $(BENCHTIMER)

lint: ## gofmt, go vet and, when it is installed, golangci-lint
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	@export PATH="$$PATH:$$(go env GOPATH)/bin"; if command -v golangci-lint >/dev/null; then golangci-lint run; \
	else echo "golangci-lint is not installed: go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@latest"; fi

fuzz: ## every fuzz target for FUZZTIME each
	@set -e; for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		for target in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -c6- | sort -u); do \
			echo "== $$dir $$target"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$dir; \
		done; \
	done

scenarios: build ## every scenario with Java, Go and gRPC clients at Apache and rocketd; the table in docs/compatibility.md
	SCENARIO_TABLE=docs/compatibility.md go test -count=1 -timeout 30m -run 'TestJavaScenarios$$|TestGoClient$$|TestProxy$$|TestRestartUnderLoad$$|TestKilledOrderlyConsumer$$' ./integration

fuzz-differential: ## generated requests to Apache and rocketd, answers compared; SEQUENCES=2000 SEQUENCES_SEED=random
	SEQUENCES=$${SEQUENCES:-2000} SEQUENCES_SEED=$${SEQUENCES_SEED:-random} go test -count=1 -timeout 120m -v -run 'TestGeneratedSequences$$' ./integration

docs: ## docs/configuration.md from the keys of package conf
	go run ./conf/keydoc conf > docs/configuration.md

cross: ## compile for every platform of a release
	@set -e; for p in $(PLATFORMS); do echo "$$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 go build -o /dev/null .; done

release: ## dist/: archives for every platform, and SHA256SUMS
	@rm -rf dist && mkdir -p dist
	@set -e; for p in $(PLATFORMS); do \
		os=$${p%/*}; arch=$${p#*/}; name=rocketd_$(VERSION)_$${os}_$$arch; exe=rocketd; \
		if [ $$os = windows ]; then exe=rocketd.exe; fi; \
		echo "$$name"; mkdir -p dist/$$name; \
		GOOS=$$os GOARCH=$$arch CGO_ENABLED=0 go build $(GOFLAGS_RELEASE) -o dist/$$name/$$exe .; \
		cp -r LICENSE README.md DIFFERENCES.md docs deploy dist/$$name/; \
		tar -C dist -czf dist/$$name.tar.gz $$name; rm -r dist/$$name; \
	done; cd dist && sha256sum *.tar.gz > SHA256SUMS

clean: ## what the other targets make
	rm -rf bin dist integration/java/target integration/java/*/target integration/grpc/*/target integration/grpc/node/node_modules
