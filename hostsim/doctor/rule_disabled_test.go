package doctor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A filter may be off in general and on for the routes that it is for, or off where no
// engines are.
func TestDisabled_where_it_is_meant(t *testing.T) {
	const on = `typed_per_filter_config: {pointsman: {"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, disabled: false}}`
	const off = `typed_per_filter_config: {pointsman: {"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, disabled: true}}`
	const match, any = "                        - match: {prefix: /}\n", "\n                          "
	general := strings.Replace(good(t, "override-host.yaml"), "                  - name: pointsman\n", "                  - name: pointsman\n                    disabled: true\n", 1)
	legacy := "                        - match: {path: /v1/completions}" + any + off + any + "route: {cluster: pointsman_state, timeout: 0s}\n"
	for name, text := range map[string]string{
		"on for its route": strings.Replace(general, match, match[:len(match)-1]+any+on+"\n", 1),
		"off for another":  strings.Replace(good(t, "override-host.yaml"), match, legacy+match, 1),
	} {
		require.Empty(t, brief(worst(Examine([]Input{{Name: "envoy.yaml", Data: []byte(text)}}, Options{}).Findings)), name)
	}
}
