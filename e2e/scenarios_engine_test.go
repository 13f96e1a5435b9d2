package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/hostsim/fakes"
)

// script answers an inference request whose body has been read.
type script func(w http.ResponseWriter, seen arrival)

// arrival is an inference request as it came out of the proxy.
type arrival struct {
	engine, method, target, host string
	header, trailer              http.Header
	length                       int64 // announced, -1 in chunks
	body                         string
	cut                          bool            // the body broke off
	gone                         <-chan struct{} // closed when the proxy has left
}

// sum names the body by its hash.
func (a arrival) sum() string { return sumOf(a.body) }

func sumOf(body string) string {
	hash := sha256.Sum256([]byte(body))
	return fmt.Sprintf("%d bytes %s", len(body), hex.EncodeToString(hash[:8]))
}

// watchedEngine stands before a fake engine: it writes down inference requests
// and answers them by a script, and leaves everything else, such as health and
// introspection, to the engine behind it.
type watchedEngine struct {
	name   string
	server *httptest.Server

	mu      sync.Mutex
	answer  script
	arrived []arrival
}

func watch(engine *fakes.Engine) *watchedEngine {
	w := &watchedEngine{name: engine.Name(), answer: plainAnswer}
	behind, _ := url.Parse(engine.URL())
	others := httputil.NewSingleHostReverseProxy(behind)
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if !strings.HasPrefix(req.URL.Path, "/v1/chat/completions") && !slices.Contains(chat.Paths(), req.URL.Path) {
			others.ServeHTTP(rw, req)
			return
		}
		w.infer(rw, req)
	}))
	return w
}

func (w *watchedEngine) infer(rw http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	seen := arrival{
		engine: w.name, method: req.Method, target: req.RequestURI, host: req.Host, header: req.Header.Clone(),
		trailer: req.Trailer.Clone(), length: req.ContentLength, body: string(body), cut: err != nil, gone: req.Context().Done(),
	}
	w.mu.Lock()
	w.arrived = append(w.arrived, seen)
	answer := w.answer
	w.mu.Unlock()
	rw.Header().Set("X-Fake-Engine", w.name)
	answer(rw, seen)
}

func (w *watchedEngine) addr() string { return strings.TrimPrefix(w.server.URL, "http://") }

func (w *watchedEngine) stop() {
	w.server.CloseClientConnections()
	w.server.Close()
}

// take gives what has arrived since the last call.
func (w *watchedEngine) take() []arrival {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.arrived
	w.arrived = nil
	return list
}

// peek gives what take would.
func (w *watchedEngine) peek() []arrival {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.arrived)
}

func (w *watchedEngine) play(s script) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = s
}

// plainAnswer is a small whole answer.
func plainAnswer(w http.ResponseWriter, _ arrival) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"object":"chat.completion","choices":[]}`)
}

// fields lists header fields as "name: value" in order, without those named.
func fields(h http.Header, without ...string) []string {
	var list []string
	for name, values := range h {
		lower := strings.ToLower(name)
		if slices.Contains(without, lower) {
			continue
		}
		for _, v := range values {
			list = append(list, lower+": "+v)
		}
	}
	slices.Sort(list)
	return list
}
