GO      ?= go
MODULES := . examples integration

# The race detector needs cgo, and go turns cgo off where there is no C compiler.
RACE := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

GOLANGCI_VERSION := v2.15.0
GOLANGCI         := $(CURDIR)/.tools/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint

ARGS     ?=
FUZZTIME ?= 20s

# All modules have their turn, also after one has failed.
each = @bad=; for m in $(MODULES); do echo "== $$m"; (cd $$m && $(1)) || bad="$$bad $$m"; done; test -z "$$bad"

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'

.PHONY: demo
demo: ## Run the demo shop; ARGS="-for 40s -listen 127.0.0.1:18080" are its flags
	@cd examples && $(GO) run ./shop $(ARGS)

.PHONY: test
test: ## Run the tests of every module, with the race detector where there is a C compiler
	$(call each,$(GO) test $(RACE) ./...)

# Builds programs for runtime mode.
OTELPROF = mkdir -p .tools && $(GO) build -o .tools/otelprof ./cmd/otelprof

# Two of Go's tests do not fit: TestSizeof knows how large g is, and TestRuntimeLockMetricsAndProfile now and then waits
# for itself on two processors, without us too.
UNFIT = ^(TestSizeof|TestRuntimeLockMetricsAndProfile)$$

.PHONY: test-runtime
test-runtime: ## Test Go's own sync, context, net/http, runtime and our packages in runtime mode, ten minutes; QUICK=1 for a part
	@$(OTELPROF)
	@.tools/otelprof test -timeout 5m ./internal/sched ./spans/schedtimes ./pmuattrs ./causal .
	@.tools/otelprof test -short -timeout 110s sync internal/sync context iter testing/synctest
ifneq ($(QUICK),1)
	@.tools/otelprof test -short -timeout 5m -skip '$(UNFIT)' net/http runtime runtime/trace internal/trace
	@$(if $(RACE),.tools/otelprof test -race -timeout 5m ./internal/sched ./spans/schedtimes ./pmuattrs)
	@OTELPROF_TEST_BUILDS=1 $(GO) test -count=1 -timeout 10m -run TestBuild ./cmd/otelprof
endif

.PHONY: lint
lint: $(GOLANGCI) ## Run golangci-lint in every module; the first run builds it into .tools/
	$(call each,$(GOLANGCI) run ./...)

$(GOLANGCI):
	GOBIN=$(@D) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

.PHONY: ratios
ratios: ## Measure our cost beside the SDK's and others', five minutes; ARGS="-only span" for a part
	@cd integration && $(GO) run ./peers $(ARGS)

# Tests run as root of an emulated machine with the CPU $(1), or the newest; what they need is there.
guest = QCPU=$(1) REQUIRE_PMU=1 REQUIRE_PERF=1 REQUIRE_PARANOID=1 GOARCH=arm64 CGO_ENABLED=0 \
	$(GO) test -count=1 -vet=off -exec $(CURDIR)/integration/qemu/run.sh $(ARGS)

# Mode runtime is built by otelprof, and mode replay where BUILD says so.
ACCURACY_BY = $(if $(filter runtime,$(MODE))$(filter otelprof,$(BUILD)),../.tools/otelprof,$(GO))

.PHONY: accuracy
accuracy: ## Hold causal predictions against the real thing, 10 minutes; QUICK=1, MODE=overlap, dilation, runtime or replay, TYPES=plain, BUILD=otelprof, ARGS="-only mutex"
	@$(if $(filter $(GO),$(ACCURACY_BY)),,$(OTELPROF))
	@cd integration && $(ACCURACY_BY) run ./accuracy $(if $(filter 1,$(QUICK)),-quick) $(if $(MODE),-mode $(MODE)) $(if $(TYPES),-types $(TYPES)) $(ARGS)

.PHONY: realworld
realworld: ## Hold replay against programs of others, really sped up, 30 minutes; ARGS="-only hotrod -build go", ARGS=-quick
	@cd integration && $(GO) run ./realworld $(ARGS)

# What is missing here is a failure, unless REQUIRE_INTEGRATION is empty.
REQUIRE_INTEGRATION ?= 1

.PHONY: integration
integration: ## Run against a real Collector, Jaeger, Prometheus and Chromium, 3 minutes, the first time 12; ARGS="-run Demo", ARGS=-long
	@cd integration && $(GO) run ./backends/setup
	@OTELPROF_TEST_KILLS=200 $(GO) test -count=1 -v -run Killed ./exporter/otlpfile
	@cd integration && OTELPROF_INTEGRATION=1 REQUIRE_INTEGRATION=$(REQUIRE_INTEGRATION) $(GO) test -count=1 -v -timeout 30m ./backends $(ARGS)

.PHONY: screenshot
screenshot: ## Take the README's picture of the viewer from the demo; ARGS="-all DIR" takes every view
	@mkdir -p .tools && cd integration && $(GO) build -o ../.tools/screenshot ./screenshot
	@.tools/screenshot $(ARGS)

.PHONY: qemu
qemu: ## Run the counters' tests on emulated arm64 CPUs, which have PMUs; ARGS="-v -run Loop"
	@integration/qemu/setup.sh
	@$(call guest) ./internal/perf ./pmuattrs
	@$(call guest,cortex-a57) ./internal/perf # its counters have 32 bits

.PHONY: fuzz
fuzz: ## Run each fuzz test of the root module for FUZZTIME (20s)
	@for t in $$(grep -rHo --include='*_test.go' --exclude-dir=examples --exclude-dir=integration --exclude-dir='.?*' '^func Fuzz[A-Za-z0-9_]*' . | sed 's|/[^/]*:func |:|'); do \
		$(GO) test -run '^$$' -fuzz "^$${t##*:}$$" -fuzztime $(FUZZTIME) "$${t%:*}" || exit 1; done

.PHONY: cover
cover: ## Write coverage.out and print the root module's statement coverage
	@$(GO) test -coverpkg=./... -coverprofile=coverage.out ./... && $(GO) tool cover -func=coverage.out | tail -n 1

.PHONY: tidy
tidy: $(GOLANGCI) ## Tidy every go.mod and format every file
	$(call each,$(GO) mod tidy && $(GOLANGCI) fmt ./...)

.PHONY: clean
clean: ## Remove what the other targets wrote, except .tools/
	rm -f coverage.out examples/shop/plan.yaml
