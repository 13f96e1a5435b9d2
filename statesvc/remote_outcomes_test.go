package statesvc_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/enginetest"
	"github.com/pointsman/pointsman/statesvc/indexer/indexertest"
	"github.com/pointsman/pointsman/statesvc/indexer/kvindexerpb"
	"github.com/pointsman/pointsman/statesvc/tokenize/tokenizetest"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Whatever an indexer does, a prompt's observe is answered in time, with the prompt's
// length and the documented outcome of the lookup (indexer/README.md).
func TestService_indexers_of_all_kinds(t *testing.T) {
	e := enginetest.Start(t)
	e.Set(func(s *enginetest.State) { s.Models = enginetest.Models("m") })
	dir := smallTokenizer(t)
	header := base64.RawURLEncoding.EncodeToString(wire.AppendObserveRequest(nil, &wire.ObserveRequest{
		Context: 1, Model: "m", Asked: "m", Path: "/v1/chat/completions", TimeoutMillis: 10_000, Tokens: true, Sources: []string{"remote"},
	}))
	question := knownChat(0, 2*turnBytes)
	for name, c := range map[string]struct {
		url     func(t *testing.T) string
		timeout int
		outcome wire.LookupOutcome
		detail  string
	}{
		"holds":            {says(held("http://" + e.Address())), 10_000, wire.LookupHit, ""},
		"holds nothing":    {says(nil), 10_000, wire.LookupMiss, ""},
		"hangs":            {answers(indexertest.Hang), 100, wire.LookupUnavailable, "timeout: "},
		"never says":       {mute, 100, wire.LookupUnavailable, "timeout: "},
		"is not there":     {gone, 10_000, wire.LookupUnavailable, "unreachable: "},
		"is a web page":    {page, 10_000, wire.LookupUnavailable, "unreachable: "},
		"is going":         {refuses(codes.Unavailable), 10_000, wire.LookupUnavailable, "unreachable: "},
		"has too much":     {refuses(codes.ResourceExhausted), 10_000, wire.LookupUnavailable, "overloaded: "},
		"takes less":       {refuses(codes.OutOfRange), 10_000, wire.LookupUnavailable, "too_large: "},
		"garbles":          {says([]byte("<html>no message</html>")), 10_000, wire.LookupUnavailable, "senseless: "},
		"says too much":    {says(make([]byte, 64<<20)), 10_000, wire.LookupUnavailable, "senseless: "},
		"names too many":   {says(held(make([]string, 16_385)...)), 10_000, wire.LookupUnavailable, "senseless: "},
		"refuses":          {refuses(codes.InvalidArgument), 10_000, wire.LookupInvalid, "rejected: "},
		"has no such call": {refuses(codes.Unimplemented), 10_000, wire.LookupInvalid, "rejected: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, fmt.Sprintf(`version: 1
listen: 127.0.0.1:0
shutdown: {drain_ms: 0}
fleet: {static: [{id: e1, address: %q, models: [m]}]}
tokenize: {models: {m: {dir: %q, engine: vllm, trust: true, ask_engine: false}}}
kv: {remote: {endpoints: [%q], block_size: 16, timeout_ms: %d}}
`, e.Address(), dir, c.url(t), c.timeout))
			o := &observing{addr: s.Addr(), header: header}
			var reply *wire.ObserveReply
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
				reply = o.ask(t, header, question())
				require.True(t, reply.Tokens.Known, "the length is known without the indexer")
				require.Len(t, reply.Lookups, 1)
				l := reply.Lookups[0]
				if l.Outcome == c.outcome && strings.HasPrefix(l.Detail, c.detail) {
					break
				}
				require.True(t, time.Now().Before(deadline), "%v %s", l.Outcome, l.Detail)
			}
		})
	}
}

// smallTokenizer is a folder with a tokenizer that loads at once.
func smallTokenizer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), tokenizetest.JSON(t, tokenizetest.Small()), 0o600))
	config, err := os.ReadFile(tokenizetest.File(t, "qwen3", "tokenizer_config.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), config, 0o600))
	return dir
}

func answers(a indexertest.Answer) func(*testing.T) string {
	return func(t *testing.T) string { return indexertest.Start(t, a).URL }
}

func says(message []byte) func(*testing.T) string {
	return answers(func(context.Context, *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error) { return message, nil })
}

func refuses(code codes.Code) func(*testing.T) string {
	return answers(func(context.Context, *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error) {
		return nil, status.Error(code, "as told")
	})
}

// held is the answer that workers hold a block each.
func held(addresses ...string) []byte {
	m := &kvindexerpb.MatchExternalKvPrefixResponse{}
	for _, a := range addresses {
		m.Matches = append(m.Matches, &kvindexerpb.ExternalKvPrefixMatch{WorkerAddress: a, MatchedPrefixBlocks: 1})
	}
	b, _ := proto.Marshal(m) // text of this file always encodes
	return b
}

// mute accepts and never says a word.
func mute(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}

// gone is a port where nobody listens.
func gone(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return "http://" + l.Addr().String()
}

func page(t *testing.T) string {
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	return s.URL
}
