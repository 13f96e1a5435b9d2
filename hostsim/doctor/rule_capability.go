package doctor

import (
	"slices"
	"strings"
)

func capabilityRules() []Rule {
	return []Rule{{
		Name: "capabilities", Severity: Error, Looks: "a list of allowed capabilities without calls that the filter makes or gets",
		Why: "a call that is not allowed does nothing: the filter does not start, or sees no requests, or routes without what it would have learnt", Source: "envoy.md 1.7",
		Fix: "add them to allowed_capabilities, each with {}, or leave capability_restriction_config out", check: capabilities,
	}}
}

// neededCapabilities are the calls between the host and the module that the filter does
// not work without, and those of WASI that Go's own start makes. Logging is none of them.
func neededCapabilities() []string {
	return []string{
		"proxy_on_configure", "proxy_on_context_create", "proxy_on_delete", "proxy_on_http_call_response", "proxy_on_log",
		"proxy_on_request_body", "proxy_on_request_headers", "proxy_on_request_trailers", "proxy_on_response_headers",
		"proxy_on_tick", "proxy_on_vm_start",
		"proxy_continue_stream", "proxy_define_metric", "proxy_get_buffer_bytes", "proxy_get_header_map_pairs",
		"proxy_get_header_map_value", "proxy_get_property", "proxy_get_shared_data", "proxy_http_call", "proxy_increment_metric",
		"proxy_remove_header_map_value", "proxy_replace_header_map_value", "proxy_send_local_response", "proxy_set_buffer_bytes",
		"proxy_set_effective_context", "proxy_set_shared_data", "proxy_set_tick_period_milliseconds",
		"args_get", "args_sizes_get", "clock_time_get", "environ_get", "environ_sizes_get", "random_get",
	}
}

// streamCapabilities are those that state.call_stream needs beside them.
func streamCapabilities() []string {
	return []string{"proxy_grpc_cancel", "proxy_grpc_send", "proxy_grpc_stream", "proxy_on_grpc_close", "proxy_on_grpc_receive"}
}

// capabilities compares a list with what is needed. An empty one allows everything.
func capabilities(m *model, report reporter) {
	m.eachPlugin(func(_ *proxy, f *filter) {
		allowed := f.plugin.allowed.Keys()
		if len(allowed) == 0 {
			return
		}
		needed := neededCapabilities()
		if f.callStream() {
			needed = append(needed, streamCapabilities()...)
		}
		missing := slices.DeleteFunc(needed, func(name string) bool { return slices.Contains(allowed, name) })
		if len(missing) > 0 {
			report(f.plugin.allowed, "not allowed: %s", strings.Join(missing, ", "))
		}
	})
}
