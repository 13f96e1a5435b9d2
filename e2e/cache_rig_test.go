package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// cacheModels routes each model by its policy.
func cacheModels(policies map[string]string) string {
	var models []string
	for name, policy := range policies {
		models = append(models, fmt.Sprintf(`%q: {"buckets": [{"id": "all", "groups": {"plain": {"policy": %s}}}]}`, name, policy))
	}
	return "{" + strings.Join(models, ",") + "}"
}

// cachePolicy routes model "m" by the index, with further settings of the policy.
func cachePolicy(settings string) string {
	return cacheModels(map[string]string{"m": `{"type": "cache_aware"` + settings + `}`})
}

// caches is a proxy of two workers before engines with caches, once the index follows
// them and their tokens are told.
func caches(t *testing.T, h host, filter string, engines []fakes.Config, state ...string) *rig {
	t.Helper()
	r := newRig(t, h, setup{engines: engines, filter: filter, service: asking, state: patient + strings.Join(state, ""), concurrency: 2, extra: `"worker_header":true,`})
	r.awaitWorkers()
	r.awaitLookups()
	return r
}

// awaitLookups waits until the index has all that engines said and the state service
// answers lookups.
func (r *rig) awaitLookups() {
	r.t.Helper()
	r.awaitStored()
	for _, model := range r.engine(0).Config().Models {
		r.eventually(func() bool {
			return r.lookup("local", chatBody(model, 20)).Outcome != wire.LookupUnavailable
		}, "the state service looks no prompt of %s up", model)
	}
}

// lookup asks a prefix source about a chat as the filter does.
func (r *rig) lookup(source, body string) wire.Lookup {
	r.t.Helper()
	var of struct{ Model string }
	require.NoError(r.t, json.Unmarshal([]byte(body), &of))
	message := wire.AppendObserveRequest(nil, &wire.ObserveRequest{
		Context: 1, Model: of.Model, Asked: of.Model, Path: "/v1/chat/completions", TimeoutMillis: 10_000, Tokens: true, Sources: []string{source},
	})
	req, err := http.NewRequest(http.MethodPost, "http://"+r.state.addr+wire.ObservePath, strings.NewReader(body))
	require.NoError(r.t, err)
	req.Header.Set("Content-Type", wire.ContentType)
	req.Header.Set(wire.ObserveHeader, base64.RawURLEncoding.EncodeToString(message))
	resp, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	reply, err := wire.DecodeObserveReply(raw)
	require.NoError(r.t, err)
	require.Len(r.t, reply.Lookups, 1)
	return reply.Lookups[0]
}

// turnBody is turnOf for model "m".
func turnBody(t testing.TB, system string, turns ...string) string {
	t.Helper()
	return turnOf(t, "m", system, turns...)
}

// turnOf is a chat of the messages given, user and assistant by turns after an
// optional system prompt.
func turnOf(t testing.TB, model, system string, turns ...string) string {
	t.Helper()
	var messages []map[string]string
	if system != "" {
		messages = append(messages, map[string]string{"role": "system", "content": system})
	}
	for i, text := range turns {
		messages = append(messages, map[string]string{"role": [...]string{"user", "assistant"}[i%2], "content": text})
	}
	body, err := json.Marshal(map[string]any{"model": model, "messages": messages, "max_tokens": 8})
	require.NoError(t, err)
	return string(body)
}

func prefixOf(tag string, i int) string { return wordy(fmt.Sprint(tag, i), 1500) }

// stored has one engine hold prefixes, named by a tag, that no other engine holds. The
// index knows of them when they are returned. Half of the slots are used, since who is
// answered may come again before its slot is free.
func (r *rig) stored(holder *fakes.Engine, tag string, n int) []string {
	r.t.Helper()
	prefixes := make([]string, n)
	for i := range prefixes {
		prefixes[i] = prefixOf(tag, i)
	}
	answered := many(n, holder.Config().Slots/2, func(i int) string {
		return fmt.Sprint(r.direct(r.t.Context(), holder, turnBody(r.t, prefixes[i], "first")))
	})
	require.Equal(r.t, map[string]int{"true": n}, answered)
	r.awaitIdle()
	r.awaitStored()
	return prefixes
}

// homes counts the engines that one request for each of the prefixes goes to.
func (r *rig) homes(prefixes []string) map[string]int {
	r.t.Helper()
	used := map[string]int{}
	for _, prefix := range prefixes {
		used[r.ask(prefix, "second").worker()]++
	}
	return used
}

// ask sends a question behind a prefix through the proxy, by any worker of it.
func (r *rig) ask(prefix, question string) answer {
	r.t.Helper()
	a := r.fresh([]byte(turnBody(r.t, prefix, question)))
	require.Equal(r.t, http.StatusOK, a.status, a.body)
	return a
}

// direct sends a request past the proxy, and reports whether it was answered.
func (r *rig) direct(ctx context.Context, e *fakes.Engine, body string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL()+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return err == nil && resp.StatusCode == http.StatusOK
}

// wordy is a text of about so many tokens of the fake engines, which no other tag has.
func wordy(tag string, tokens int) string { return strings.Repeat(tag+" ", tokens) }

// usageOf reads the usage of an answer.
func usageOf(t testing.TB, a answer) usage {
	t.Helper()
	var doc struct{ Usage usage }
	require.NoError(t, json.Unmarshal([]byte(a.body), &doc), a.body)
	return doc.Usage
}
