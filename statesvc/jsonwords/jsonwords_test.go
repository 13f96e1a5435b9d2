package jsonwords_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/jsonwords"
	"github.com/stretchr/testify/require"
)

type read struct {
	Tokens []uint32          `json:"tokens"`
	Port   *int              `json:"port"`
	Name   string            `json:"name"`
	Share  float64           `json:"share"`
	Last   bool              `json:"last"`
	Notes  map[string]string `json:"notes"`
	Inner  struct {
		Byte uint8  `json:"byte"`
		Long uint64 `json:"long"`
	} `json:"inner"`
}

func TestOf(t *testing.T) {
	for text, says := range map[string]string{
		`{"tokens":[-1]}`:          "tokens: there is the number -1, and a whole number from 0 to 4294967295 is wanted",
		`{"tokens":["a"]}`:         "tokens: there is a string, and a whole number from 0 to 4294967295 is wanted",
		`{"tokens":5}`:             "tokens: there is a number, and a list is wanted",
		`{"port":1.5}`:             "port: there is the number 1.5, and a whole number is wanted",
		`{"port":[]}`:              "port: there is a list, and a whole number is wanted",
		`{"name":true}`:            "name: there is true or false, and a string is wanted",
		`{"share":{}}`:             "share: there is an object, and a number is wanted",
		`{"last":"no"}`:            "last: there is a string, and true or false is wanted",
		`{"notes":[]}`:             "notes: there is a list, and an object is wanted",
		`{"inner":{"byte":256}}`:   "inner.byte: there is the number 256, and a whole number from 0 to 255 is wanted",
		`{"inner":{"long":false}}`: "inner.long: there is true or false, and a whole number from 0 to 18446744073709551615 is wanted",
		`[1]`:                      "the value: there is a list, and an object is wanted",
		`{`:                        "unexpected end of JSON input",
	} {
		err := json.Unmarshal([]byte(text), &read{})
		require.EqualError(t, jsonwords.Of(err), says, text)
		require.EqualError(t, jsonwords.Of(fmt.Errorf("body: %w", err)), map[bool]string{true: says, false: "body: " + says}[text != "{"], text)
	}
	strict := json.NewDecoder(strings.NewReader(`{"tokns":[]}`))
	strict.DisallowUnknownFields()
	require.EqualError(t, jsonwords.Of(strict.Decode(&read{})), `unknown key "tokns"`)
	other := errors.New("other")
	require.Same(t, other, jsonwords.Of(other))
	require.NoError(t, jsonwords.Of(nil))
}
