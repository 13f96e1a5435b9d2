package core_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The import rules of design section 2, in plain Go, so that they hold where
// nobody runs the linter. Packages are named by their path below the module.

const module = "github.com/pointsman/pointsman"

// impure lists std packages that core must not import, with all below them.
func impure() []string {
	return []string{
		"C", "context", "crypto/rand", "log", "math/rand", "net", "os", "plugin", "sync", "syscall", "unsafe",
	}
}

// doors lists the only core packages that may import a third party.
func doors() map[string][]string {
	return map[string][]string{
		"github.com/tidwall/gjson":                      {"core/chat"},
		"google.golang.org/protobuf/encoding/protowire": {"core/wire"},
		"github.com/cespare/xxhash/v2":                  {"core/history", "core/policy"},
	}
}

// ambient lists what core must not call, by import path; a trailing * is any end.
func ambient() map[string][]string {
	return map[string][]string{
		"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"},
		"fmt":  {"Print*"},
		"math/rand/v2": {
			"ExpFloat64", "Float32", "Float64", "Int", "Int32", "Int32N", "Int64", "Int64N", "IntN", "N", "NormFloat64",
			"Perm", "Shuffle", "Uint", "Uint32", "Uint32N", "Uint64", "Uint64N", "UintN",
		},
	}
}

// below reports whether path is root or under it.
func below(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

func isStd(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// refuseImport says why a package must not import a path, empty when it may.
func refuseImport(pkg, path string) string {
	own, ours := strings.CutPrefix(path, module+"/")
	switch {
	case below(pkg, "core"):
		return refuseCoreImport(pkg, path)
	case below(pkg, "wasmfilter"):
		if !isStd(path) && !(ours && (below(own, "core") || below(own, "wasmfilter"))) {
			return "the filter is core and its own shell"
		}
	case below(pkg, "hostsim") && !below(pkg, "hostsim/cmd"):
		if ours && below(own, "statesvc") && (pkg != "hostsim/doctor" || own != "statesvc/config") {
			return "the host library knows the state service by its wire only"
		}
	case below(pkg, "statesvc"):
		if ours && below(own, "hostsim") {
			return "the state service does not know its simulator"
		}
	}
	return ""
}

func refuseCoreImport(pkg, path string) string {
	switch {
	case path == "math/rand/v2":
		return ""
	case isStd(path):
		if slices.ContainsFunc(impure(), func(root string) bool { return below(path, root) }) {
			return "core is pure: take what it gives as an argument"
		}
		return ""
	case below(path, module):
		if !below(path, module+"/core") {
			return "core knows none of its shells"
		}
		return ""
	}
	if slices.ContainsFunc(doors()[path], func(door string) bool { return below(pkg, door) }) {
		return ""
	}
	return "not a module of this package"
}

// inspect lists the broken rules of one file of a package.
func inspect(pkg string, files *token.FileSet, file *ast.File) []string {
	var found []string
	refuse := func(at token.Pos, what, why string) {
		found = append(found, fmt.Sprintf("%s: %s: %s", files.Position(at), what, why))
	}
	names := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if why := refuseImport(pkg, path); why != "" {
			refuse(spec.Pos(), "import "+path, why)
		}
		name := localName(spec, path)
		if name == "." && below(pkg, "core") {
			refuse(spec.Pos(), "import . "+path, "it hides where names come from")
		}
		names[name] = path
	}
	if below(pkg, "core") {
		ast.Inspect(file, func(n ast.Node) bool {
			if what, why := refuseNode(n, names); why != "" {
				refuse(n.Pos(), what, why)
			}
			return true
		})
	}
	return found
}

func localName(spec *ast.ImportSpec, path string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		return parts[len(parts)-2]
	}
	return last
}

// refuseNode says why core must not contain a piece of syntax.
func refuseNode(n ast.Node, names map[string]string) (what, why string) {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "go statement", "core has no goroutines"
	case *ast.CallExpr:
		if name, isIdent := n.Fun.(*ast.Ident); isIdent && slices.Contains([]string{"panic", "print", "println"}, name.Name) {
			return name.Name, "core returns errors and writes nothing"
		}
	case *ast.SelectorExpr:
		pkg, isIdent := n.X.(*ast.Ident)
		if !isIdent {
			return "", ""
		}
		for _, name := range ambient()[names[pkg.Name]] {
			prefix, open := strings.CutSuffix(name, "*")
			if n.Sel.Name == name || open && strings.HasPrefix(n.Sel.Name, prefix) {
				return pkg.Name + "." + n.Sel.Name, "clock, randomness and output are the caller's"
			}
		}
	}
	return "", ""
}

// listed is a package as go list shows it; ignored files belong to another
// platform.
type listed struct {
	ImportPath, Dir         string
	GoFiles, IgnoredGoFiles []string
}

// listPackages lists the packages of both platforms the module is built for.
func listPackages(t *testing.T) map[string]listed {
	all := map[string]listed{}
	for _, platform := range [][]string{nil, {"GOOS=wasip1", "GOARCH=wasm"}} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-find", "-json=ImportPath,Dir,GoFiles,IgnoredGoFiles",
			"./core/...", "./wasmfilter/...", "./hostsim/...", "./statesvc/...")
		cmd.Dir, cmd.Env = "..", append(os.Environ(), platform...)
		out, err := cmd.Output()
		require.NoError(t, err)
		for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p listed
			if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err)
			}
			all[strings.TrimPrefix(p.ImportPath, module+"/")] = p
		}
	}
	return all
}

func TestImports_keep_the_rules(t *testing.T) {
	packages := listPackages(t)
	for _, known := range []string{"core", "core/admission", "core/breaker", "core/bucket", "core/policy", "core/pressure"} {
		require.Contains(t, packages, known)
	}
	var found []string
	for pkg, p := range packages {
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, 0)
			require.NoError(t, err)
			found = append(found, inspect(pkg, files, file)...)
		}
	}
	slices.Sort(found)
	require.Empty(t, found, strings.Join(found, "\n"))
}

// The checker itself: each broken rule is seen, and what is allowed passes.
func TestImports_checker(t *testing.T) {
	const ours = module + "/"
	tests := []struct {
		pkg, code string
		broken    string // part of the finding; empty is allowed
	}{
		{"core/x", `import "math/bits"; var _ = bits.Len`, ""},
		{"core/x", `import _ "os"`, "import os: core is pure"},
		{"core/x", `import _ "os/exec"`, "import os/exec"},
		{"core/x", `import _ "net/http"`, "import net/http"},
		{"core", `import _ "log/slog"`, "import log/slog"},
		{"core/x", `import _ "sync/atomic"`, "import sync/atomic"},
		{"core/x", `import _ "context"`, "import context"},
		{"core/x", `import _ "unsafe"`, "import unsafe"},
		{"core/x", `import _ "C"`, "import C"},
		{"core/x", `import _ "math/rand"`, "import math/rand: core is pure"},
		{"core/x", `import _ "crypto/rand"`, "import crypto/rand"},
		{"core/x", `import _ "crypto/sha256"`, ""},
		{"core/x", `import . "fmt"`, "import . fmt"},
		{"core/x", `import "time"; var _ time.Duration`, ""},
		{"core/x", `import "time"; var _ = time.Now()`, "time.Now"},
		{"core/x", `import clock "time"; var now = clock.Since`, "clock.Since"},
		{"core/x", `import "time"; func f() { time.Sleep(1); <-time.After(1) }`, "time.After"},
		{"core/x", `import "math/rand/v2"; var _ = rand.New(rand.NewPCG(1, 2)).IntN(3)`, ""},
		{"core/x", `import "math/rand/v2"; var _ = rand.IntN(3)`, "rand.IntN"},
		{"core/x", `import "math/rand/v2"; func f() { rand.Shuffle(1, nil) }`, "rand.Shuffle"},
		{"core/x", `import "fmt"; var _ = fmt.Sprint()`, ""},
		{"core/x", `import "fmt"; func f() { fmt.Println() }`, "fmt.Println"},
		{"core/x", `func f() { go f() }`, "go statement"},
		{"core/x", `func f() { panic("x") }`, "panic"},
		{"core/x", `func f() { println("x") }`, "println"},
		{"core/bucket", `import _ "` + ours + `core/policy"`, ""},
		{"core/bucket", `import _ "` + module + `/core"`, ""},
		{"core/bucket", `import _ "` + ours + `hostsim"`, "none of its shells"},
		{"core/bucket", `import _ "` + ours + `corelike"`, "none of its shells"},
		{"core/chat", `import _ "github.com/tidwall/gjson"`, ""},
		{"core/flow", `import _ "github.com/tidwall/gjson"`, "not a module of this package"},
		{"core/wire", `import _ "google.golang.org/protobuf/encoding/protowire"`, ""},
		{"core/wire", `import _ "google.golang.org/protobuf/proto"`, "not a module"},
		{"core/history", `import _ "github.com/cespare/xxhash/v2"`, ""},
		{"core/policy", `import _ "github.com/cespare/xxhash/v2"`, ""},
		{"core/spec", `import _ "github.com/cespare/xxhash/v2"`, "not a module"},
		{"core/x", `import _ "github.com/stretchr/testify/require"`, "not a module"},
		{"wasmfilter", `import (_ "os"; _ "` + ours + `core"; _ "` + ours + `core/flow"; _ "` + ours + `wasmfilter/internal/plugin")`, ""},
		{"wasmfilter", `import _ "github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"`, "core and its own shell"},
		{"wasmfilter/internal/plugin", `import _ "github.com/tidwall/gjson"`, "core and its own shell"},
		{"wasmfilter", `import _ "` + ours + `hostsim"`, "core and its own shell"},
		{"wasmfilter", `func f() { go f() }`, ""},
		{"hostsim/fakes", `import _ "` + ours + `statesvc/server"`, "by its wire only"},
		{"hostsim/cmd/hostsim", `import _ "` + ours + `statesvc"`, ""},
		{"hostsim/doctor", `import _ "` + ours + `statesvc/config"`, ""},
		{"hostsim/doctor", `import _ "` + ours + `statesvc"`, "by its wire only"},
		{"hostsim", `import _ "` + ours + `core/wire"`, ""},
		{"statesvc/server", `import _ "` + ours + `hostsim/fakes"`, "does not know its simulator"},
		{"statesvc/server", `import _ "` + ours + `core/wire"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.pkg+"/"+tt.code, func(t *testing.T) {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, "x.go", "package x\n"+tt.code, 0)
			require.NoError(t, err)
			found := strings.Join(inspect(tt.pkg, files, file), "\n")
			if tt.broken == "" {
				require.Empty(t, found)
				return
			}
			require.Contains(t, found, tt.broken)
		})
	}
}
