package tokenize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/statesvc/tokenize/bpe"
	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
	"github.com/pointsman/pointsman/statesvc/tokenize/segcache"
)

// maxConfig bounds tokenizer_config.json and chat_template.jinja.
const maxConfig = 16 << 20

// minCached is the shortest text, in bytes, whose tokens are kept: below it encoding
// is about as fast as looking it up.
const minCached = 64

// Local is a model's tokenizer and chat template, run here. It is safe for concurrent
// use.
type Local struct {
	bpe      *bpe.Tokenizer
	renderer *render.Renderer
	cache    *segcache.Cache
	textOK   bool
	begin    []uint32 // the token that texts may begin with; nil for none
	// Refusals say what of the model's files is not done here; engines are asked
	// about it.
	Refusals []error
	// Unsettled says what of the files only an engine's answer settles, and what is not done
	// without one; nil for nothing.
	Unsettled error
}

// OpenLocal reads tokenizer.json, tokenizer_config.json and, if it is there,
// chat_template.jinja from a folder. A tokenizer.json that is not done is an error; a
// template that is not done is a refusal, and chats go to the engine. cacheBytes bounds
// what is remembered of texts; zero remembers nothing.
func OpenLocal(dir string, engine render.Engine, cacheBytes int64) (*Local, error) {
	f, err := os.Open(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return nil, fmt.Errorf("open tokenizer: %w", err)
	}
	defer func() { _ = f.Close() }()
	tokenizer, err := bpe.Load(f)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", f.Name(), err)
	}
	l := &Local{bpe: tokenizer, textOK: true}
	l = l.WithCache(cacheBytes)
	config, err := readFile(filepath.Join(dir, "tokenizer_config.json"))
	if err != nil {
		l.refuse(err)
		return l, nil
	}
	l.checkAffixes(config)
	template, err := readFile(filepath.Join(dir, "chat_template.jinja"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		l.refuse(err)
		return l, nil
	}
	if l.renderer, err = render.New(config, string(template), engine); err != nil {
		l.renderer = nil
		l.refuse(err)
	}
	return l, nil
}

// WithCache gives the same tokenizer with a cache of its own, for another model with the
// same files.
func (l *Local) WithCache(bytes int64) *Local {
	other := *l
	other.cache = nil
	if bytes > 0 {
		other.cache = segcache.New(bytes)
	}
	return &other
}

func (l *Local) refuse(err error) { l.Refusals = append(l.Refusals, err) }

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open tokenizer: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(data) > maxConfig {
		err = errors.New("it is larger than 16 MiB")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

// checkAffixes looks for tokens around text prompts that the configuration asks for and
// tokenizer.json does not put there: whether they are depends on the class that an engine
// loads. For one at the beginning the engine's answer shows it; others are refused.
func (l *Local) checkAffixes(config []byte) {
	prefix, suffix := l.bpe.Affixes()
	begins := gjson.GetBytes(config, "add_bos_token").Bool() && len(prefix) == 0
	ends := gjson.GetBytes(config, "add_eos_token").Bool() && len(suffix) == 0
	if begins && !ends {
		l.begin = l.token(gjson.GetBytes(config, "bos_token"))
	}
	switch {
	case l.begin != nil:
		l.Unsettled = errors.New("text prompts: tokenizer_config.json asks for a token before them that tokenizer.json does not add")
	case begins || ends:
		l.textOK = false
		l.refuse(errors.New("text prompts: tokenizer_config.json asks for tokens around them that tokenizer.json does not add"))
	}
}

// token gives the one token that a name in the configuration is, and nil if it is none.
func (l *Local) token(name gjson.Result) []uint32 {
	if name.IsObject() {
		name = name.Get("content")
	}
	ids, err := l.bpe.Encode(context.Background(), nil, name.Str)
	if err != nil || len(ids) != 1 {
		return nil
	}
	return ids
}

// ways are how the texts of a prompt may begin: without and with a token of their own.
func (l *Local) ways(p *prompt.Prompt) []bool {
	if p.Messages == "" && l.begin != nil {
		return []bool{false, true}
	}
	return []bool{false}
}

// errNotHere is wrapped by what Local does not do.
var errNotHere = errors.New("not tokenized here")

// sequences gives the tokens of each sequence of a prompt, and the features that it
// uses. begun is one of its ways.
func (l *Local) sequences(ctx context.Context, p *prompt.Prompt, begun bool) ([][]uint32, prompt.Features, error) {
	switch {
	case p.Messages != "":
		ids, features, err := l.chat(ctx, p)
		return [][]uint32{ids}, features, err
	case p.Texts != nil:
		if !l.textOK || len(p.Members) > 0 {
			return nil, 0, fmt.Errorf("text prompt: %w", errNotHere)
		}
		ids, err := l.texts(ctx, p.Texts, begun)
		return ids, p.Features, err
	}
	return nil, 0, fmt.Errorf("prompt without text: %w", errNotHere)
}

func (l *Local) chat(ctx context.Context, p *prompt.Prompt) ([]uint32, prompt.Features, error) {
	if l.renderer == nil {
		return nil, 0, fmt.Errorf("chat without a template: %w", errNotHere)
	}
	text, err := l.renderer.Render(ctx, p)
	if err != nil {
		return nil, 0, fmt.Errorf("chat: %w", err)
	}
	ids, err := l.Encode(ctx, make([]uint32, 0, len(text.Text)/3), text.Text)
	if err != nil {
		return nil, 0, err
	}
	ids, err = l.Encode(ctx, ids, text.Then)
	return ids, text.Features, err
}

func (l *Local) texts(ctx context.Context, texts []string, begun bool) ([][]uint32, error) {
	prefix, suffix := l.bpe.Affixes()
	if begun {
		prefix = l.begin
	}
	out := make([][]uint32, len(texts))
	for i, text := range texts {
		ids, err := l.Encode(ctx, append([]uint32(nil), prefix...), text)
		if err != nil {
			return nil, err
		}
		out[i] = append(ids, suffix...)
	}
	return out, nil
}

// Encode appends the tokens of a rendered text, those of its longer segments from the cache if
// they are there.
func (l *Local) Encode(ctx context.Context, dst []uint32, text string) ([]uint32, error) {
	if l.cache == nil {
		return l.bpe.Encode(ctx, dst, text)
	}
	var err error
	l.bpe.Segments(text, func(s bpe.Segment) bool {
		switch {
		case s.Added:
			dst = append(dst, s.ID)
		case len(s.Text) < minCached:
			dst, err = l.bpe.EncodeSegment(ctx, dst, s.Text)
		default:
			dst, err = l.cached(ctx, dst, s.Text)
		}
		return err == nil
	})
	return dst, err
}

func (l *Local) cached(ctx context.Context, dst []uint32, text string) ([]uint32, error) {
	dst, ok := l.cache.Append(dst, text)
	if ok {
		return dst, nil
	}
	from := len(dst)
	dst, err := l.bpe.EncodeSegment(ctx, dst, text)
	if err == nil {
		l.cache.Put(text, dst[from:])
	}
	return dst, err
}

// CacheStats tells what the segment cache holds.
func (l *Local) CacheStats() segcache.Stats {
	if l.cache == nil {
		return segcache.Stats{}
	}
	return l.cache.Stats()
}
