package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// File is a rendered file. Its YAML may hold several documents.
type File struct {
	// Name is a relative path with slashes, like envoy.yaml or templates/deployment.yaml.
	Name string
	// Text is its content, comments included.
	Text []byte
}

// Template makes a file's text from a template. Beside text/template's own there
// are the functions
//
//	quote VALUE      a string as a JSON literal, which is YAML too
//	plain VALUE      the string itself where YAML reads it as that string, else quoted
//	indent N TEXT    text with N spaces before each line that is not empty
func Template(source string, data any) ([]byte, error) {
	functions := template.FuncMap{"quote": quote, "plain": plain, "indent": indent}
	t, err := template.New("manifest").Option("missingkey=error").Funcs(functions).Parse(source)
	if err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("fill in the template: %w", err)
	}
	return append(bytes.TrimSpace(out.Bytes()), '\n'), nil
}

// Documents reads the YAML documents of a file as JSON, for strict decoders of the
// types that they stand for. Keys that stand twice are an error.
func Documents(text []byte) ([]json.RawMessage, error) {
	var documents []json.RawMessage
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc any
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not YAML: %w", err)
		}
		if doc == nil {
			continue
		}
		raw, err := marshal(doc)
		if err != nil {
			return nil, err
		}
		documents = append(documents, raw)
	}
}

// marshal writes JSON without escapes that only HTML needs.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write as JSON: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func quote(s string) (string, error) {
	b, err := marshal(s)
	return string(b), err
}

// word is text that YAML reads as a string, unquoted: a name, a path or an IPv4
// address.
var word = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*$|^\d+\.\d+\.\d+\.\d+$`)

// notWords are names that some version of YAML reads otherwise.
var notWords = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)

func plain(s string) (string, error) {
	if word.MatchString(s) && !notWords.MatchString(s) {
		return s, nil
	}
	return quote(s)
}

func indent(n int, text string) string {
	pad := strings.Repeat(" ", n)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = pad + l
		}
	}
	return strings.Join(lines, "\n")
}
