package bpe

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/pointsman/pointsman/statesvc/jsonwords"
)

// The bounds of a file. The largest vocabularies in use have 262,144 tokens and half
// a million merges in 35 MB.
const (
	MaxFile   = 64 << 20
	maxVocab  = 1 << 20
	maxMerges = 1 << 21
	maxAdded  = 1 << 14
	maxID     = 1 << 22
	// maxAddedBytes bounds the text of all added tokens, each byte of which is a node of a
	// trie; 16,384 names of twenty bytes are a third of it.
	maxAddedBytes = 1 << 20
	// maxStage bounds the JSON of each of normalizer, pre_tokenizer and post_processor;
	// those in use have a few KB. Decoded, an empty stage of three bytes has 160.
	maxStage = 256 << 10
)

// file is a tokenizer.json. Truncation and padding do not reach a router: engines set
// their own.
type file struct {
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	AddedTokens   addedTokens     `json:"added_tokens"`
	Model         model           `json:"model"`
}

type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
}

type model struct {
	Type                    string   `json:"type"`
	Dropout                 *float64 `json:"dropout"`
	UnkToken                *string  `json:"unk_token"`
	ContinuingSubwordPrefix *string  `json:"continuing_subword_prefix"`
	EndOfWordSuffix         *string  `json:"end_of_word_suffix"`
	FuseUnk                 bool     `json:"fuse_unk"`
	ByteFallback            bool     `json:"byte_fallback"`
	IgnoreMerges            bool     `json:"ignore_merges"`
	Vocab                   vocab    `json:"vocab"`
	Merges                  merges   `json:"merges"`
}

// Load reads a tokenizer.json. The error is a *LoadError with everything that this
// package does not do exactly, or says that the file cannot be read.
func Load(r io.Reader) (*Tokenizer, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read tokenizer.json: %w", err)
	}
	if len(data) > MaxFile {
		return nil, &LoadError{[]string{"it is larger than 64 MiB"}}
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, &LoadError{[]string{fmt.Sprintf("it is not the JSON of a tokenizer: %.300s", jsonwords.Of(err).Error())}}
	}
	l := &loader{file: &f, alphabet: newAlphabet(), t: &Tokenizer{raw: newAdded(), plain: newAdded()}}
	l.kinds()
	l.normalizer()
	l.preTokenizer()
	l.vocabulary()
	l.merges()
	l.added()
	l.postProcessor()
	if err := l.err(); err != nil {
		return nil, err
	}
	l.wholePieces()
	return l.t, nil
}

// loader builds a tokenizer and collects what is wrong with its file.
type loader struct {
	problems
	*file
	alphabet alphabet
	t        *Tokenizer
	// tokens are the vocabulary's entries as bytes, those that text can give.
	tokens map[string]uint32
}

// kinds refuses the variants of the model that are not done.
func (l *loader) kinds() {
	m := &l.Model
	if m.Type != "BPE" {
		l.add("model.type is %.60q, only BPE is done", m.Type)
	}
	if m.Dropout != nil && *m.Dropout != 0 {
		l.add("model.dropout is set: it makes tokens random")
	}
	if m.UnkToken != nil {
		l.add("model.unk_token is set: a byte-level vocabulary has no unknown text")
	}
	if m.ByteFallback {
		l.add("model.byte_fallback is set: the vocabulary is not byte-level")
	}
	if m.FuseUnk {
		l.add("model.fuse_unk is set: the vocabulary is not byte-level")
	}
	if p := m.ContinuingSubwordPrefix; p != nil && *p != "" {
		l.add("model.continuing_subword_prefix is %.60q, only none is done", *p)
	}
	if s := m.EndOfWordSuffix; s != nil && *s != "" {
		l.add("model.end_of_word_suffix is %.60q, only none is done", *s)
	}
}

// vocabulary checks ids and finds the tokens of single bytes.
func (l *loader) vocabulary() {
	l.tokens = make(map[string]uint32, len(l.Model.Vocab))
	seen := make([]bool, maxID)
	for token, id := range l.Model.Vocab {
		if id < 0 || id >= maxID || seen[id] {
			l.add("model.vocab: id %d of %.60q is out of range or taken", id, token)
			continue
		}
		seen[id] = true
		if text, ok := l.alphabet.bytes(token); ok && text != "" {
			l.tokens[text] = uint32(id)
		}
	}
	missing := 0
	for b := range 256 {
		id, ok := l.tokens[string([]byte{byte(b)})]
		if !ok {
			missing++
		}
		l.t.byteIDs[b] = id
	}
	if missing > 0 {
		l.add("model.vocab lacks %d of the 256 single bytes: it is not byte-level", missing)
	}
}

// merges checks that merges make tokens in the order of their ids, which tells a
// vocabulary that was trained as byte-level BPE from one that was converted.
func (l *loader) merges() {
	l.t.pairs = newPairs(len(l.Model.Merges))
	last := -1
	for rank, m := range l.Model.Merges {
		left, okLeft := l.Model.Vocab[m[0]]
		right, okRight := l.Model.Vocab[m[1]]
		id, ok := l.Model.Vocab[m[0]+m[1]]
		switch {
		case !okLeft || !okRight || !ok:
			l.add("model.merges[%d]: %.60q and %.60q do not make a token of the vocabulary", rank, m[0], m[1])
		case id < last:
			l.add("model.merges[%d] makes id %d after id %d: merge order is not id order", rank, id, last)
		case !l.t.pairs.put(uint32(left), uint32(right), uint32(rank), uint32(id)):
			l.add("model.merges[%d]: %.60q and %.60q merge already", rank, m[0], m[1])
		}
		last = max(last, id)
	}
}

func (l *loader) added() {
	total := 0
	for _, a := range l.AddedTokens {
		total += len(a.Content)
	}
	if total > maxAddedBytes {
		l.add("added_tokens have %d bytes of text, at most %d are taken", total, maxAddedBytes)
		return
	}
	ids := make(map[int]string, len(l.AddedTokens))
	for i, a := range l.AddedTokens {
		if a.Content == "" || a.ID < 0 || a.ID >= maxID {
			l.add("added_tokens[%d] is empty or has an id out of range", i)
			continue
		}
		if id, ok := l.Model.Vocab[a.Content]; ok && id != a.ID {
			l.add("added_tokens[%d] %.60q has id %d and in model.vocab %d", i, a.Content, a.ID, id)
		}
		if other, ok := ids[a.ID]; ok && other != a.Content {
			l.add("added_tokens[%d] %.60q has the id of %.60q", i, a.Content, other)
		}
		ids[a.ID] = a.Content
		if a.SingleWord || a.LStrip || a.RStrip {
			l.add("added_tokens[%d] %.60q takes single_word, lstrip or rstrip, which is not done", i, a.Content)
		}
		if a.Normalized && l.t.nfc {
			l.add("added_tokens[%d] %.60q is searched for in normalised text, which is not done with NFC", i, a.Content)
		}
		set := l.t.raw
		if a.Normalized {
			set = l.t.plain
		}
		if !set.put(a.Content, uint32(a.ID)) {
			l.add("added_tokens[%d] %.60q stands twice", i, a.Content)
		}
	}
}

// wholePieces finds the tokens that a piece with just their text gives: all of them
// if the model looks pieces up before it merges, else those that merging arrives at.
func (l *loader) wholePieces() {
	t, s := l.t, &scratch{}
	t.whole = l.tokens
	if l.Model.IgnoreMerges {
		return
	}
	var ids []uint32
	for text, id := range l.tokens {
		if len(text) > shortPiece {
			delete(t.whole, text)
			continue
		}
		ids = t.mergeShort(ids[:0], text, s)
		if !slices.Equal(ids, []uint32{id}) {
			delete(t.whole, text)
		}
	}
}
