package convert

import "strings"

// origin names the flag that a path of the configuration comes from: the most
// specific one that was given, or the file that brought the buckets.
func (c *converter) origin(path string) string {
	for _, file := range []string{"--reorg-config", "--bucket-config"} {
		if c.line.has(file) && strings.Contains(path, ".buckets[") && !strings.Contains(path, ".policy.") {
			return file
		}
	}
	if strings.Contains(path, ".decode.policy.type") && c.line.has("--decode-policy") {
		return "--decode-policy"
	}
	key := path[strings.LastIndexByte(path, '.')+1:]
	for _, name := range c.line.order {
		to := c.line.given[name].flag.To
		if c.line.given[name].flag.Fate == Converted && (strings.Contains(to, "."+key+"`") || strings.Contains(to, "`"+key+"`")) {
			return name
		}
	}
	for _, place := range []struct{ in, flag string }{
		{"override", "--override-sampling-params"},
		{".sampling", "--override-sampling-params"},
		{"workers[", "--worker-urls"},
		{"pressure_guard", "--disable-pressure-guard"},
		{".admission", "--max-in-flight"},
		{".groups.pd", "--prefill-selector"},
		{".buckets", "--reorg-config"},
		{".buckets", "--bucket-config"},
		{".policy", "--policy"},
		{"session", "--session-id-header"},
		{"routing_key", "--routing-key-header"},
		{"breaker", "--cb-threshold"},
		{"models", "--model-id"},
	} {
		if strings.Contains(path, place.in) && c.line.has(place.flag) {
			return place.flag
		}
	}
	return "configuration"
}
