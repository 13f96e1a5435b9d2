package wasmfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// DropExports returns the module without the named exports; everything else keeps its bytes. The exported functions
// stay in the code section, unreachable for the host. A name that is not exported is an error, so that a build notices
// when a toolchain renames a callback; the error lists all such names.
func DropExports(module []byte, names ...string) ([]byte, error) {
	f, err := Parse(module)
	if err != nil {
		return nil, err
	}
	if err := allExported(f, names); err != nil {
		return nil, err
	}
	out := slices.Clone(header)
	err = eachSection(module, func(id byte, raw, body []byte) error {
		if id == sectionExport {
			raw, err = withoutExports(body, names)
		}
		out = append(out, raw...)
		return err
	})
	return out, err
}

func allExported(f *File, names []string) error {
	var missing []string
	for _, n := range names {
		if !slices.ContainsFunc(f.Exports, func(e Export) bool { return e.Name == n }) {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("not exported: %s", strings.Join(missing, ", "))
	}
	return nil
}

func withoutExports(body []byte, names []string) ([]byte, error) {
	exports, err := parseExports(body)
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(exports, func(e Export) bool { return slices.Contains(names, e.Name) })
	content := appendU32(nil, uint32(len(kept)))
	for _, e := range kept {
		content = appendName(content, e.Name)
		content = append(content, byte(e.Kind))
		content = appendU32(content, e.Index)
	}
	return appendSection(nil, sectionExport, content), nil
}

func appendSection(dst []byte, id byte, content []byte) []byte {
	dst = append(dst, id)
	dst = appendU32(dst, uint32(len(content)))
	return append(dst, content...)
}

// AddCustom returns the module with one more custom section at its end. A name that is already taken is an error:
// readers take the first section of a name and would not see the new one.
func AddCustom(module []byte, name string, data []byte) ([]byte, error) {
	f, err := Parse(module)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, errors.New("a custom section needs a name")
	}
	if _, taken := f.Custom(name); taken {
		return nil, fmt.Errorf("the custom section %q exists already", name)
	}
	return appendSection(slices.Clone(module), sectionCustom, append(appendName(nil, name), data...)), nil
}
