package fakes

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
)

// route is what one path does.
type route struct {
	methods []string
	serve   http.HandlerFunc
	infers  bool // inference handles the failures itself
}

// newRoutes lists what the dialect answers; anything else is 404.
func (p *process) newRoutes() map[string]route {
	get, post := []string{http.MethodGet}, []string{http.MethodPost}
	routes := map[string]route{
		"/v1/chat/completions": {post, p.infer(chatAPI), true},
		"/v1/completions":      {post, p.infer(completionAPI), true},
		"/health":              {get, p.health, false},
		"/v1/models":           {get, p.models, false},
		"/version":             {get, p.version, false},
		"/metrics":             {get, p.metrics, false},
		"/tokenize":            {post, p.tokenize, false},
	}
	if p.cfg.Dialect == VLLM {
		routes["/load"] = route{get, p.serverLoad, false}
		routes["/ping"] = route{[]string{http.MethodGet, http.MethodPost}, p.health, false}
		p.addKVRoutes(routes)
		return p.addDialects(routes)
	}
	p.addKVRoutes(routes)
	routes["/health_generate"] = route{get, p.health, false}
	routes["/v1/tokenize"] = routes["/tokenize"]
	routes["/server_info"] = route{get, p.serverInfo, false}
	routes["/get_server_info"] = routes["/server_info"]
	routes["/v1/loads"] = route{get, p.loads, false}
	routes["/abort_request"] = route{post, p.abortRequest, false}
	return p.addDialects(routes)
}

// ServeHTTP implements http.Handler.
func (p *process) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.handlers.Add(1)
	defer p.handlers.Done()
	w.Header()["X-Fake-Engine"] = p.engineID
	for name, value := range p.cfg.Headers {
		w.Header().Set(name, value)
	}
	rt, known := p.routes[r.URL.Path]
	if known && rt.infers && r.Method == http.MethodPost {
		rt.serve(w, r)
		return
	}
	if _, _, err := p.faults.pass(r.Context(), HangEverything); err != nil {
		return
	}
	if !known {
		writeDetail(w, http.StatusNotFound)
		return
	}
	if slices.Contains(rt.methods, r.Method) {
		rt.serve(w, r)
		return
	}
	w.Header()["Allow"] = rt.methods
	writeDetail(w, http.StatusMethodNotAllowed)
}

// writeDetail answers as the web framework of both engines does for what is not theirs.
func writeDetail(w http.ResponseWriter, status int) {
	writeJSON(w, status, map[string]string{"detail": http.StatusText(status)})
}

// jsonType is shared by all replies, which saves an allocation each.
var jsonType = []string{"application/json"}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil { // values are this package's own structs and maps
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeBody(w, status, body)
}

// writeBody sends a JSON body. A failed write means that the client left, which its context tells too.
func writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
