package story

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/wire"
)

// lookup is what one prefix source answers to every lookup.
type lookup struct {
	source  string
	outcome wire.LookupOutcome
	blocks  uint64
	detail  string
	depths  []wire.Depth // in the order of the story
	age     core.Count   // of all that the source knows, in milliseconds
}

// playKV tells what a prefix source knows of prompts from here on.
func (r *run) playKV(a *arguments, input string) error {
	l, err := readLookup(a, input)
	if err != nil {
		return err
	}
	r.service.kv = slices.DeleteFunc(r.service.kv, func(o lookup) bool { return o.source == l.source })
	r.service.kv = append(r.service.kv, *l)
	r.printf("%s\n", l)
	return nil
}

func readLookup(a *arguments, input string) (*lookup, error) {
	l := &lookup{source: policy.DefaultPrefixSource}
	if source, ok := a.text("source"); ok {
		l.source = source
	}
	unavailable, invalid := a.flag("unavailable"), a.flag("invalid")
	blocks, asked := a.number("blocks")
	l.detail, _ = a.text("detail")
	l.age.N, l.age.Known = a.number("age")
	if err := a.done(); err != nil {
		return nil, err
	}
	depths, err := readDepths(input)
	if err != nil {
		return nil, err
	}
	l.blocks, l.depths = blocks, depths
	switch {
	case unavailable != invalid && !asked && len(depths) == 0:
		if l.outcome = wire.LookupUnavailable; invalid {
			l.outcome = wire.LookupInvalid
		}
	case unavailable || invalid || !asked:
		return nil, errors.New("say what the source answers: \"kv blocks=10\" and an engine a line, or \"kv unavailable\", or \"kv invalid\"")
	case len(depths) > 0:
		l.outcome = wire.LookupHit
	default:
		l.outcome = wire.LookupMiss
	}
	return l, nil
}

// readDepths reads an engine a line: ID, blocks, how many of them its device memory
// holds, the data-parallel rank or ranks that do, the milliseconds since they told of it,
// and whether its event stream has gaps.
func readDepths(input string) (list []wire.Depth, err error) {
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		_, args, err := (&parser{file: &File{}}).words(0, "engine "+line)
		if err != nil {
			return nil, err
		}
		a := readArguments(args)
		d := wire.Depth{Worker: core.WorkerID(a.id("the engine"))}
		d.Uncertain = a.flag("uncertain")
		blocks, _ := a.word()
		if d.Blocks, err = strconv.ParseUint(blocks, 10, 64); err != nil {
			a.fail("write how many blocks the engine holds, like \"A 10\"")
		}
		d.DeviceBlocks.N, d.DeviceBlocks.Known = a.number("device")
		d.Rank.N, d.Rank.Known = a.number("rank")
		d.Age.N, d.Age.Known = a.number("age")
		d.Ranks = readRanks(a)
		if err := a.done(); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		list = append(list, d)
	}
	return list, nil
}

// encode gives the answer as it crosses the wire.
func (l *lookup) encode() []byte {
	b := appendBytes(nil, 1, []byte(l.source))
	b = appendNumber(b, 2, uint64(l.outcome))
	b = appendNumber(b, 3, l.blocks)
	b = appendBytes(b, 4, []byte(l.detail))
	for _, d := range l.depths {
		m := appendBytes(nil, 1, []byte(d.Worker))
		m = appendNumber(m, 2, d.Blocks)
		if d.DeviceBlocks.Known {
			m = appendNumber(m, 3, d.DeviceBlocks.N)
		}
		m = appendNumber(m, 4, protowire.EncodeBool(d.Uncertain))
		if d.Rank.Known {
			m = appendNumber(m, 5, d.Rank.N)
		}
		for _, rank := range d.Ranks {
			m = appendNumber(m, 6, uint64(rank))
		}
		if d.Age.Known {
			m = appendNumber(m, 7, d.Age.N)
		}
		b = appendBytes(b, 5, m)
	}
	if l.age.Known {
		b = appendNumber(b, 6, l.age.N)
	}
	return b
}

// readRanks reads the ranks that hold as much, like ranks=(0,2).
func readRanks(a *arguments) (ranks []uint32) {
	texts, _ := a.list("ranks")
	for _, text := range texts {
		rank, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			a.fail("write the ranks like ranks=(0,2)")
		}
		ranks = append(ranks, uint32(rank))
	}
	return ranks
}

// String says what the source answers.
func (l *lookup) String() string {
	switch l.outcome {
	case wire.LookupUnavailable:
		return l.source + " unavailable"
	case wire.LookupInvalid:
		return l.source + " refuses lookups"
	case wire.LookupMiss, wire.LookupHit:
	}
	return fmt.Sprintf("%s finds %s of %s", l.source, count(len(l.depths), "holder"), count(int(l.blocks), "block"))
}

func decodeSources(message []byte) (list []string, err error) {
	err = fields(message, func(field protowire.Number, _ uint64, raw []byte) error {
		if field == 7 {
			list = append(list, string(raw))
		}
		return nil
	})
	return list, err
}
