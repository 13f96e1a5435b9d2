package engineapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pointsman/pointsman/statesvc/jsonwords"

	"github.com/pointsman/pointsman/core"
)

// Description is what an engine says of itself. A field it does not say is
// empty, zero or StageNone.
type Description struct {
	Models   []string
	Adapters []core.Adapter
	// ModelsErr says why Models and Adapters are not known, nil when they are.
	ModelsErr error

	Stage         core.Stage
	Ranks         int // data-parallel ranks
	BootstrapPort int // of a prefill engine
	// BlockSize is the tokens of a block of its KV events, 0 when it did not say. Bigram
	// says that its block hashes are of pairs of tokens.
	BlockSize int
	Bigram    bool
	// Aborts says that the engine ends a request whose rid it is told, as SGLang
	// does: it answers /server_info with SGLang's keys.
	Aborts bool
	// InputIDs says that the engine takes the prompt of a chat as token ids beside its
	// messages, as SGLang does.
	InputIDs bool
	// InfoErr says why what stands from Stage on is not known. A
	// *StatusError is an engine that has no such page and therefore no role.
	InfoErr error
}

// Bounds of what is taken from one engine; names beyond are left out.
const (
	maxNames     = 4096
	maxNameBytes = 256
)

// firstBackoff doubles with each further attempt (engine-selection.md 10.1).
const firstBackoff = 100 * time.Millisecond

// Describe asks the engine for its models and role: /v1/models, then
// /server_info or, where that is not known, /get_server_info. Each call has its
// own timeout; trouble that may pass (network, 5xx, broken body) is tried again
// up to attempts times, a 4xx is final.
func (c *Client) Describe(ctx context.Context, timeout time.Duration, attempts int) Description {
	var d Description
	var info serverInfo
	d.InfoErr = c.getJSON(ctx, "/server_info", timeout, attempts, &info)
	if Final(d.InfoErr) {
		d.InfoErr = c.getJSON(ctx, "/get_server_info", timeout, attempts, &info)
	}
	if d.InfoErr == nil {
		info.describe(&d)
	}
	var list modelList
	d.ModelsErr = c.getJSON(ctx, "/v1/models", timeout, attempts, &list)
	if d.ModelsErr == nil {
		d.Models, d.Adapters = list.split()
	}
	if len(d.Models) == 0 && info.ServedModelName != "" {
		d.Models, d.ModelsErr = []string{info.ServedModelName}, nil
	}
	return d
}

// modelList is the answer of GET /v1/models. A parent marks a LoRA adapter.
type modelList struct {
	Data []struct {
		ID     string `json:"id"`
		Parent string `json:"parent"`
	} `json:"data"`
}

func (l *modelList) split() (models []string, adapters []core.Adapter) {
	for i := range l.Data[:min(len(l.Data), maxNames)] {
		m := &l.Data[i]
		switch {
		case m.ID == "" || len(m.ID) > maxNameBytes || len(m.Parent) > maxNameBytes:
		case m.Parent != "":
			adapters = append(adapters, core.Adapter{Name: m.ID, Base: m.Parent})
		case !slices.Contains(models, m.ID):
			models = append(models, m.ID)
		}
	}
	return models, adapters
}

// serverInfo is the part of SGLang's answer that matters here. vLLM's dev-mode
// answer of the same path has none of these keys.
type serverInfo struct {
	ServedModelName string  `json:"served_model_name"`
	Disaggregation  *string `json:"disaggregation_mode"`
	BootstrapPort   int     `json:"disaggregation_bootstrap_port"`
	Ranks           int     `json:"dp_size"`
	Speculative     *string `json:"speculative_algorithm"`
	Events          *struct {
		BlockSize int `json:"block_size"`
	} `json:"kv_events"`
}

// bigram reports whether a speculative algorithm makes an engine hash pairs of tokens
// (engine-selection.md 10.1).
func bigram(algorithm string) bool {
	switch strings.ToUpper(algorithm) {
	case "EAGLE", "EAGLE3", "FROZEN_KV_MTP":
		return true
	}
	return false
}

// describe fills in what the engine says. A disaggregation mode of "null", in
// quotes, is SGLang's word for a plain engine; an unknown one says nothing.
func (s *serverInfo) describe(d *Description) {
	if s.Disaggregation != nil {
		mode := *s.Disaggregation
		if mode == "null" {
			mode = "plain"
		}
		d.Stage, _ = core.ParseStage(mode)
	}
	d.Aborts = s.Disaggregation != nil || s.ServedModelName != "" || s.Ranks > 0
	d.InputIDs = d.Aborts
	d.Ranks = max(s.Ranks, 0)
	if d.Stage == core.StagePrefill {
		d.BootstrapPort = max(s.BootstrapPort, 0)
	}
	if s.Events != nil {
		d.BlockSize = max(s.Events.BlockSize, 0)
		d.Bigram = s.Speculative != nil && bigram(*s.Speculative)
	}
}

func (c *Client) getJSON(ctx context.Context, path string, timeout time.Duration, attempts int, into any) error {
	backoff := firstBackoff
	for try := 1; ; try++ {
		err := c.tryJSON(ctx, path, timeout, into)
		if err == nil || Final(err) || try >= attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(backoff):
		}
		backoff *= 2
	}
}

func (c *Client) tryJSON(ctx context.Context, path string, timeout time.Duration, into any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.readJSON(ctx, path, into)
}

func (c *Client) readJSON(ctx context.Context, path string, into any) error {
	body, err := c.get(ctx, path, maxInfoBytes)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("GET %s: not the JSON expected: %w", path, jsonwords.Of(err))
	}
	return nil
}

// Final reports whether err is a refusal that asking again does not change.
func Final(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Status/100 == 4 && status.Status != http.StatusTooManyRequests
}
