package rig

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/e2e/bench/cached"
)

// StartCached runs engines with prefix caches in one process.
func (r *Rig) StartCached(c cached.Config) (*Engines, error) {
	if !c.Words {
		c.Tokenizer = r.parts.Tokenizer
	}
	e, err := r.startEngines(cached.Flag, c.Argument())
	if err == nil {
		e.tokenizer = c.Tokenizer
	}
	return e, err
}

// Caches is what engines have done since they started.
type Caches struct {
	Requests []float64 // finished, by engine
	Tokens   float64   // of prompts, Hits those that were cached
	Hits     float64
}

// Caches reads what the engines count themselves.
func (e *Engines) Caches() (c Caches, err error) {
	for _, addr := range e.Addrs {
		page, err := get("http://" + addr + "/metrics")
		if err != nil {
			return c, err
		}
		c.Requests = append(c.Requests, sum(page, "vllm:request_success_total"))
		c.Tokens += sum(page, "vllm:prefix_cache_queries_total")
		c.Hits += sum(page, "vllm:prefix_cache_hits_total")
	}
	return c, nil
}

// Since is what was done after an earlier reading.
func (c Caches) Since(before Caches) Caches {
	done := Caches{Tokens: c.Tokens - before.Tokens, Hits: c.Hits - before.Hits}
	for i, n := range c.Requests {
		done.Requests = append(done.Requests, n-before.Requests[i])
	}
	return done
}

// HitRate is the share of prompts that was cached.
func (c Caches) HitRate() float64 { return c.Hits / c.Tokens }

// Busiest is the requests of the busiest engine by the mean of all.
func (c Caches) Busiest() float64 {
	var all, most float64
	for _, n := range c.Requests {
		all, most = all+n, max(most, n)
	}
	return most * float64(len(c.Requests)) / all
}

// sum adds the samples of a family of a metrics page.
func sum(page, family string) (total float64) {
	for line := range strings.Lines(page) {
		rest, ok := strings.CutPrefix(line, family+"{")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if n, err := strconv.ParseFloat(fields[len(fields)-1], 64); err == nil {
			total += n
		}
	}
	return total
}

// Forget empties the engines' caches. None may be at work.
func (e *Engines) Forget(ctx context.Context) error {
	for _, addr := range e.Addrs {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/reset_prefix_cache", nil)
		if err != nil {
			return err
		}
		transport := &http.Transport{DisableKeepAlives: true}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s does not forget its cache: %s", addr, resp.Status)
		}
	}
	return nil
}
