package fakes

import (
	"io"
	"net/http"

	"github.com/tidwall/gjson"
)

// health answers 200 with an empty body, or 503.
func (p *process) health(w http.ResponseWriter, _ *http.Request) {
	if p.faults.load().unhealthy {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (p *process) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"version": p.cfg.Version})
}

// modelCard is one entry of /v1/models. Root and parent are null where they are not known.
type modelCard struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        *string `json:"root"`
	Parent      *string `json:"parent"`
	MaxModelLen *int    `json:"max_model_len"`
}

// models lists the served names and, after them, the adapters with their parents.
func (p *process) models(w http.ResponseWriter, _ *http.Request) {
	cards := make([]modelCard, 0, len(p.cfg.Models)+len(p.cfg.Adapters))
	for _, name := range p.cfg.Models {
		cards = append(cards, p.card(name, "models/"+p.cfg.Models[0]))
	}
	for _, a := range p.cfg.Adapters {
		card := p.card(a.Name, "adapters/"+a.Name)
		card.Parent = &a.Parent
		cards = append(cards, card)
	}
	writeJSON(w, http.StatusOK, struct {
		Object string      `json:"object"`
		Data   []modelCard `json:"data"`
	}{"list", cards})
}

func (p *process) card(name, root string) modelCard {
	return modelCard{
		ID: name, Object: "model", Created: p.start.Unix(), OwnedBy: p.cfg.Dialect.String(),
		Root: &root, MaxModelLen: &p.cfg.MaxModelLen,
	}
}

// serverLoad answers vLLM's GET /load: inference requests in flight, as with --enable-server-load-tracking.
func (p *process) serverLoad(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]int64{"server_load": p.snapshot().openRequests})
}

// tokenize answers POST /tokenize with one id per counted token. vLLM adds
// token_strs, SGLang takes a list of prompts too and then answers with lists.
func (p *process) tokenize(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, p.cfg.BodyLimit))
	if err != nil {
		p.writeError(w, &apiError{status: http.StatusRequestEntityTooLarge, message: "body could not be read: " + err.Error()})
		return
	}
	keys, bad := parseObject(body)
	if bad == nil {
		bad = p.nameModel(&call{}, keys.model)
	}
	if bad != nil {
		p.writeError(w, bad)
		return
	}
	p.writeTokens(w, keys)
}

func (p *process) writeTokens(w http.ResponseWriter, keys bodyKeys) {
	reply := map[string]any{"max_model_len": p.cfg.MaxModelLen}
	if p.cfg.Dialect == VLLM {
		reply["token_strs"] = nil
	}
	keys.readChat(p.cfg)
	switch {
	case keys.chat != nil && !keys.prompt.Exists():
		reply["tokens"], reply["count"] = keys.chat, len(keys.chat)
	case keys.messages.IsArray() && !keys.prompt.Exists():
		ids := chatIDs(keys)
		if keys.opening.Type == gjson.False {
			ids = ids[:len(ids)-replyOverhead]
		}
		reply["tokens"], reply["count"] = ids, len(ids)
	case keys.prompt.Type == gjson.String && !keys.messages.Exists():
		ids := appendTokens([]int{}, keys.prompt.Str)
		reply["tokens"], reply["count"] = ids, len(ids)
	case keys.prompt.IsArray() && !keys.messages.Exists() && p.cfg.Dialect == SGLang:
		lists, counts := [][]int{}, []int{}
		for _, text := range keys.prompt.Array() {
			ids := appendTokens([]int{}, text.Str)
			lists, counts = append(lists, ids), append(counts, len(ids))
		}
		reply["tokens"], reply["count"] = lists, counts
	default:
		p.writeError(w, invalidBody("body", "give exactly one of prompt and messages"))
		return
	}
	writeJSON(w, http.StatusOK, reply)
}
