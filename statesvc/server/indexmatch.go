package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/pointsman/pointsman/statesvc/jsonwords"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/pump"
)

// maxMatchTokens bounds the prompt of one query.
const maxMatchTokens = 1 << 20

// matchQuery is the body of POST /v1/index/match.
type matchQuery struct {
	Tokens []uint32 `json:"tokens"`
	Salt   string   `json:"salt"`
	LoRA   string   `json:"lora"`
}

// matchList is its answer.
type matchList struct {
	Matches []matchEntry `json:"matches"`
	// Unknown are engines whose cache is not known, or not in full: that they are not
	// among the matches does not mean that they hold nothing.
	Unknown []trustEntry `json:"unknown"`
}

type matchEntry struct {
	Worker    string     `json:"worker"`
	Rank      uint32     `json:"rank"`
	BlockSize int        `json:"block_size"`
	Blocks    int        `json:"blocks"`
	Tokens    int        `json:"tokens"`
	Within    tierDepths `json:"within"`
	AtMost    int        `json:"at_most"`
	Certain   bool       `json:"certain"`
	Trust     string     `json:"trust"`
	Reason    string     `json:"reason"`
	// AgeMillis is the time since the rank last told of its cache.
	AgeMillis *uint64 `json:"age_ms,omitempty"`
}

// tierDepths counts the leading blocks on a tier or a nearer one.
type tierDepths struct {
	Device   int `json:"device"`
	Host     int `json:"host"`
	Disk     int `json:"disk"`
	External int `json:"external"`
}

type trustEntry struct {
	Worker string `json:"worker"`
	Trust  string `json:"trust"`
	Reason string `json:"reason"`
}

// indexMatch is POST /v1/index/match: what each engine holds of a prompt.
func (s *Server) indexMatch(w http.ResponseWriter, r *http.Request) {
	if inJSON, ok := s.mediaType(w, r); !ok || !inJSON {
		if ok {
			fail(w, http.StatusUnsupportedMediaType, "unsupported_media_type", "send content-type "+jsonType)
		}
		return
	}
	body, ok := s.body(w, r, s.limits.MaxBodyBytes)
	if !ok {
		return
	}
	var q matchQuery
	if err := decodeStrictly(body, &q); err != nil {
		fail(w, http.StatusBadRequest, badRequest, `want {"tokens":[numbers],"salt":text,"lora":text}: `+jsonwords.Of(err).Error())
		return
	}
	if len(q.Tokens) == 0 || len(q.Tokens) > maxMatchTokens {
		fail(w, http.StatusBadRequest, badRequest, fmt.Sprintf("tokens: want 1 to %d", maxMatchTokens))
		return
	}
	var result pump.Result
	s.index.Match(kvindex.Prompt{Tokens: q.Tokens, Salt: q.Salt, LoRA: q.LoRA}, &result)
	list := matchList{Matches: make([]matchEntry, 0, len(result.Matches)), Unknown: []trustEntry{}}
	for i := range result.Matches {
		list.Matches = append(list.Matches, match(&result.Matches[i]))
	}
	for _, e := range s.index.Engines() {
		if trust, reason := s.index.Trust(e.Worker); trust != zmqsub.TrustFull {
			list.Unknown = append(list.Unknown, trustEntry{Worker: e.Worker, Trust: trust.String(), Reason: reason})
		}
	}
	writeJSON(w, http.StatusOK, list)
}

// decodeStrictly reads one JSON value without unknown keys.
func decodeStrictly(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is something after it")
	}
	return nil
}

func match(m *pump.Match) matchEntry {
	return matchEntry{
		Worker: m.Owner.Worker, Rank: m.Owner.Rank, BlockSize: m.BlockSize, Blocks: m.Blocks, Tokens: m.Tokens,
		Within: tierDepths{Device: m.Within[0], Host: m.Within[1], Disk: m.Within[2], External: m.Within[3]},
		AtMost: m.AtMost, Certain: m.Certain, Trust: m.Trust.String(), Reason: m.Reason,
		AgeMillis: optional(&m.Age),
	}
}
