package hostsim_test

import (
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim"
)

func TestWritePrometheus(t *testing.T) {
	var out strings.Builder
	require.NoError(t, hostsim.WritePrometheus(&out, []hostsim.Metric{
		{Name: "wasmcustom.a_total", Value: 3},
		{Name: "wasmcustom.b_total_outcome=late", Value: 1},
		{Name: "wasmcustom.b_total_outcome=no \"x\"", Value: 2},
		{Name: "wasmcustom.c.d-e", Type: hostsim.MetricGauge, Value: -4},
		{Name: "wasmcustom.ms", Type: hostsim.MetricHistogram, Value: 30, Records: 2},
	}))
	require.Equal(t, `# TYPE a_total counter
a_total 3
# TYPE b_total counter
b_total{outcome="late"} 1
b_total{outcome="no \"x\""} 2
# TYPE c_d_e gauge
c_d_e -4
# TYPE ms summary
ms_sum 30
ms_count 2
`, out.String())
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(out.String()))
	require.NoError(t, err)
	require.Len(t, families, 4)
}
