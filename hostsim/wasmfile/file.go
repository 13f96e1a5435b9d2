package wasmfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind says what an import or export is.
type Kind byte

// The kinds of the core specification.
const (
	KindFunc   Kind = 0
	KindTable  Kind = 1
	KindMemory Kind = 2
	KindGlobal Kind = 3
	KindTag    Kind = 4
)

// String returns the kind's name in the WebAssembly text format.
func (k Kind) String() string {
	switch k {
	case KindFunc:
		return "func"
	case KindTable:
		return "table"
	case KindMemory:
		return "memory"
	case KindGlobal:
		return "global"
	case KindTag:
		return "tag"
	}
	return fmt.Sprintf("kind(%d)", byte(k))
}

// Import is one thing that the module wants from its host.
type Import struct {
	Module, Name string
	Kind         Kind
}

// String returns "module.name".
func (i Import) String() string { return i.Module + "." + i.Name }

// Export is one thing that the module offers to its host. Index counts within its kind, imports first.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
}

// Custom is a custom section. Data refers to the bytes given to Parse.
type Custom struct {
	Name string
	Data []byte
}

// File is what the container of a module says.
type File struct {
	// Size of the module in bytes.
	Size    int
	Imports []Import
	Exports []Export
	Customs []Custom
}

const (
	sectionCustom = 0
	sectionImport = 2
	sectionExport = 7
	// sectionMax is the highest section number of the core specification with exception handling (13, tags).
	sectionMax = 13
)

var header = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

// errNotWasm reports bytes that do not begin like a WebAssembly 1.0 module.
var errNotWasm = errors.New("not a WebAssembly module (wrong first eight bytes)")

// Parse reads the container of a module. The error names what is wrong in one line; it never panics.
func Parse(module []byte) (*File, error) {
	f := &File{Size: len(module)}
	err := eachSection(module, func(id byte, _, body []byte) error {
		return f.addSection(id, body)
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// eachSection calls fn with every section: its number, all its bytes (number and length included) and its content.
func eachSection(module []byte, fn func(id byte, raw, body []byte) error) error {
	if !bytes.HasPrefix(module, header) {
		return errNotWasm
	}
	r := &reader{rest: module[len(header):]}
	for !r.done() {
		start := r.rest
		id := r.byte()
		body := r.bytes(r.u32())
		if r.err == nil && id > sectionMax {
			r.fail(errors.New("no such section"))
		}
		if r.err != nil {
			return fmt.Errorf("section %d: %w", id, r.err)
		}
		if err := fn(id, start[:len(start)-len(r.rest)], body); err != nil {
			return fmt.Errorf("section %d: %w", id, err)
		}
	}
	return r.err
}

func (f *File) addSection(id byte, body []byte) (err error) {
	switch id {
	case sectionCustom:
		var c Custom
		c, err = parseCustom(body)
		f.Customs = append(f.Customs, c)
	case sectionImport:
		f.Imports, err = parseImports(body)
	case sectionExport:
		f.Exports, err = parseExports(body)
	}
	return err
}

func parseCustom(body []byte) (Custom, error) {
	r := &reader{rest: body}
	name := r.name()
	return Custom{Name: name, Data: r.rest}, r.err
}

func parseImports(body []byte) ([]Import, error) {
	r := &reader{rest: body}
	n := r.count(4)
	imports := make([]Import, 0, n)
	for range n {
		i := Import{Module: r.name(), Name: r.name(), Kind: Kind(r.byte())}
		skipImportType(r, i.Kind)
		if r.err != nil {
			return nil, r.err
		}
		imports = append(imports, i)
	}
	return imports, trailing(r)
}

// skipImportType steps over the description that follows an import's kind.
func skipImportType(r *reader, kind Kind) {
	switch kind {
	case KindFunc:
		r.u32()
	case KindTable:
		r.byte()
		skipLimits(r)
	case KindMemory:
		skipLimits(r)
	case KindGlobal:
		r.byte()
		r.byte()
	case KindTag:
		r.byte()
		r.u32()
	default:
		r.fail(fmt.Errorf("an import has the unknown kind %d", kind))
	}
}

func skipLimits(r *reader) {
	flags := r.byte()
	r.u32()
	if flags&1 != 0 {
		r.u32()
	}
}

func parseExports(body []byte) ([]Export, error) {
	r := &reader{rest: body}
	n := r.count(3)
	exports := make([]Export, 0, n)
	for range n {
		e := Export{Name: r.name(), Kind: Kind(r.byte()), Index: r.u32()}
		if r.err != nil {
			return nil, r.err
		}
		exports = append(exports, e)
	}
	return exports, trailing(r)
}

func trailing(r *reader) error {
	if r.err == nil && len(r.rest) > 0 {
		return fmt.Errorf("%d bytes too many", len(r.rest))
	}
	return r.err
}

// Custom returns the content of the first custom section of that name.
func (f *File) Custom(name string) ([]byte, bool) {
	for _, c := range f.Customs {
		if c.Name == name {
			return c.Data, true
		}
	}
	return nil, false
}

// HasExport reports whether a function of that name is exported.
func (f *File) HasExport(name string) bool {
	return slices.ContainsFunc(f.Exports, func(e Export) bool { return e.Name == name && e.Kind == KindFunc })
}

const abiPrefix = "proxy_abi_version_"

// ABIVersion returns the version that the module's proxy_abi_version_* export announces, such as "0.2.0"
// (envoy.md 1.1). ok is false when there is none.
func (f *File) ABIVersion() (version string, ok bool) {
	for _, e := range f.Exports {
		if v, found := strings.CutPrefix(e.Name, abiPrefix); found && e.Kind == KindFunc {
			return strings.ReplaceAll(v, "_", "."), true
		}
	}
	return "", false
}
