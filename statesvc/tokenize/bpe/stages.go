package bpe

import (
	"encoding/json"

	"github.com/pointsman/pointsman/statesvc/jsonwords"

	"github.com/pointsman/pointsman/statesvc/tokenize/pretok"
)

// stage is a normalizer, pre-tokenizer or post-processor of a file, or a sequence of
// them.
type stage struct {
	Type           string                  `json:"type"`
	Normalizers    []stage                 `json:"normalizers"`
	PreTokenizers  []stage                 `json:"pretokenizers"`
	Processors     []stage                 `json:"processors"`
	Pattern        pattern                 `json:"pattern"`
	Behavior       string                  `json:"behavior"`
	Invert         bool                    `json:"invert"`
	AddPrefixSpace bool                    `json:"add_prefix_space"`
	UseRegex       *bool                   `json:"use_regex"`
	Single         []templatePiece         `json:"single"`
	SpecialTokens  map[string]specialToken `json:"special_tokens"`
}

type pattern struct {
	Regex *string `json:"Regex"`
}

type templatePiece struct {
	SpecialToken *struct {
		ID string `json:"id"`
	} `json:"SpecialToken"`
	Sequence *struct {
		ID string `json:"id"`
	} `json:"Sequence"`
}

type specialToken struct {
	IDs []uint32 `json:"ids"`
}

// maxStages bounds a sequence; files in use have at most four stages.
const maxStages = 32

// stages flattens one of the file's stages; a sequence may stand in a sequence once.
func (l *loader) stages(name string, raw json.RawMessage) []stage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if len(raw) > maxStage {
		l.add("%s has %d bytes, at most %d are taken", name, len(raw), maxStage)
		return nil
	}
	var s stage
	if err := json.Unmarshal(raw, &s); err != nil {
		l.add("%s cannot be read: %.300s", name, jsonwords.Of(err).Error())
		return nil
	}
	if s.Type != "Sequence" {
		return []stage{s}
	}
	all := append(append(s.Normalizers, s.PreTokenizers...), s.Processors...)
	if len(all) > maxStages {
		l.add("%s has %d stages, at most %d are taken", name, len(all), maxStages)
		return nil
	}
	return all
}

func (l *loader) normalizer() {
	for _, s := range l.stages("normalizer", l.Normalizer) {
		if s.Type != "NFC" {
			l.add("normalizer %.60q is not done, only NFC", s.Type)
			continue
		}
		l.t.nfc = true
	}
}

// preTokenizer wants splits by known expressions and then bytes.
func (l *loader) preTokenizer() {
	stages := l.stages("pre_tokenizer", l.PreTokenizer)
	var patterns []string
	for i, s := range stages {
		last := i == len(stages)-1
		switch {
		case s.Type == "Split" && !last:
			if s.Pattern.Regex == nil || s.Behavior != "Isolated" || s.Invert {
				l.add("pre_tokenizer: only an isolating split by an expression is done")
				continue
			}
			patterns = append(patterns, *s.Pattern.Regex)
		case s.Type == "ByteLevel" && last:
			if s.AddPrefixSpace || s.UseRegex == nil || *s.UseRegex {
				l.add("pre_tokenizer: ByteLevel with add_prefix_space or use_regex is not done")
			}
		default:
			l.add("pre_tokenizer %.60q is not done here, only splits followed by ByteLevel", s.Type)
		}
	}
	if len(stages) == 0 {
		l.add("pre_tokenizer is missing: the vocabulary is not byte-level")
		return
	}
	if l.t.split = pretok.Find(patterns); l.t.split == nil {
		l.add("pre_tokenizer: the expressions %.300q are not those of a known family", patterns)
	}
}

// postProcessor takes what puts tokens around a text.
func (l *loader) postProcessor() {
	for _, s := range l.stages("post_processor", l.PostProcessor) {
		switch s.Type {
		case "ByteLevel": // only changes offsets
		case "TemplateProcessing":
			l.template(s)
		default:
			l.add("post_processor %.60q is not done", s.Type)
		}
	}
}

func (l *loader) template(s stage) {
	texts := 0
	for _, p := range s.Single {
		switch {
		case p.Sequence != nil && p.SpecialToken == nil:
			texts++
		case p.SpecialToken != nil && p.Sequence == nil && len(s.SpecialTokens[p.SpecialToken.ID].IDs) > 0:
			ids := s.SpecialTokens[p.SpecialToken.ID].IDs
			if texts == 0 {
				l.t.prefix = append(l.t.prefix, ids...)
			} else {
				l.t.suffix = append(l.t.suffix, ids...)
			}
		default:
			l.add("post_processor: a piece of the template is no text and no known token")
		}
	}
	if texts != 1 {
		l.add("post_processor: the template has %d texts, only one is done", texts)
	}
}
