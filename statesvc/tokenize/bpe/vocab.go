package bpe

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/statesvc/jsonwords"
)

// vocab and merges are most of a file. They are flat, and read in one pass each. All of
// these are counted while they are read, or before: what an entry takes here is many times
// what it takes in the file.
type (
	vocab       map[string]int
	merges      []merge
	addedTokens []addedToken
)

// merge is a pair, written as a list of two or as two words.
type merge [2]string

// UnmarshalJSON reads an object of ids by token; data is valid JSON.
func (v *vocab) UnmarshalJSON(data []byte) error {
	parsed := gjson.ParseBytes(data)
	if !parsed.IsObject() {
		return errors.New("the vocabulary is no object")
	}
	out := make(vocab, min(strings.Count(parsed.Raw, ":"), maxVocab))
	var err error
	parsed.ForEach(func(token, id gjson.Result) bool {
		var n int
		if n, err = strconv.Atoi(id.Raw); err != nil {
			err = fmt.Errorf("the id %.20s in the vocabulary is no number", id.Raw)
		}
		out[token.Str] = n
		if len(out) > maxVocab {
			err = fmt.Errorf("the vocabulary has more than %d tokens", maxVocab)
		}
		return err == nil
	})
	*v = out
	return err
}

// UnmarshalJSON reads a list that is not too long; data is valid JSON.
func (a *addedTokens) UnmarshalJSON(data []byte) error {
	n := 0
	gjson.ParseBytes(data).ForEach(func(_, _ gjson.Result) bool {
		n++
		return n <= maxAdded
	})
	if n > maxAdded {
		return fmt.Errorf("added_tokens has more than %d entries", maxAdded)
	}
	var out []addedToken
	if err := json.Unmarshal(data, &out); err != nil {
		return fmt.Errorf("added_tokens: %w", jsonwords.Of(err))
	}
	*a = out
	return nil
}

// UnmarshalJSON reads a list of merges in either writing; data is valid JSON.
func (m *merges) UnmarshalJSON(data []byte) error {
	parsed := gjson.ParseBytes(data)
	if !parsed.IsArray() {
		return errors.New("the merges are no list")
	}
	out := make(merges, 0, min(strings.Count(parsed.Raw, ",")+1, maxMerges))
	var err error
	parsed.ForEach(func(_, item gjson.Result) bool {
		var pair merge
		pair, err = readMerge(item)
		out = append(out, pair)
		if len(out) > maxMerges {
			err = fmt.Errorf("there are more than %d merges", maxMerges)
		}
		return err == nil
	})
	*m = out
	return err
}

func readMerge(item gjson.Result) (merge, error) {
	if item.Type == gjson.String {
		left, right, ok := strings.Cut(item.Str, " ")
		if !ok || strings.Contains(right, " ") {
			return merge{}, fmt.Errorf("merge %.60q is not two words", item.Str)
		}
		return merge{left, right}, nil
	}
	var pair merge
	n := 0
	item.ForEach(func(_, part gjson.Result) bool {
		if n < 2 && part.Type == gjson.String {
			pair[n] = part.Str
		}
		n++
		return n < 3
	})
	if !item.IsArray() || n != 2 || pair[0] == "" || pair[1] == "" {
		return merge{}, fmt.Errorf("merge %.60s is no pair", item.Raw)
	}
	return pair, nil
}
