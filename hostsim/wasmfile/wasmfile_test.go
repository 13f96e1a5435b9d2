package wasmfile_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim/wasmfile"
)

// section makes a section with its length.
func section(id byte, content ...byte) []byte {
	return append([]byte{id, byte(len(content))}, content...)
}

func name(s string) []byte { return append([]byte{byte(len(s))}, s...) }

var magic = []byte("\x00asm\x01\x00\x00\x00")

// sample is a module with one import and one export of each kind that matters, and a custom section.
func sample() []byte {
	imports := slices.Concat([]byte{5},
		name("env"), name("proxy_log"), []byte{0, 1},
		name("env"), name("table"), []byte{1, 0x70, 1, 1, 2},
		name("env"), name("memory"), []byte{2, 0, 1},
		name("env"), name("global"), []byte{3, 0x7f, 0},
		name("wasi_snapshot_preview1"), name("poll_oneoff"), []byte{0, 2})
	exports := slices.Concat([]byte{3},
		name("memory"), []byte{2, 0},
		name("proxy_abi_version_0_2_0"), []byte{0, 7},
		name("proxy_on_response_body"), []byte{0, 0x88 - 0x80})
	return slices.Concat(magic,
		section(1, 1, 0x60, 0, 0),
		section(2, imports...),
		section(7, exports...),
		section(0, slices.Concat(name("version"), []byte("v1"))...))
}

func TestParse(t *testing.T) {
	f, err := wasmfile.Parse(sample())
	require.NoError(t, err)
	require.Equal(t, len(sample()), f.Size)
	require.Equal(t, []wasmfile.Import{
		{Module: "env", Name: "proxy_log", Kind: wasmfile.KindFunc},
		{Module: "env", Name: "table", Kind: wasmfile.KindTable},
		{Module: "env", Name: "memory", Kind: wasmfile.KindMemory},
		{Module: "env", Name: "global", Kind: wasmfile.KindGlobal},
		{Module: "wasi_snapshot_preview1", Name: "poll_oneoff", Kind: wasmfile.KindFunc},
	}, f.Imports)
	require.Equal(t, []wasmfile.Export{
		{Name: "memory", Kind: wasmfile.KindMemory},
		{Name: "proxy_abi_version_0_2_0", Kind: wasmfile.KindFunc, Index: 7},
		{Name: "proxy_on_response_body", Kind: wasmfile.KindFunc, Index: 8},
	}, f.Exports)
	version, ok := f.Custom("version")
	require.True(t, ok)
	require.Equal(t, "v1", string(version))
	_, ok = f.Custom("none")
	require.False(t, ok)
	abi, ok := f.ABIVersion()
	require.True(t, ok)
	require.Equal(t, "0.2.0", abi)
	require.False(t, f.HasExport("memory"), "a memory is no function")
}

func TestParse_garbage(t *testing.T) {
	tests := map[string]struct {
		module []byte
		want   string
	}{
		"empty":           {nil, "not a WebAssembly module (wrong first eight bytes)"},
		"text":            {[]byte("<html></html>"), "not a WebAssembly module (wrong first eight bytes)"},
		"component":       {[]byte("\x00asm\x0d\x00\x01\x00"), "not a WebAssembly module (wrong first eight bytes)"},
		"cut section":     {append(slices.Clone(magic), 2, 50, 1), "section 2: the module is cut off"},
		"no such section": {append(slices.Clone(magic), 99, 0), "section 99: no such section"},
		"long number":     {append(slices.Clone(magic), 2, 0xff, 0xff, 0xff, 0xff, 0xff, 1), "section 2: a number is longer than 32 bits"},
		"huge count":      {slices.Concat(magic, section(2, 0xff, 0xff, 0x03)), "section 2: the module is cut off"},
		"import kind":     {slices.Concat(magic, section(2, 1, 0, 0, 9, 0)), "section 2: an import has the unknown kind 9"},
		"not UTF-8":       {slices.Concat(magic, section(7, 1, 1, 0xff, 0, 0)), `section 7: the name "\xff" is not UTF-8`},
		"too many bytes":  {slices.Concat(magic, section(7, 0, 1, 2)), "section 7: 2 bytes too many"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := wasmfile.Parse(tt.module)
			require.EqualError(t, err, tt.want)
		})
	}
}

func TestParse_everyTruncationIsAnErrorOrAWholePrefix(t *testing.T) {
	module := sample()
	for n := range module {
		f, err := wasmfile.Parse(module[:n])
		if err == nil {
			require.Equal(t, n, f.Size)
		}
	}
}

func TestDropExports(t *testing.T) {
	module := sample()
	out, err := wasmfile.DropExports(module, "proxy_on_response_body")
	require.NoError(t, err)
	require.Equal(t, sample(), module, "the input stays")
	f, err := wasmfile.Parse(out)
	require.NoError(t, err)
	require.Len(t, f.Exports, 2)
	require.Len(t, f.Imports, 5)
	require.False(t, f.HasExport("proxy_on_response_body"))
	require.Less(t, len(out), len(module))

	_, err = wasmfile.DropExports(module, "memory", "nope", "neither")
	require.EqualError(t, err, "not exported: nope, neither")
	_, err = wasmfile.DropExports([]byte("x"), "memory")
	require.Error(t, err)
}

func TestAddCustom(t *testing.T) {
	module := sample()
	data := bytes.Repeat([]byte("d"), 300)
	out, err := wasmfile.AddCustom(module, "build", data)
	require.NoError(t, err)
	f, err := wasmfile.Parse(out)
	require.NoError(t, err)
	got, ok := f.Custom("build")
	require.True(t, ok)
	require.Equal(t, data, got)
	_, err = wasmfile.AddCustom(out, "build", nil)
	require.EqualError(t, err, `the custom section "build" exists already`)
	_, err = wasmfile.AddCustom(out, "", nil)
	require.EqualError(t, err, "a custom section needs a name")
}

func TestCheckImports(t *testing.T) {
	errs := wasmfile.CheckImports([]wasmfile.Import{
		{Module: "env", Name: "proxy_log"},
		{Module: "env", Name: "proxy_get_upstream_hosts"},
		{Module: "env", Name: "memory", Kind: wasmfile.KindMemory},
		{Module: "wasi_snapshot_preview1", Name: "fd_filestat_get"},
		{Module: "wasi_snapshot_preview1", Name: "poll_oneoff"},
		{Module: "wasi_snapshot_preview1", Name: "fd_write"},
	})
	var text []string
	for _, err := range errs {
		text = append(text, err.Error())
	}
	require.Equal(t, []string{
		"import env.proxy_get_upstream_hosts (func) is missing in Envoy 1.33",
		"import env.memory (memory) is missing in Envoy 1.33",
		"import wasi_snapshot_preview1.fd_filestat_get (func) is missing in Envoy 1.33",
		"import wasi_snapshot_preview1.poll_oneoff kills the VM on Envoy 1.33 to 1.38: build with the overlay that removes it",
	}, text)
	require.Len(t, wasmfile.AllowedImports133(), 39+18)
	require.True(t, slices.IsSortedFunc(wasmfile.AllowedImports133(), func(a, b wasmfile.Import) int {
		return bytes.Compare([]byte(a.String()), []byte(b.String()))
	}))
}

func FuzzParse(f *testing.F) {
	f.Add(sample())
	f.Add(magic)
	f.Add([]byte{})
	f.Add(sample()[:40])
	f.Add(append(sample(), 7, 0x80, 0x80, 0x80, 0x80, 0x10))
	f.Fuzz(func(t *testing.T, module []byte) {
		before := slices.Clone(module)
		file, err := wasmfile.Parse(module)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		_ = wasmfile.CheckImports(file.Imports)
		out, err := wasmfile.AddCustom(module, "fuzz-section", []byte("x"))
		if err == nil {
			again, err := wasmfile.Parse(out)
			require.NoError(t, err)
			require.Equal(t, file.Exports, again.Exports)
		}
		if len(file.Exports) > 0 {
			out, err := wasmfile.DropExports(module, file.Exports[0].Name)
			require.NoError(t, err)
			again, err := wasmfile.Parse(out)
			require.NoError(t, err)
			require.False(t, again.HasExport(file.Exports[0].Name))
		}
		require.Equal(t, before, module)
	})
}
