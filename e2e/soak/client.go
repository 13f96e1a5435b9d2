package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pointsman/pointsman/e2e/soak/engine"
)

// LargeBytes is the size of a large body: the filter's limit.
const LargeBytes = 32 << 20

// maxPrompt bounds the prompts of ordinary chats.
const maxPrompt = 8 << 10

// answerWithin is how long an answer may take before the outcome is a time-out.
const answerWithin = 60 * time.Second

// aborted is the outcome of a client that left as it was asked to.
const aborted = "aborted"

const (
	chatPath  = "/v1/chat/completions"
	chatTail  = `"}]}`
	codeField = "X-Router-Error-Code"
)

// client sends the requests of a plan. It is safe for concurrent use.
type client struct {
	plan  Plan
	addr  string
	http  *http.Client
	large []byte
	words string
	// oneLarge lets one large body through at a time, so that the high-water mark
	// of memory is that of one body from the first on.
	oneLarge sync.Mutex
}

func newClient(plan Plan, addr string, connections int) *client {
	head := chatHead(engine.Model, false)
	large := bytes.Repeat([]byte("x"), LargeBytes)
	copy(large, head)
	copy(large[len(large)-len(chatTail):], chatTail)
	return &client{
		plan: plan, addr: addr, large: large, words: strings.Repeat("word ", maxPrompt/5),
		http: &http.Client{Timeout: answerWithin, Transport: &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}},
	}
}

// withoutLarge calls look while no large body is on its way, so that samples are
// of the same state.
func (c *client) withoutLarge(look func() error) error {
	c.oneLarge.Lock()
	defer c.oneLarge.Unlock()
	return look()
}

func (c *client) close() { c.http.CloseIdleConnections() }

func chatHead(model string, stream bool) string {
	return fmt.Sprintf(`{"model":%q,"stream":%v,"max_tokens":8,"messages":[{"role":"user","content":"`, model, stream)
}

// send sends a request and says what came of it.
func (c *client) send(ctx context.Context, i int) string {
	switch kind := c.plan.Kind(i); kind {
	case Large:
		c.oneLarge.Lock()
		defer c.oneLarge.Unlock()
		return c.exchange(ctx, i, c.large, "")
	case AbortHeaders, AbortPaused, AbortWaiting, AbortStream:
		return c.abort(ctx, i, kind)
	case NotJSON:
		return c.exchange(ctx, i, []byte(c.chat(i, engine.Model, false)+"}"), "")
	case NoModel:
		return c.exchange(ctx, i, []byte(c.chat(i, "nobody-serves-this", false)), "")
	case Stream:
		return c.exchange(ctx, i, []byte(c.chat(i, engine.Model, true)), "")
	case CutMidway:
		return c.exchange(ctx, i, []byte(c.chat(i, engine.Model, true)), engine.Cut)
	case Engine500:
		return c.exchange(ctx, i, []byte(c.chat(i, engine.Model, false)), engine.Status500)
	case Engine429:
		return c.exchange(ctx, i, []byte(c.chat(i, engine.Model, false)), engine.Status429)
	case LostOnce:
		return c.exchange(ctx, i, []byte(c.chat(i, engine.Model, false)), engine.Lose+strconv.Itoa(i))
	case Whole, kindCount:
	}
	return c.exchange(ctx, i, []byte(c.chat(i, engine.Model, false)), "")
}

// chat is the body of a request.
func (c *client) chat(i int, model string, stream bool) string {
	return chatHead(model, stream) + c.words[:1+c.plan.random(i, useBody).IntN(len(c.words)-1)] + chatTail
}

// sessions is how many sessions the requests are of, where that matters.
const sessions = 4096

// exchange sends a body and reads the whole answer.
func (c *client) exchange(ctx context.Context, i int, body []byte, how string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.addr+chatPath, bytes.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", strconv.Itoa(i%sessions))
	if how != "" {
		req.Header.Set(engine.Header, how)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return failure(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return outcome(resp, text, err)
}

// outcome names an answer: status, the router's code if it has one, and whether
// a stream came to its end.
func outcome(resp *http.Response, text []byte, err error) string {
	words := []string{strconv.Itoa(resp.StatusCode)}
	if code := resp.Header.Get(codeField); code != "" {
		words = append(words, code)
	}
	switch {
	case isTimeout(err):
		words = append(words, "timed out")
	case err != nil:
		words = append(words, "cut")
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		if bytes.HasSuffix(text, []byte("data: [DONE]\n\n")) {
			words = append(words, "streamed")
		} else {
			words = append(words, "ended without [DONE]")
		}
	case resp.StatusCode == http.StatusOK && !bytes.HasSuffix(text, []byte("}}")):
		words = append(words, "truncated")
	}
	return strings.Join(words, " ")
}

// failure names an exchange without an answer.
func failure(err error) string {
	switch {
	case isTimeout(err):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "connection lost"
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}
