// Package vllm routes conversations to real vLLM servers through a real Envoy. Its tests
// have the build tag vllm and are run by make e2e-vllm alone, which installs vLLM and
// makes the model.
package vllm
