GO      ?= go
MODULES := . examples integration

# The race detector needs cgo, and go turns cgo off where there is no C compiler.
RACE := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

GOLANGCI_VERSION := v2.15.0
GOLANGCI         := $(CURDIR)/.tools/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint

GOVULNCHECK_VERSION := v1.9.0

ARGS     ?=
FUZZTIME ?= 20s

# All modules have their turn, also after one has failed.
each = @bad=; for m in $(MODULES); do echo "== $$m"; (cd $$m && $(1)) || bad="$$bad $$m"; done; test -z "$$bad"

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "  make %-15s %s\n", $$1, $$2 }'

.PHONY: demo
demo: ## Run the demo shop; ARGS="-for 40s" are its flags
	@cd examples && $(GO) run ./shop $(ARGS)

# Not tested with the race detector, which makes ten times as much of them: packages without goroutines, and the command's
# scripts, each line of which is a process. What these run has tests of its own.
PLAIN := causal/internal/simulator cmd/otelprof internal/replay

.PHONY: test
test: export REQUIRE_GO_BUILD = 1
test: ## Run the tests of every module, with the race detector where there is a C compiler
	@$(if $(filter .,$(MODULES)),$(GO) test $(filter -vet=off,$(RACE)) $(addprefix ./,$(PLAIN)))
	$(call each,$(GO) test $(RACE) $$($(GO) list ./... | grep -v $(patsubst %,-e '/%$$',$(PLAIN))))

.PHONY: test-long
test-long: ## Run the tests that have more rounds with -long, or run with it only, without the race detector, five minutes
	@$(GO) test -timeout 20m $$(grep -rl --include='*_test.go' 'thorough\.\(Rounds\|Of\)' --exclude-dir=integration --exclude-dir=examples . | xargs -n 1 dirname | sort -u) -long
	@cd examples && $(GO) test ./fasta -long
	@cd integration && $(GO) test ./peers -long

# The modules of OpenTelemetry that go.mod names, of which it has the oldest releases that will do.
OTEL = $(shell $(GO) list -m -f '{{if not .Indirect}}{{.Path}}{{end}}' all | grep '^go.opentelemetry.io/otel')

.PHONY: test-otel
test-otel: ## Test what imports OpenTelemetry with its latest releases, where make test has the oldest that will do; ARGS=./exporter/... for a part
	@mkdir -p .tools && cp go.mod .tools/latest.mod && cp go.sum .tools/latest.sum
	@$(GO) get -modfile .tools/latest.mod $(addsuffix @latest,$(OTEL))
	@$(GO) list -m -modfile .tools/latest.mod $(OTEL)
	@$(GO) test -p 1 -modfile .tools/latest.mod $(or $(ARGS),$$($(GO) list -f '{{.ImportPath}} {{join .Deps " "}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... | grep ' go.opentelemetry.io/otel' | cut -d ' ' -f 1))

# Builds programs for runtime mode.
OTELPROF = mkdir -p .tools && $(GO) build -o .tools/otelprof ./cmd/otelprof

# Two of Go's tests do not fit: TestSizeof knows how large g is, and TestRuntimeLockMetricsAndProfile now and then waits
# for itself on two processors, without us too.
UNFIT = ^(TestSizeof|TestRuntimeLockMetricsAndProfile)$$

# The latest release of each version of Go that otelprof build takes, see internal/runtimemode/overlay.
TOOLCHAINS := go1.26.11 go1.27.4

.PHONY: test-runtime
test-runtime: export OTELPROF_UNTESTED_GO = 1
test-runtime: ## Test Go's own sync, context, net/http, runtime and our packages in runtime mode, ten minutes; QUICK=1 for a part, GOTOOLCHAIN=go1.28rc1 for another Go
	@$(if $(GOTOOLCHAIN),$(GO) test -count=1 ./internal/runtimemode/overlay)
	@$(OTELPROF)
	@.tools/otelprof test -timeout 5m ./internal/runtimemode/sched ./spans/schedule/schedtimes ./pmuattrs ./causal .
	@.tools/otelprof test -short -timeout 110s sync internal/sync context iter testing/synctest
ifneq ($(QUICK),1)
	@.tools/otelprof test -short -timeout 5m -skip '$(UNFIT)' net/http runtime runtime/trace internal/trace
	@$(if $(RACE),.tools/otelprof test -race -timeout 5m ./internal/runtimemode/sched ./spans/schedule/schedtimes ./pmuattrs)
	@OTELPROF_TEST_BUILDS=1 $(GO) test -count=1 -timeout 10m -run TestBuild ./cmd/otelprof
endif

.PHONY: test-toolchains
test-toolchains: ## Run the quick part of test-runtime with each version of Go that is supported; the module proxy has them
	@for t in $(TOOLCHAINS); do echo "== $$t"; $(MAKE) --no-print-directory test-runtime QUICK=1 GOTOOLCHAIN=$$t || exit 1; done

.PHONY: next-go
next-go: ## Say whether a later Go than the supported ones is out, and whether its runtime can be rewritten
	@OTELPROF_TEST_NEXT=1 $(GO) test -count=1 -v -run TestNextGo ./internal/runtimemode/overlay

# Systems that the root module has to build for without cgo: 32 bits, big-endian, and those without perf events.
CROSS := linux/386 linux/arm linux/arm64 linux/s390x linux/riscv64 windows/amd64 darwin/arm64 freebsd/amd64 js/wasm

# Without optimisation a target takes a fifth less time.
.PHONY: cross
cross: ## Build the root module for other systems, and test on 386 where that runs, REQUIRE_386=1 insists; the last line says how many build
	@ok=0; n=0; bad=; for t in $(CROSS); do n=$$((n+1)); echo "== $$t"; \
		CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build -gcflags='all=-N -l' ./... && ok=$$((ok+1)) || bad="$$bad $$t"; done; \
	echo "== tests on linux/386"; out=$$(CGO_ENABLED=0 GOOS=linux GOARCH=386 $(GO) test ./internal/mark ./otelhdr ./otelhdr/hdrmetric ./spans 2>&1) && echo "$$out" || case $$out in \
	*"exec format error"*) echo "cross: skipped: tests on 386: this machine runs no 386 programs"; test -z "$(REQUIRE_386)" || bad="$$bad tests" ;; \
	*) echo "$$out"; bad="$$bad tests" ;; esac; \
	echo "cross: $$ok of $$n targets build$${bad:+, FAILED:$$bad}"; test -z "$$bad"

.PHONY: lint
lint: $(GOLANGCI) ## Run golangci-lint in every module; the first run builds it into .tools/
	$(call each,$(GOLANGCI) run ./...)

$(GOLANGCI):
	GOBIN=$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

# Where the database is, as govulncheck takes it; REQUIRE_VULN=1 makes it a failure that it cannot be reached.
VULNDB ?= https://vuln.go.dev

.PHONY: vuln
vuln: ## Ask the Go vulnerability database about every module; says so if it cannot be reached
	@if curl -sfo /dev/null --max-time 20 $(VULNDB)/index/db.json; then \
		for m in $(MODULES); do echo "== $$m"; (cd $$m && $(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) -db $(VULNDB) ./...) || bad=1; done; test -z "$$bad"; \
	else echo "vuln: skipped: $(VULNDB) cannot be reached"; test -z "$(REQUIRE_VULN)"; fi

.PHONY: house
house: ## Print how large the project is and how it is laid out, exit 1 where a goal is missed
	@cd integration && $(GO) run ./house

.PHONY: ratios
ratios: ## Measure our cost beside the SDK's and others', an hour and a half, exit 1 where a target is missed; ARGS="-only span" for a part
	@mkdir -p .tools && cd examples && $(GO) build -o ../.tools/shop ./shop
	@cd integration && $(GO) run ./peers -shop ../.tools/shop $(ARGS)

# Tests run as root of an emulated machine with the CPU $(1), or the newest; what they need is there.
guest = QCPU=$(1) REQUIRE_PMU=1 REQUIRE_PERF=1 REQUIRE_PARANOID=1 GOARCH=arm64 CGO_ENABLED=0 \
	$(GO) test -count=1 -vet=off -exec $(CURDIR)/integration/qemu/run.sh $(ARGS)

# Mode runtime is built by otelprof, and mode replay where BUILD says so.
ACCURACY_BY = $(if $(filter runtime,$(MODE))$(filter otelprof,$(BUILD)),../.tools/otelprof,$(GO))

.PHONY: accuracy
accuracy: ## Hold causal predictions of all modes against the real thing, 30 minutes, MODE=slowdown 150; QUICK=1, MODE=slowdown, overlap, dilation, runtime or replay, TYPES=plain, BUILD=otelprof, ARGS="-only mutex"
	@$(if $(filter $(GO),$(ACCURACY_BY)),,$(OTELPROF))
	@cd integration && $(ACCURACY_BY) run ./accuracy $(if $(filter 1,$(QUICK)),-quick) $(if $(MODE),-mode $(MODE)) $(if $(TYPES),-types $(TYPES)) $(ARGS)

.PHONY: ablation
ablation: ## Say what each rule of replay is worth, two hours; the first hour records a corpus into .tools; ARGS="-rules ticker" for a part
	@mkdir -p .tools && cd integration && (test -d ../.tools/corpus || $(GO) run ./accuracy -mode replay -types plain -quick -only . -corpus ../.tools/corpus)
	@cd integration && $(GO) run ./ablation $(ARGS) ../.tools/corpus

.PHONY: realworld
realworld: ## Hold replay against programs of others, really sped up, an hour; ARGS="-only hotrod -build go", ARGS=-quick, ARGS="-mode overlap"
	@cd integration && $(GO) run ./realworld $(ARGS)

.PHONY: faults
faults: ## Run a service through faults of network, disk, limits and plans, 25 minutes; QUICK=1 for five, ARGS="-only disk"
	@cd integration && $(GO) run ./faults $(if $(filter 1,$(QUICK)),-quick) $(ARGS)

# Half of the time is a service built by go, half one built by otelprof.
SOAK_FOR = $(if $(filter 1,$(QUICK)),30s,5m)

.PHONY: soak
soak: ## Hold what callers of a service feel under random plans against the plans' limits, 10 minutes; QUICK=1 for one
	@$(OTELPROF)
	@cd integration && $(GO) run ./soak -for $(SOAK_FOR) $(ARGS)
	@cd integration && ../.tools/otelprof run ./soak -for $(SOAK_FOR) $(ARGS)

# What is missing here is a failure, unless REQUIRE_INTEGRATION is empty.
REQUIRE_INTEGRATION ?= 1

.PHONY: integration
integration: ## Run against faults, a real Collector, Jaeger, Prometheus and Chromium, 10 minutes, the first time 20; ARGS="-run Demo", ARGS=-long
	@cd integration && $(GO) run ./backends/setup
	@OTELPROF_TEST_KILLS=200 $(GO) test -count=1 -v -run Killed ./internal/exporter/otlpfile
	@cd integration && $(GO) run ./faults -quick
	@cd integration && REQUIRE_INTEGRATION=$(REQUIRE_INTEGRATION) $(GO) run ./firstuse -times 3
	@cd integration && OTELPROF_INTEGRATION=1 REQUIRE_INTEGRATION=$(REQUIRE_INTEGRATION) $(GO) test -count=1 -v -timeout $(if $(filter -long,$(ARGS)),4h,30m) -p 1 ./check ./backends $(ARGS)

.PHONY: screenshot
screenshot: ## Take the README's picture of the viewer from the demo; ARGS="-all DIR" takes every view
	@mkdir -p .tools && cd integration && $(GO) build -o ../.tools/screenshot ./screenshot
	@.tools/screenshot $(ARGS)

.PHONY: qemu
qemu: ## Run the counters' tests on emulated arm64 CPUs, which have PMUs, 32-bit tests, and set a clock back and forward; ARGS="-v -run Loop"
	@integration/qemu/setup.sh
	@$(call guest) ./internal/perf ./pmuattrs ./cmd/otelprof/internal/doctor
	@$(call guest,cortex-a57) ./internal/perf # its counters have 32 bits
	@GOARCH=arm CGO_ENABLED=0 $(GO) test -count=1 -short -vet=off -exec $(CURDIR)/integration/qemu/run.sh ./internal/mark ./otelhdr ./otelhdr/hdrmetric ./spans # of 32 bits
	@cd integration && GOARCH=arm64 CGO_ENABLED=0 $(GO) build -ldflags=-s -o ../.tools/faults-arm64 ./faults
	@QTIMEOUT=900 integration/qemu/run.sh .tools/faults-arm64 -quick -clock -only '^clock'

# How many run side by side, then on one processor each.
FUZZJOBS ?= 1

# Before 1.27 go test fails now and then where the time is over, without an input: golang/go#75804.
.PHONY: fuzz
fuzz: ## Run each fuzz test of the root module for FUZZTIME (20s), FUZZJOBS (1) at a time; the last lines say how often each ran
	@logs=$$(mktemp -d) && trap 'rm -r "$$logs"' EXIT && \
	grep -rHo --include='*_test.go' --exclude-dir=examples --exclude-dir=integration --exclude-dir='.?*' '^func Fuzz[A-Za-z0-9_]*' . | sed 's|/[^/]*:func | |' | \
	xargs -P $(FUZZJOBS) -L 1 sh -c 'log=$$0/$$(echo "$$1.$$2" | tr / .); \
		nice $(GO) test -run "^$$" -fuzz "^$$2$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $(if $(filter-out 1,$(FUZZJOBS)),-parallel 1) "$$1" >"$$log" 2>&1 && is=ok || is=FAILED; \
		grep -q "^ *context deadline exceeded" "$$log" && ! grep -q "Failing input" "$$log" && is=ok; \
		test $$is = ok || cat "$$log"; \
		execs=$$(sed -n "s/.* execs: \([0-9]*\).*/\1/p" "$$log" | tail -n 1); \
		test "$${execs:-0}" -gt 0 || is=FAILED; \
		echo "fuzz $$1 $$2 execs=$${execs:-0} $$is" | tee -a "$$0/all"; test $$is = ok' "$$logs"; \
	failed=$$?; echo; sort "$$logs/all"; exit $$failed

.PHONY: cover
cover: ## Write coverage.out and print the root module's statement coverage
	@$(GO) test -coverpkg=./... -coverprofile=coverage.out ./... && $(GO) tool cover -func=coverage.out | tail -n 1

.PHONY: tidy
tidy: $(GOLANGCI) ## Tidy every go.mod and format every file
	$(call each,$(GO) mod tidy && $(GOLANGCI) fmt ./...)

.PHONY: clean
clean: ## Remove what the other targets wrote, except .tools/
	rm -f coverage.out examples/shop/plan.yaml
