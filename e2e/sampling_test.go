package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/stretchr/testify/require"
)

// governedModels is allModels with a sampling contract.
func governedModels(contract string) string {
	return strings.Replace(allModels, `{"m": {`, `{"m": {"sampling": `+contract+`, `, 1)
}

// allPaths routes every dialect.
func allPaths() string { return `"paths":["` + strings.Join(chat.Paths(), `","`) + `"],` }

const strictSampling = `{"override": {"temperature": 0.6, "top_k": 20, "top_p": {"min": 0.5, "max": 1}}}`

// spliceCase is a body and what an engine must get of it.
type spliceCase struct {
	name, path, body string
	at               int // where the text goes, from the end of the body
	text             string
	chunked          bool
	trailer          bool
}

func spliceCases() []spliceCase {
	const chatPath, text = "/v1/chat/completions", `,"temperature":0.6,"top_k":20`
	long := strings.Repeat("word }{\\\" ", 1<<20/10)
	return []spliceCase{
		{name: "smallest", path: chatPath, body: `{"model":"m"}`, at: 1, text: text},
		{name: "white space before the brace", path: chatPath, body: "{\"model\":\"m\" \r\n\t}", at: 1, text: text},
		{name: "white space after the brace", path: chatPath, body: " {\"model\":\"m\"} \r\n", at: 4, text: text},
		{name: "null is filled", path: chatPath, body: `{"temperature":null,"model":"m","top_k":"2_0"}`, at: 1, text: `,"temperature":0.6`},
		{name: "nothing is missing", path: chatPath, body: `{"model":"m","temperature":0.60,"top_k":20.0,"top_p":0.7}`},
		{name: "the last value counts", path: chatPath, body: `{"model":"m","temperature":1e400,"temperature":0.6,"top_k":20}`},
		{name: "1 MB", path: chatPath, body: `{"model":"m","messages":[{"content":"` + long + `"}]}`, at: 1, text: text},
		{name: "1 MB in chunks", path: chatPath, body: `{"model":"m","messages":[{"content":"` + long + `"}]}`, at: 1, text: text, chunked: true},
		{name: "chunks", path: chatPath, body: `{"model":"m"}`, at: 1, text: text, chunked: true},
		{name: "chunks and trailers", path: chatPath, body: `{"model":"m"}`, at: 1, text: text, chunked: true, trailer: true},
		{name: "1 MB, chunks and trailers", path: chatPath, body: `{"model":"m","messages":["` + long + `"]}` + "\n", at: 2, text: text, chunked: true, trailer: true},
		{name: "completions", path: "/v1/completions", body: `{"model":"m","prompt":"}"}`, at: 1, text: text},
		{name: "generate, empty", path: "/generate", body: `{}`, at: 1, text: `"sampling_params":{"temperature":0.6,"top_k":20}`},
		{name: "generate, empty parameters", path: "/generate", body: `{"sampling_params":{ },"text":"t"}`, at: len(`},"text":"t"}`), text: `"temperature":0.6,"top_k":20`},
		{name: "generate, parameters before 1 MB", path: "/generate", body: `{"sampling_params":{"top_k":20},"text":"` + long + `"}`, at: len(`},"text":""}`) + len(long), text: `,"temperature":0.6`},
		{name: "responses", path: "/v1/responses", body: `{"model":"m","input":"i"}`, at: 1, text: text},
		{name: "messages", path: "/v1/messages", body: `{"model":"m","messages":[]}`, at: 1, text: text},
		{name: "embeddings are let alone", path: "/v1/embeddings", body: `{"model":"m","input":"i","temperature":1}`},
	}
}

// wanted is what must arrive.
func (c spliceCase) wanted() string {
	offset := len(c.body) - c.at
	return c.body[:offset] + c.text + c.body[offset:]
}

func (c spliceCase) request() string {
	if !c.chunked {
		return rawPost(c.path, c.body)
	}
	var parts []string
	for rest := c.body; rest != ""; {
		n := min(len(rest), 40_000)
		parts, rest = append(parts, rest[:n]), rest[n:]
	}
	if c.trailer {
		return rawHead(c.path, "Transfer-Encoding: chunked", "Trailer: X-Sum") + rawChunks(parts, "X-Sum: 1")
	}
	return rawHead(c.path, "Transfer-Encoding: chunked") + rawChunks(parts)
}

// The engine gets the client's bytes with the defaults put in, byte for byte, and
// a content-length that fits.
func TestSampling_splice_is_exact(t *testing.T) {
	for _, h := range hosts() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, h, stageSetup{watched: 2, quiet: true, setup: setup{filter: governedModels(strictSampling), extra: allPaths()}})
			for _, tc := range spliceCases() {
				t.Run(tc.name, func(t *testing.T) {
					inner := s.in(t)
					inner.arrivals()
					inner.play(plainAnswer)
					a := inner.raw(tc.request())
					require.Equal(t, http.StatusOK, a.status, "%s\n%s", a.body, s.log())
					seen := inner.arrival()
					require.Equal(t, sumOf(tc.wanted()), seen.sum(), "%.300s", seen.body)
					require.False(t, seen.cut)
					if seen.length >= 0 {
						require.Equal(t, int64(len(tc.wanted())), seen.length)
					}
				})
			}
			s.in(t).awaitInflight(0)
			require.NotContains(t, s.log(), "failed:", "a VM failed")
		})
	}
}

// A request that breaks the contract reaches no engine, and every field it breaks
// is counted.
func TestSampling_violations(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, h, stageSetup{watched: 1, quiet: true, setup: setup{filter: governedModels(strictSampling), extra: allPaths()}})
			for _, tc := range []struct{ path, body, field string }{
				{"/v1/chat/completions", `{"model":"m","temperature":0.7}`, "temperature"},
				{"/v1/chat/completions", `{"model":"m","top_p":0.4,"top_k":1}`, "top_p"},
				{"/v1/completions", `{"model":"m","prompt":"p","temperature":"warm"}`, "temperature"},
				{"/v1/completions", `{"model":"m","prompt":"p","top_k":1e400}`, "top_k"},
				{"/generate", `{"text":"t","sampling_params":{"top_p":0.1}}`, "top_p"},
				{"/generate", `{"text":["t"],"sampling_params":[{}]}`, "sampling_params"},
				{"/v1/responses", `{"model":"m","input":"i","temperature":true}`, "temperature"},
				{"/v1/messages", `{"model":"m","messages":[],"top_k":21}`, "top_k"},
			} {
				a := s.do(http.MethodPost, tc.path, jsonHeader(), strings.NewReader(tc.body))
				s.requireRefused(a, http.StatusBadRequest, "sampling_contract_violation")
				require.Contains(t, a.body, `\"`+tc.field+`\"`, tc.body)
			}
			require.Empty(t, s.arrivals())
		})
	}
}

// Under allow a different value passes as it is, and defaults are still given.
func TestSampling_allow(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, h, stageSetup{watched: 1, quiet: true, setup: setup{filter: governedModels(`{"override": {"temperature": 0.6, "n": 1}, "conflict": "allow"}`)}})
			require.Equal(t, http.StatusOK, s.post(`{"model":"m","temperature":"warm"}`).status)
			want := `{"model":"m","temperature":"warm","n":1}`
			require.Equal(t, want, s.arrival().body)
		})
	}
}
