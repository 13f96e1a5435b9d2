package bpe

import (
	"context"
	"errors"
	"sync"

	"github.com/pointsman/pointsman/statesvc/tokenize/pretok"
)

// MaxPiece is the longest piece, in bytes, that is merged: a single word of a
// megabyte. Merging takes about 50 bytes of memory for each of the piece.
const MaxPiece = 1 << 20

// What a text cannot be encoded for.
var (
	// ErrPieceTooLong says that the text has a single word longer than MaxPiece.
	ErrPieceTooLong = errors.New("a single word of the text is longer than 1 MiB")
	// ErrUnknownCharacter says that the text has a character that Unicode 15 does not
	// have. An engine with newer tables would cut the text in its own way.
	ErrUnknownCharacter = errors.New("the text has a character that is not in Unicode 15")
)

// Tokenizer encodes text.
type Tokenizer struct {
	split   *pretok.Splitter
	nfc     bool
	byteIDs [256]uint32
	// whole holds the pieces whose merges end in one token.
	whole map[string]uint32
	pairs *pairs
	// raw are the added tokens found before normalising, plain those found after it.
	raw, plain     *added
	prefix, suffix []uint32
	scratch        sync.Pool
}

// Family names the cuts the tokenizer makes, which is how its expressions are known.
func (t *Tokenizer) Family() string { return t.split.Name() }

// Affixes gives the tokens that the tokenizer puts before and after a text that is no
// rendered chat, such as one that begins a sequence. Callers do not change them.
func (t *Tokenizer) Affixes() (prefix, suffix []uint32) { return t.prefix, t.suffix }

// Segment is an added token, or a text between two.
type Segment struct {
	// Text is the part of the text.
	Text string
	// ID is the token of an added token.
	ID uint32
	// Added says which it is.
	Added bool
}

// Segments calls yield with the segments of text in order until it returns false. No
// token crosses a segment's end, so the tokens of a text are those of its segments.
func (t *Tokenizer) Segments(text string, yield func(Segment) bool) {
	for i := 0; i < len(text); {
		begin, end, id := t.raw.find(text, i)
		if begin > i && !t.plainSegments(text[i:begin], yield) {
			return
		}
		if end > begin && !yield(Segment{text[begin:end], id, true}) {
			return
		}
		i = end
	}
}

// plainSegments looks for the tokens that are searched for in what the others left.
func (t *Tokenizer) plainSegments(text string, yield func(Segment) bool) bool {
	for i := 0; i < len(text); {
		begin, end, id := t.plain.find(text, i)
		if begin > i && !yield(Segment{Text: text[i:begin]}) {
			return false
		}
		if end > begin && !yield(Segment{text[begin:end], id, true}) {
			return false
		}
		i = end
	}
	return true
}

// Encode appends the tokens of text, added tokens in it included, without affixes. It
// ends with the context's error, ErrPieceTooLong or ErrUnknownCharacter.
func (t *Tokenizer) Encode(ctx context.Context, dst []uint32, text string) ([]uint32, error) {
	var err error
	t.Segments(text, func(s Segment) bool {
		if s.Added {
			dst = append(dst, s.ID)
		} else {
			dst, err = t.EncodeSegment(ctx, dst, s.Text)
		}
		return err == nil
	})
	return dst, err
}

// EncodeSegment appends the tokens of a text that has no added token in it.
func (t *Tokenizer) EncodeSegment(ctx context.Context, dst []uint32, text string) ([]uint32, error) {
	if !t.split.Known(text) {
		return dst, ErrUnknownCharacter
	}
	if t.nfc {
		text = toNFC(text)
	}
	s, _ := t.scratch.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	defer func() {
		if cap(s.ids) <= maxScratch {
			t.scratch.Put(s)
		}
	}()
	var err error
	pieces := 0
	t.split.Each(text, func(piece string) bool {
		if pieces++; pieces&0xFFF == 0 && ctx.Err() != nil {
			err = ctx.Err()
			return false
		}
		dst, err = t.encodePiece(ctx, dst, piece, s)
		return err == nil
	})
	return dst, err
}

func (t *Tokenizer) encodePiece(ctx context.Context, dst []uint32, piece string, s *scratch) ([]uint32, error) {
	if id, ok := t.whole[piece]; ok {
		return append(dst, id), nil
	}
	switch {
	case len(piece) <= shortPiece:
		return t.mergeShort(dst, piece, s), nil
	case len(piece) <= MaxPiece:
		return t.mergeLong(ctx, dst, piece, s)
	}
	return dst, ErrPieceTooLong
}
