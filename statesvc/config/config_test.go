package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/stretchr/testify/require"
)

const examples = "../../configs/statesvc"

func noEnv(string) string { return "" }

func TestRead_demo(t *testing.T) {
	cfg, err := config.Read(filepath.Join(examples, "demo.yaml"), noEnv)
	require.NoError(t, err)
	require.Len(t, cfg.Fleet.Static, 4)
	require.Equal(t, "engine-1", cfg.Fleet.Static[0].ID)
	require.Equal(t, config.Endpoint{Scheme: "http", Host: "127.0.0.1", Port: 8001}, cfg.Fleet.Static[0].Endpoint)
	require.True(t, cfg.Loopback())
}

// The reference file shows every setting, each with the default.
func TestRead_referenceShowsEverySettingAtItsDefault(t *testing.T) {
	path := filepath.Join(examples, "reference.yaml")
	cfg, err := config.Read(path, noEnv)
	require.NoError(t, err)
	want := config.Default()
	want.Version = config.Version
	want.Fleet.Static, want.Tokenize.Models = cfg.Fleet.Static, cfg.Tokenize.Models
	want.Discovery.DNS.Names = cfg.Discovery.DNS.Names
	require.Empty(t, cmp.Diff(want, *cfg, cmpopts.EquateEmpty()))

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, key := range keys(reflect.TypeFor[config.Config]()) {
		require.Regexp(t, `(?m)^[ -]*`+key+`:`, string(text), "key %s is not shown", key)
	}
}

func keys(t reflect.Type) []string {
	var list []string
	for f := range t.Fields() {
		name := f.Tag.Get("yaml")
		if name == "-" {
			continue
		}
		list = append(list, name)
		inner := f.Type
		if inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			list = append(list, keys(inner)...)
		}
	}
	return list
}

const good = "version: 1\nfleet: {static: [{address: '127.0.0.1:1'}]}\n"

func workers(lines string) string { return "version: 1\nfleet:\n  static:\n" + lines }

func TestParse_problems(t *testing.T) {
	cases := map[string]struct {
		text string
		want []string // one per problem, in order
	}{
		"empty":           {"", []string{"the file is empty; write at least version: 1 and fleet.static"}},
		"only a comment":  {"# nothing\n", []string{"the file is empty; write at least version: 1 and fleet.static"}},
		"a list":          {"- 1\n", []string{"the file must be a mapping of settings, such as version: 1"}},
		"two documents":   {good + "---\n" + good, []string{"the file holds more than one YAML document; keep one"}},
		"no version":      {"fleet: {static: [{address: 'a:1'}]}", []string{"version: missing; write version: 1"}},
		"wrong version":   {strings.Replace(good, "1", "2", 1), []string{"version: 2 is not supported; write version: 1"}},
		"no workers":      {"version: 1", []string{"fleet.static: no workers; write at least one, such as - address: 127.0.0.1:8000"}},
		"unknown key":     {good + "lisen: x\n", []string{"lisen: unknown key; did you mean listen?"}},
		"unit left out":   {good + "health: {timeout: 5}\n", []string{"health.timeout: unknown key; did you mean timeout_ms?"}},
		"far from known":  {good + "tls: {password: x}\n", []string{"tls.password: unknown key; known here: cert_file, key_file"}},
		"text for number": {good + "sync: {expiry_ms: soon}\n", []string{`sync.expiry_ms: want a whole number, got the text "soon"`}},
		"number for text": {good + "listen: 9090\n", []string{"listen: want a text, got 9090; put quotes around it"}},
		"fraction":        {good + "sync: {expiry_ms: 1500.5}\n", []string{"sync.expiry_ms: want a whole number, got 1500.5"}},
		"too large":       {good + "sync: {expiry_ms: 18446744073709551615}\n", []string{"sync.expiry_ms: 18446744073709551615 is too large"}},
		"text for bool":   {workers("  - {address: 'a:1', draining: maybe}"), []string{`fleet.static[0].draining: want true or false, got the text "maybe"`}},
		"mapping for list": {"version: 1\nfleet: {static: {a: 1}}", []string{
			"fleet.static: want a list, got a mapping", "fleet.static: no workers; write at least one, such as - address: 127.0.0.1:8000",
		}},
		"empty entry":               {workers("  -\n  - {address: 'a:1'}"), []string{"fleet.static[0]: empty entry; fill it in or remove it", "fleet.static[0].address: missing; write host:port, such as 127.0.0.1:8000"}},
		"zero interval":             {good + "health: {interval_ms: 0}\n", []string{"health.interval_ms: 0 is out of range; write 10 to 86400000 milliseconds"}},
		"negative":                  {good + "load: {timeout_ms: -5}\n", []string{"load.timeout_ms: -5 is out of range; write 1 to 86400000 milliseconds"}},
		"long backoff":              {good + "health: {max_backoff_ms: 5000}\n", []string{"health.max_backoff_ms: 5000 is out of range; write 10 to 1000 milliseconds"}},
		"stale at once":             {good + "load: {freshness_ms: 900}\n", []string{"load.freshness_ms: 900 is not above load.interval_ms (1000), so every reading would lapse before the next one; write at least 2000"}},
		"half of TLS":               {good + "tls: {cert_file: a.pem}\n", []string{"tls: cert_file and key_file go together; give both or neither"}},
		"bad listen":                {good + "listen: localhost\n", []string{`listen: "localhost" is not host:port; write for example 127.0.0.1:9090`}},
		"bad port":                  {good + "listen: 127.0.0.1:http\n", []string{`listen: port "http" is not a number from 0 to 65535`}},
		"health path":               {good + "health: {path: health}\n", []string{`health.path: "health" is not a URL path; it begins with / and holds no space`}},
		"zero limit":                {good + "limits: {max_contexts: 0}\n", []string{"limits.max_contexts: 0 is out of range; write 1 to 1048576"}},
		"empty token":               {good + "token_env: UNSET\n", []string{"token_env: environment variable UNSET is empty or unset; set it to the token, or remove token_env to ask for none"}},
		"spaced token":              {good + "token_env: SPACED\n", []string{"token_env: environment variable SPACED holds a space or a character outside printable ASCII, which no Authorization header can carry"}},
		"no address":                {workers("  - {id: a}"), []string{"fleet.static[0].address: missing; write host:port, such as 127.0.0.1:8000"}},
		"both addresses":            {workers("  - {id: a, address: 'a:1', url: 'http://b:1'}"), []string{"fleet.static[0]: give address or url, not both"}},
		"no port":                   {workers("  - {address: host}"), []string{`fleet.static[0].address: "host" is not host:port; write for example 127.0.0.1:8000 or [::1]:8000`}},
		"port zero":                 {workers("  - {address: 'host:0'}"), []string{`fleet.static[0].address: port "0" is not a number from 1 to 65535`}},
		"rank suffix":               {workers("  - {url: 'http://h:1@3'}"), []string{"fleet.static[0].url: a URL must not hold a user or password; write http://3"}},
		"bad IPv4":                  {workers("  - {address: '127.0.0.300:1'}"), []string{`fleet.static[0].address: "127.0.0.300" is neither an IP address nor a host name`}},
		"wildcard":                  {workers("  - {address: '0.0.0.0:1'}"), []string{`fleet.static[0].address: "0.0.0.0" is not the address of one engine; write its own IP without a zone`}},
		"zone":                      {workers("  - {address: '[fe80::1%eth0]:1'}"), []string{`fleet.static[0].address: "fe80::1%eth0" is not the address of one engine; write its own IP without a zone`}},
		"scheme":                    {workers("  - {url: 'grpc://h:1'}"), []string{`fleet.static[0].url: scheme "grpc" is not supported; write http:// or https://`}},
		"path in URL":               {workers("  - {url: 'http://h:1/v1'}"), []string{`fleet.static[0].url: "http://h:1/v1" has a path, query or fragment; write http://h:1`}},
		"not a URL":                 {workers("  - {url: 'h:1'}"), []string{`fleet.static[0].url: "h:1" is not a URL; write http://host:port`}},
		"version of a plain engine": {workers("  - {address: 'a:1', role: plain, version_group: v7}"), []string{`fleet.static[0].version_group: has no effect on a plain engine, which pairs with none; leave it out`}},
		"version with a space":      {workers("  - {address: 'a:1', version_group: 'v 7'}"), []string{`fleet.static[0].version_group: "v 7" holds a space or a control character; write a plain name`}},
		"services": {workers("  - {address: 'a:1', services: [prod, prod/x, prod/x]}"), []string{
			`fleet.static[0].services[0]: "prod" is no service; write namespace/name`,
			`fleet.static[0].services[2]: "prod/x" is listed twice; remove one`,
		}},
		"role":          {workers("  - {address: 'a:1', role: both}"), []string{`fleet.static[0].role: "both" is not a role; write plain, prefill or decode, or leave it out to ask the engine`}},
		"model twice":   {workers("  - {address: 'a:1', models: [m, m]}"), []string{`fleet.static[0].models[1]: "m" is listed twice; remove one`}},
		"empty model":   {workers("  - {address: 'a:1', models: ['']}"), []string{"fleet.static[0].models[0]: empty model name; write the name or remove the entry"}},
		"control in id": {workers("  - {address: 'a:1', id: \"a\\nb\"}"), []string{`fleet.static[0].id: "a\nb" holds a space or a control character; write a plain name`}},
		"same id":       {workers("  - {address: 'a:1', id: x}\n  - {address: 'a:2', id: x}"), []string{`fleet.static[1].id: "x" is also the id of fleet.static[0]; remove one or change it`}},
		"same address":  {workers("  - {address: 'A:80', id: x}\n  - {url: 'http://a', id: y}"), []string{`fleet.static[1].address: "a:80" is also the address of fleet.static[0]; remove one or change it`}},
	}
	env := func(name string) string { return map[string]string{"SPACED": "a b"}[name] }
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse([]byte(c.text), env)
			var problems config.Problems
			require.ErrorAs(t, err, &problems)
			got := make([]string, len(problems))
			for i, p := range problems {
				got[i] = p.String()
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestParse_syntaxErrorsAreOneLine(t *testing.T) {
	for _, text := range []string{"version: [1", "version: 1\nversion: 1", "a: &x *x", "\tversion: 1", "\x00"} {
		_, err := config.Parse([]byte(text), noEnv)
		require.Error(t, err, "%q", text)
		require.NotContains(t, err.Error(), "\n", "%q", text)
	}
}

func TestParse_reportsEveryProblemAtOnce(t *testing.T) {
	_, err := config.Parse([]byte("lisen: x\nhealth: {interval_ms: 0}\nfleet: {static: [{address: 'a'}]}\n"), noEnv)
	require.EqualError(t, err, `4 problems:
  lisen: unknown key; did you mean listen?
  fleet.static[0].address: "a" is not host:port; write for example 127.0.0.1:8000 or [::1]:8000
  version: missing; write version: 1
  health.interval_ms: 0 is out of range; write 10 to 86400000 milliseconds`)
}

func TestParse_fillsInWorkers(t *testing.T) {
	cfg, err := config.Parse([]byte(workers(`
    - address: "[::1]:8000"
    - url: https://Engine.Example
    - {url: "http://10.0.0.1:30000/", id: c, models: [m], role: decode, draining: true, version_group: v7, services: [prod/decode]}`)), noEnv)
	require.NoError(t, err)
	w := cfg.Fleet.Static
	require.Equal(t, "[::1]:8000", w[0].ID)
	require.Equal(t, "http://[::1]:8000", w[0].Endpoint.BaseURL())
	require.Equal(t, "engine.example:443", w[1].ID)
	require.Equal(t, "https://engine.example:443", w[1].Endpoint.BaseURL())
	require.Equal(t, "c", w[2].ID)
	require.Equal(t, "decode", w[2].Role)
	require.True(t, w[2].Draining)
	require.Equal(t, "v7", w[2].VersionGroup)
	require.Equal(t, []string{"prod/decode"}, w[2].Services)
}

func TestParse_takesTheTokenFromTheEnvironment(t *testing.T) {
	cfg, err := config.Parse([]byte(good+"token_env: T\n"), func(name string) string { return "value-of-" + name })
	require.NoError(t, err)
	require.Equal(t, "value-of-T", cfg.Token)
}

func TestConfig_Loopback(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, "127.5.0.1:1": true,
		"0.0.0.0:1": false, ":1": false, "10.0.0.1:1": false, "host:1": false, "[::]:1": false,
	} {
		cfg, err := config.Parse([]byte(good+"listen: '"+listen+"'\n"), noEnv)
		require.NoError(t, err, listen)
		require.Equal(t, want, cfg.Loopback(), listen)
	}
}

func TestRead_missingFile(t *testing.T) {
	_, err := config.Read(filepath.Join(t.TempDir(), "none.yaml"), noEnv)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A14: a fleet of 5,000 engines works.
func TestParse_A14_fiveThousandWorkers(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "    - address: 10.0.%d.%d:8000\n", i/250, i%250)
	}
	cfg, err := config.Parse([]byte(workers(b.String())), noEnv)
	require.NoError(t, err)
	require.Len(t, cfg.Fleet.Static, 5000)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("version: 1\nfleet:\n  static: [{address: '[::1]:1', models: [a]}]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg, err := config.Parse(text, noEnv)
		require.NotEqual(t, (cfg == nil), (err == nil))
	})
}
