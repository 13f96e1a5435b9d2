package flow

import (
	"math"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/spec"
)

// maxTTFT is the longest time to first token that a request may ask for, a day:
// whoever asks for more means no target or another unit (field report D22).
const maxTTFT = 24 * 60 * 60 * 1000

// target is one service-level target as a header brought it. Whether it matters
// is known with the model, so a bad one is kept as such.
type target[T any] struct {
	sent, good bool
	value      T
}

func readTTFT(header string) target[uint64] {
	if header == "" {
		return target[uint64]{}
	}
	n, err := strconv.ParseUint(header, 10, 64)
	return target[uint64]{sent: true, good: err == nil && n > 0 && n <= maxTTFT, value: n}
}

func readTPS(header string) target[float64] {
	if header == "" {
		return target[float64]{}
	}
	rate, err := strconv.ParseFloat(header, 64)
	decimal := strings.Trim(header, "0123456789.eE+-") == ""
	return target[float64]{sent: true, good: err == nil && decimal && rate > 0 && !math.IsInf(rate, 0), value: rate}
}

// readRate reads the rate that a request asks for: tokens per second, or by llm-d's
// header the milliseconds for one.
func (c *Context) readRate(header string) target[float64] {
	if c.headers.TPS != spec.HeaderLLMDTPOT {
		return readTPS(header)
	}
	perToken := readTTFT(header)
	return target[float64]{sent: perToken.sent, good: perToken.good, value: 1000 / float64(max(perToken.value, 1))}
}

// rateForm says what the header of a rate must hold.
func (c *Context) rateForm() string {
	if c.headers.TPS == spec.HeaderLLMDTPOT {
		return "a whole number of milliseconds from 1 to " + strconv.Itoa(maxTTFT)
	}
	return "a number of tokens per second above 0"
}

// targets gives what the request asks for where the model's preferences look at
// it. It answers a target that makes no sense with 400 (engine-selection.md 3.1).
func (r *Request) targets(p bucket.Preferences) (t bucket.Targets, ok bool) {
	if p.TTFT != bucket.PreferenceDisabled && r.ttft.sent {
		if !r.ttft.good {
			r.refuse(CodeBadRequest, "the header "+r.ctx.headers.TTFT+" must be a whole number of milliseconds from 1 to "+strconv.Itoa(maxTTFT))
			return t, false
		}
		t.TTFTMillis = &r.ttft.value
	}
	if p.TPS != bucket.PreferenceDisabled && r.tps.sent {
		if !r.tps.good {
			r.refuse(CodeBadRequest, "the header "+r.ctx.headers.TPS+" must be "+r.ctx.rateForm())
			return t, false
		}
		t.TokensPerSecond = &r.tps.value
	}
	r.receipt.Asked(t.TTFTMillis, t.TokensPerSecond)
	return t, true
}
