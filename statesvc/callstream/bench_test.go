package callstream_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkServer is what carrying a call with a body of 4 KB costs, the answer and a client
// of little cost included: one call at a time, and sixteen that are sent together.
func BenchmarkServer(b *testing.B) {
	for name, together := range map[string]int{"1": 1, "16": 16} {
		b.Run(name, func(b *testing.B) {
			r := newRigWith(b, 2*together)
			close(r.let)
			c := r.dial(b, 1<<30)
			call := observe(b, 1, make([]byte, 4<<10))
			before := cpuTime(b)
			for n := 0; n < b.N; n += together {
				for range together {
					require.NoError(b, c.Send(call))
				}
				for range together {
					_, err := c.Receive()
					require.NoError(b, err)
				}
			}
			b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-us/call")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
