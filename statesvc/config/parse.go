package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// maxFileBytes bounds a configuration file; 5,000 workers take well under 1 MiB.
const maxFileBytes = 8 << 20

// Read reads and checks a file. A file that cannot be read is an error of os; a
// file with mistakes is a Problems value. getenv is os.Getenv outside tests.
func Read(path string, getenv func(string) string) (*Config, error) {
	return Examine(path, getenv, func(*Config) Problems { return nil })
}

// Examine is Read with one more look, which may go to the files that the
// configuration names, so that its problems are told together with the others. look
// gets what could be read, which other problems may be about.
func Examine(path string, getenv func(string) string, look func(*Config) Problems) (*Config, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	cfg, problems := parse(data, getenv)
	if cfg != nil {
		problems = append(problems, look(cfg)...)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s: %w", path, problems)
	}
	return cfg, nil
}

// ReadFile reads a file up to one byte more than any parser here takes.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, maxFileBytes+1))
}

// Parse reads and checks the text of a file. The error is a Problems value that
// lists everything found: unknown keys, wrong types and values out of range
// together. Text that is not YAML is a single problem.
func Parse(data []byte, getenv func(string) string) (*Config, error) {
	cfg, problems := parse(data, getenv)
	if len(problems) > 0 {
		return nil, problems
	}
	return cfg, nil
}

// parse gives the configuration also where it has problems, but for text that is not
// YAML.
func parse(data []byte, getenv func(string) string) (*Config, Problems) {
	var problems Problems
	if len(data) > maxFileBytes {
		problems.add("", "the file is larger than %d bytes", maxFileBytes)
		return nil, problems
	}
	tree, problem := readTree(data, "the file is empty; write at least version: 1 and fleet.static")
	if problem != "" {
		problems.add("", "%s", problem)
		return nil, problems
	}
	cfg := Default()
	assign(tree, &cfg, &problems)
	cfg.complete(&problems)
	cfg.validate(&problems)
	cfg.readTokens(getenv, &problems)
	return &cfg, problems
}

// readTree parses YAML to plain maps, lists and scalars. Duplicate keys are
// refused by the parser. empty is the problem of a text without anything in it.
func readTree(data []byte, empty string) (tree map[string]any, problem string) {
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	var doc any
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || err == nil && doc == nil:
		return nil, empty
	case err != nil:
		return nil, "not valid YAML: " + oneLine(yaml.FormatError(err, false, false))
	}
	tree, ok := doc.(map[string]any)
	if !ok {
		return nil, "the file must be a mapping of settings, such as version: 1"
	}
	var more any
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, "the file holds more than one YAML document; keep one"
	}
	return tree, ""
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// readTokens takes the bearer tokens out of the environment.
func (c *Config) readTokens(getenv func(string) string, p *Problems) {
	c.Token = readToken(getenv, "token_env", c.TokenEnv, p)
	h := &c.Discovery.HTTP
	h.Token = readToken(getenv, "discovery.http.token_env", h.TokenEnv, p)
	if h.Token != "" && h.Token == c.Token && h.TokenEnv != c.TokenEnv {
		p.add("discovery.http.token_env", "the token in %s is the one in %s, which every proxy knows; take another", h.TokenEnv, c.TokenEnv)
	}
}

// readToken reads one. A name without a value is refused: the service would otherwise
// be open by mistake.
func readToken(getenv func(string) string, path, name string, p *Problems) string {
	if name == "" {
		return ""
	}
	token := getenv(name)
	switch {
	case token == "":
		p.add(path, "environment variable %s is empty or unset; set it to the token, or remove token_env to ask for none", name)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		p.add(path, "environment variable %s holds a space or a character outside printable ASCII, which no Authorization header can carry", name)
	}
	return token
}
