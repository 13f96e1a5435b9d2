package fakes

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fourKB is a chat of about 4 KB, the size that the project's benchmarks use.
var fourKB = `{"model":"demo","messages":[{"role":"user","content":"` + strings.Repeat("word ", 800) + `"}],"max_tokens":16`

// sink is a response writer that costs next to nothing, so that the handler's own work is measured.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}
func (s *sink) Flush()                      {}

// BenchmarkHandler is the engine's own cost per request; BenchmarkLoopback adds net/http on both sides and the kernel.
func BenchmarkHandler(b *testing.B) {
	for _, bc := range []struct {
		name, body string
		entries    int
	}{
		{"reply=whole", fourKB + `}`, 0},
		{"reply=stream", fourKB + `,"stream":true}`, 0},
		{"reply=whole,record=off", fourKB + `}`, -1},
	} {
		b.Run(bc.name, func(b *testing.B) {
			e, err := New(Config{RecordedEntries: bc.entries})
			require.NoError(b, err)
			p := newProcess(e, "127.0.0.1:1", e.nextStart())
			req := httptest.NewRequest(http.MethodPost, chatPath, nil)
			req.ContentLength = int64(len(bc.body))
			body := strings.NewReader(bc.body)
			req.Body = io.NopCloser(body)
			w := &sink{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				body.Reset(bc.body)
				clear(w.header)
				p.ServeHTTP(w, req)
			}
			require.EqualValues(b, b.N, e.Counters().Completed)
		})
	}
}

func BenchmarkLoopback(b *testing.B) {
	for name, body := range map[string]string{"whole": fourKB + `}`, "stream": fourKB + `,"stream":true}`} {
		b.Run("reply="+name, func(b *testing.B) {
			e, err := New(Config{})
			require.NoError(b, err)
			require.NoError(b, e.Start(""))
			defer e.Stop()
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			b.ReportAllocs()
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, e.URL()+chatPath, bytes.NewReader([]byte(body)))
				require.NoError(b, err)
				res, err := tr.RoundTrip(req)
				require.NoError(b, err)
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		})
	}
}
