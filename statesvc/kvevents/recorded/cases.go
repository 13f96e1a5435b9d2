package recorded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Case is what an engine found in its cache for one prompt.
type Case struct {
	Name      string `json:"name"`
	BlockSize int    `json:"block_size"`
	Port      int    `json:"port"`
	// Before is how many messages of the recording, of all ports, had arrived.
	Before int `json:"batches_seen_before"`
	// ResetPending says that the engine had emptied its cache and not yet said so.
	ResetPending bool     `json:"reset_not_yet_announced"`
	LoRA         string   `json:"lora_name"`
	Salt         string   `json:"cache_salt"`
	Prompt       []uint32 `json:"prompt_token_ids"`
	// Cached is the engine's own word, in tokens.
	Cached int `json:"engine_cached_tokens"`
	// Counted and Set are what a consumer that counts copies, and one that does not,
	// predicted when the recording was made.
	Counted int `json:"predicted_cached_tokens"`
	Set     int `json:"predicted_by_plain_set"`
}

// UnmarshalJSON reads a case. A key that a judgement needs must be there: what is not
// known is not zero.
func (c *Case) UnmarshalJSON(b []byte) error {
	type plain Case // without this method
	var need struct {
		Name   *string   `json:"name"`
		Prompt *[]uint32 `json:"prompt_token_ids"`
		Port   *int      `json:"port"`
		Before *int      `json:"batches_seen_before"`
		Cached *int      `json:"engine_cached_tokens"`
	}
	if err := errors.Join(json.Unmarshal(b, (*plain)(c)), json.Unmarshal(b, &need)); err != nil {
		return err
	}
	var problems []string
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if need.Name == nil || c.Name == "" {
		say("name: missing; write what to call the case")
	}
	if need.Prompt == nil || len(c.Prompt) == 0 {
		say("prompt_token_ids: missing; write the prompt's tokens")
	}
	if need.Port == nil {
		say("port: missing; write that of the engine's frames, 0 where they have none")
	}
	for _, n := range []struct {
		key, what string
		value     *int
	}{
		{"batches_seen_before", "how many messages of the frames came before it", need.Before},
		{"engine_cached_tokens", "how many tokens the engine found in its cache", need.Cached},
	} {
		switch {
		case n.value == nil:
			say("%s: missing; write %s", n.key, n.what)
		case *n.value < 0:
			say("%s: %d is negative; write %s", n.key, *n.value, n.what)
		}
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

// Cases reads overlap_cases.jsonl.
func Cases(r io.Reader) iter.Seq2[Case, error] { return lines[Case](r) }
