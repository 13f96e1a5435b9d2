package indexer

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/pointsman/pointsman/statesvc/indexer/kvindexerpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Bounds of an answer. Entries are counted before they are kept: 1 MiB of empty ones
// would be half a million.
const (
	maxAnswerBytes  = 1 << 20
	maxMatches      = 16_384
	maxAddressBytes = 512
)

// MaxHashes is the most that one query carries (engine-selection.md 11.2).
const MaxHashes = (maxQueryBytes - 16) / 8

// maxQueryBytes is what an indexer takes.
const maxQueryBytes = 8 << 20

// Match is a worker that holds the beginning of a prompt.
type Match struct {
	Address string
	Blocks  int
}

// Answer is what came of a lookup.
type Answer struct {
	Outcome Outcome
	// Why says more of an outcome that is neither Matched nor Empty.
	Why string
	// Matches have at least one block each and no more than were asked about. An
	// address may be among them twice.
	Matches []Match
	// Beyond counts matches of more blocks than were asked about, which are cut down to
	// these (engine-selection.md 9.4). Nameless counts those without an address.
	Beyond, Nameless int
}

// reply reads an answer by hand: the generated code would allocate whatever it is sent.
type reply struct {
	asked  int
	answer Answer
	err    error // why it makes no sense
}

var errMalformed = errors.New("the answer is malformed")

// fields calls see for each field of a message. see answers how many bytes the value has,
// less than 0 when it cannot be read.
func fields(b []byte, see func(protowire.Number, protowire.Type, []byte) (int, error)) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		n, err := see(number, kind, b)
		if err != nil {
			return err
		}
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
	}
	return nil
}

func (r *reply) read(b []byte) {
	r.err = fields(b, func(number protowire.Number, kind protowire.Type, b []byte) (int, error) {
		if number != 1 || kind != protowire.BytesType {
			return protowire.ConsumeFieldValue(number, kind, b), nil
		}
		entry, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return n, nil
		}
		return n, r.match(entry)
	})
	if len(r.answer.Matches) == 0 {
		r.answer.Outcome = Empty
	}
}

func (r *reply) match(b []byte) error {
	if len(r.answer.Matches)+r.answer.Nameless == maxMatches {
		return fmt.Errorf("the answer names more than %d workers", maxMatches)
	}
	var address []byte
	var blocks uint64
	err := fields(b, func(number protowire.Number, kind protowire.Type, b []byte) (n int, _ error) {
		switch {
		case number == 1 && kind == protowire.BytesType:
			address, n = protowire.ConsumeBytes(b)
		case number == 2 && kind == protowire.VarintType:
			blocks, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		return n, nil
	})
	switch {
	case err != nil:
		return err
	case len(address) > maxAddressBytes:
		return fmt.Errorf("the answer has an address of more than %d bytes", maxAddressBytes)
	case !utf8.Valid(address):
		return errors.New("the answer has an address that is not UTF-8")
	case blocks > math.MaxUint32:
		return fmt.Errorf("the answer has a match of %d blocks", blocks)
	}
	r.keep(string(address), blocks)
	return nil
}

// keep takes a match that can be one.
func (r *reply) keep(address string, blocks uint64) {
	switch {
	case address == "":
		r.answer.Nameless++
		return
	case blocks > uint64(r.asked):
		r.answer.Beyond++
		blocks = uint64(r.asked)
	}
	if blocks > 0 {
		r.answer.Matches = append(r.answer.Matches, Match{Address: address, Blocks: int(blocks)})
	}
}

// codec encodes queries with the generated code and reads answers into a reply. An
// answer that makes no sense is not an error of the call, whose code would be that of a
// refusal.
type codec struct{}

// Name is that of the codec of protobuf.
func (codec) Name() string { return "proto" }

// Marshal encodes a query.
func (codec) Marshal(v any) ([]byte, error) {
	query, ok := v.(*kvindexerpb.MatchExternalKvPrefixRequest)
	if !ok {
		return nil, fmt.Errorf("%T is not a query", v)
	}
	return proto.Marshal(query)
}

// Unmarshal reads an answer.
func (codec) Unmarshal(data []byte, v any) error {
	r, ok := v.(*reply)
	if !ok {
		return fmt.Errorf("%T is not a reply", v)
	}
	r.read(data)
	return nil
}
