package fakes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// ending is what became of a request.
type ending struct {
	outcome Outcome
	status  int
	tokens  int
}

// exchange is one inference request on its way through the engine.
type exchange struct {
	*process
	w    http.ResponseWriter
	ctx  context.Context // the client's, or one that /abort_request ends too
	api  api
	call call
	seat *seat
	pace pace
	id   string // as JSON

	prefix *prefix // nil without a prefix cache
}

// infer returns the handler of an inference endpoint.
func (p *process) infer(api api) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rec := p.rec.begin(r, p.cfg.Clock.Now())
		p.totals.openRequests.Add(1)
		x := &exchange{process: p, w: w, ctx: r.Context(), api: api, pace: pace{clock: p.cfg.Clock, faults: p.faults}}
		end := x.answer(r, rec)
		p.totals.openRequests.Add(-1)
		if end.outcome == Aborted {
			p.totals.aborted.Add(1)
		}
		p.rec.finish(rec, end, p.cfg.Clock.Now())
	}
}

// answer takes a request from its body to its last byte.
func (x *exchange) answer(r *http.Request, rec *Record) ending {
	body, err := readBody(x.w, r, x.cfg.BodyLimit)
	x.rec.noteBody(rec, body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return x.fail(&apiError{
			status:  http.StatusRequestEntityTooLarge,
			message: "body is larger than " + strconv.FormatInt(x.cfg.BodyLimit, 10) + " bytes, send less",
		})
	}
	if err != nil {
		return ending{outcome: Aborted}
	}
	f, _, err := x.faults.pass(x.ctx, HangInference)
	if err != nil {
		return ending{outcome: Aborted}
	}
	if f.status != 0 {
		return x.fail(&apiError{status: f.status, message: "switched on for a test", retryAfter: f.retryAfter})
	}
	call, bad := x.parseCall(x.api, body)
	if bad != nil {
		return x.fail(bad)
	}
	x.call = call
	x.rec.notePrompt(rec, call.prompt)
	rank, bad := x.pickRank(r.Header)
	if bad != nil {
		return x.fail(bad)
	}
	return x.generate(r, rank)
}

func (x *exchange) fail(e *apiError) ending {
	x.writeError(x.w, e)
	return ending{outcome: Failed, status: e.status}
}

// generate waits for a slot, spends the time and writes the reply.
func (x *exchange) generate(r *http.Request, rank *scheduler) ending {
	rid := x.nameReply(r)
	if x.cfg.Dialect == SGLang {
		ctx := x.ctx
		if x.cfg.KeepOrphans {
			ctx = x.alive
		}
		ctx, done := x.inflight.add(ctx, rid)
		defer done()
		x.ctx = ctx
	}
	seat, err := rank.acquire(x.ctx, x.call.prompt, x.call.output*x.call.choices)
	if errors.Is(err, errQueueFull) {
		x.totals.shed.Add(1)
		return x.fail(&apiError{status: http.StatusServiceUnavailable, message: err.Error()})
	}
	if err == nil {
		x.seat = seat
		defer seat.release()
		x.prefix = x.kv.admit(slices.Index(x.ranks, rank), &x.call)
		defer x.prefix.release()
		err = x.prefill()
	}
	if err != nil && !x.abortRequested() {
		return ending{outcome: Aborted}
	}
	if x.call.stream {
		return x.stream()
	}
	return x.whole()
}

// prefill spends the time to the first token. A decode engine whose prompt was prefilled elsewhere spends none.
func (x *exchange) prefill() error {
	x.totals.promptTokens.Add(int64(x.call.prompt))
	if x.cfg.Role == Decode && (x.call.room || x.call.remoteReady) {
		x.prefix.receive()
		return x.pace.spend(x.ctx, 0)
	}
	base := x.cfg.PrefillBase
	return x.prefix.compute(x.call.prompt, func(tokens int) error {
		d := base + time.Duration(tokens)*x.cfg.PrefillPerToken
		base = 0
		x.totals.prefillBusy.Add(int64(d))
		return x.pace.spend(x.ctx, d)
	})
}

// decode spends the time of the next tokens and notes them. The first token of a request is free: prefill made it.
func (x *exchange) decode(done, tokens int) error {
	steps := tokens
	if done == 0 {
		steps--
	}
	if err := x.pace.spend(x.ctx, time.Duration(steps)*x.cfg.DecodePerToken); err != nil {
		return err
	}
	x.seat.grow(tokens * x.call.choices)
	x.prefix.grow(x.cfg.Seed, done, tokens)
	x.totals.outputTokens.Add(int64(tokens * x.call.choices))
	return nil
}

// abortRequested reports whether /abort_request ended the request; its client still waits for an answer then.
func (x *exchange) abortRequested() bool {
	return errors.Is(context.Cause(x.ctx), errAbortRequested)
}

// conclude is the ending of a request that was answered with 200.
func (x *exchange) conclude(reason string, tokens int) ending {
	end := ending{outcome: Completed, status: http.StatusOK, tokens: tokens * x.call.choices}
	switch reason {
	case "abort":
		end.outcome = Aborted
	case "length":
		x.totals.lengthEnded.Add(1)
	default:
		x.totals.stopped.Add(1)
	}
	return end
}

// nameReply sets the reply's id and returns the name by which /abort_request finds the request. vLLM makes the id
// from the client's X-Request-Id, SGLang takes the body's rid.
func (x *exchange) nameReply(r *http.Request) (rid string) {
	shape := x.shape()
	if x.cfg.Dialect == SGLang && x.call.rid != "" {
		x.id = quote(x.call.rid)
		return x.call.rid
	}
	if x.cfg.Dialect == VLLM {
		if given := r.Header.Get("X-Request-Id"); given != "" {
			x.id = quote(shape.idPrefix + given)
			return ""
		}
	}
	rid = shape.idPrefix + hex16(x.newID())
	x.id = `"` + rid + `"`
	return rid
}

func hex16(v uint64) string {
	s := strconv.FormatUint(v, 16)
	return "0000000000000000"[len(s):] + s
}

// pickRank follows the data-parallel rank header; without one, the ranks take turns. vLLM ignores a header that is not
// a number, SGLang refuses it.
func (p *process) pickRank(h http.Header) (*scheduler, *apiError) {
	header := h.Get("X-Data-Parallel-Rank")
	n, err := strconv.Atoi(header)
	switch {
	case header != "" && err != nil && p.cfg.Dialect == SGLang:
		return nil, badRequest("", "X-Data-Parallel-Rank must be a number from 0 to %d", len(p.ranks)-1)
	case header == "" || err != nil:
		return p.ranks[(p.nextRank.Add(1)-1)%uint64(len(p.ranks))], nil //nolint:nilerr // vLLM ignores what is not a number
	case n < 0 || n >= len(p.ranks):
		return nil, badRequest("", "data-parallel rank %d is out of range, the engine has ranks 0 to %d", n, len(p.ranks)-1)
	}
	return p.ranks[n], nil
}

// readBody reads a whole body; on error it returns what came before it. It reads up to the end of the body, since
// net/http watches for a client that leaves only from there on.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	src := http.MaxBytesReader(w, r.Body, limit)
	n := r.ContentLength
	if n < 0 || n > limit {
		return io.ReadAll(src)
	}
	body := make([]byte, n+1) // one byte more than there is, so that the end is reached
	got, err := io.ReadFull(src, body)
	if int64(got) == n && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)) {
		err = nil
	}
	return body[:got], err
}
