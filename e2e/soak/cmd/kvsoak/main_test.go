package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A few seconds of the soak: with room for everything, and with a budget that makes the
// index forget most of it.
func TestKVSoak_smoke(t *testing.T) {
	for name, budget := range map[string]string{"room": "0", "tight": "600000"} {
		t.Run(name, func(t *testing.T) {
			var report, progress bytes.Buffer
			code := run([]string{
				"--engines", "60", "--blocks", "300", "--budget", budget, "--duration", "2s", "--rounds", "2", "--churn-every", "20",
			}, &report, &progress)
			require.Zero(t, code, "%s\n%s", &progress, &report)
			require.Contains(t, report.String(), "**KV index: good**")
			if name == "tight" {
				require.NotRegexp(t, `exact / forgotten / clear not yet said \| \d+ / 0 /`, report.String(), "it forgot nothing")
			}
		})
	}
}

func TestKVSoak_wrongUsage(t *testing.T) {
	for _, argv := range [][]string{{"--engines", "0"}, {"--blocks", "10"}, {"--churn-every", "2"}, {"--speed"}, {"more"}} {
		var out, errs bytes.Buffer
		require.Equal(t, 2, run(argv, &out, &errs), "%v", argv)
		require.Contains(t, errs.String(), "kvsoak: ")
	}
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"--help"}, &out, &errs))
	require.Contains(t, out.String(), "--churn-every")
}
