package convert

// Owners of settings outside routing.
const (
	envoyListener = "Envoy: "
	stateService  = "the state service: "
)

// serverFlags are those of the process and of requests in general.
func serverFlags() []Flag {
	return []Flag{
		{Name: "--host", Value: "ADDR", Default: "127.0.0.1", kind: kindText, Fate: Outside, To: envoyListener + "the address of its listener"},
		{
			Name: "--port", Value: "PORT", Default: "30000", Rule: "from 1 to 65535", kind: kindCount, good: func(x float64) bool { return x >= 1 && x <= 65535 },
			Fate: Outside, To: envoyListener + "the port_value of its listener",
		},
		{Name: "--model-id", Value: "NAME", Rule: "required", kind: kindText, Fate: Converted, To: "`models`, and `models` of each worker"},
		{
			Name: "--tokenizer-path", Value: "PATH", Default: "the model id", kind: kindText, Fate: Outside,
			To: stateService + "`tokenize.models.<model>.dir` of its configuration",
		},
		{Name: "--disable-input-ids-forwarding", kind: kindSwitch, Fate: Outside, To: "nobody: bodies go to the engine without token ids unless the model has `input_ids`"},
		{Name: "--override-sampling-params", Value: "JSON", Rule: "an object, see core/sampling/README.md", kind: kindText, Fate: Converted, To: "`sampling.override` of the model"},
		{
			Name: "--sampling-param-conflict", Value: "MODE", Default: "reject", kind: kindText, choices: []string{"reject", "allow"},
			needs: "--override-sampling-params", Fate: Converted, To: "`sampling.conflict` of the model",
		},
		{Name: "--shutdown-drain-secs", Value: "SECS", Default: "30", kind: kindCount, Fate: Outside, To: envoyListener + "--drain-time-s and its health check filter"},
		{Name: "--termination-grace-secs", Value: "SECS", kind: kindCount, Fate: Outside, To: "the orchestrator: terminationGracePeriodSeconds of Envoy's pods"},
		{Name: "--request-timeout-secs", Value: "SECS", Default: "300", Rule: "at least 1", kind: kindCount, good: atLeastOne, Fate: Outside, To: envoyListener + "timeout of the route, which is 15 s unless set"},
		{Name: "--stream-idle-timeout-secs", Value: "SECS", Default: "180", Rule: "at least 1", kind: kindCount, good: atLeastOne, Fate: Outside, To: envoyListener + "stream_idle_timeout, or idle_timeout of the route"},
		{
			Name: "--stale-request-timeout-secs", Value: "SECS", Default: "600", Rule: "at least 1", kind: kindCount, good: atLeastOne, Fate: Outside,
			To: "nobody: a request is counted until its stream ends, which Envoy's time-outs bound",
		},
		{Name: "--log-level", Value: "LEVEL", Default: "info", kind: kindText, Fate: Outside, To: envoyListener + "--component-log-level wasm:LEVEL"},
		{Name: "--log-format", Value: "FORMAT", Default: "text", kind: kindText, choices: []string{"text", "json"}, Fate: Outside, To: envoyListener + "--log-format and its access log"},
	}
}

// fleetFlags say which engines there are.
func fleetFlags() []Flag {
	return []Flag{
		{Name: "--worker-urls", Value: "URL...", Rule: "this or --service-discovery", kind: kindList, Fate: Converted, To: "`workers`, with literal addresses"},
		{Name: "--service-discovery", Rule: "this or --worker-urls", kind: kindSwitch, Fate: Converted, To: "`state`; the state service finds engines"},
		{Name: "--service-discovery-namespace", Value: "NS", Default: "all", kind: kindText, needs: "--service-discovery", Fate: Outside, To: stateService + "`fleet` of its configuration"},
		{Name: "--selector", Value: "TERM...", kind: kindList, needs: "--service-discovery", Fate: Outside, To: stateService + "`fleet` of its configuration"},
		{
			Name: "--prefill-selector", Value: "TERM...", Rule: "with --decode-selector, and not the same", kind: kindList, needs: "--service-discovery",
			Fate: Converted, To: "`groups.pd`; which engines these are is for `fleet` of the state service's configuration",
		},
		{
			Name: "--decode-selector", Value: "TERM...", Rule: "with --prefill-selector, and not the same", kind: kindList, needs: "--service-discovery",
			Fate: Converted, To: "`groups.pd`; which engines these are is for `fleet` of the state service's configuration",
		},
	}
}
