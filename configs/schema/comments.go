package schema

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
)

// comments are the doc comments of the types of some packages and of their fields, by
// the name of the package, the type and the field.
type comments map[string]string

// readComments parses the packages in some folders.
func readComments(root fs.FS, folders ...string) (comments, error) {
	found := comments{}
	for _, folder := range folders {
		files, err := fs.Glob(root, folder+"/*.go")
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			source, err := fs.ReadFile(root, name)
			if err != nil {
				return nil, err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, fmt.Errorf("comments of settings: %w", err)
			}
			found.add(file)
		}
	}
	return found, nil
}

func (c comments) add(file *ast.File) {
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range group.Specs {
			declared, ok := s.(*ast.TypeSpec)
			if !ok {
				continue
			}
			at := file.Name.Name + "." + declared.Name.Name
			c[at] = oneLine(group.Doc.Text() + " " + declared.Doc.Text())
			if fields, ok := declared.Type.(*ast.StructType); ok {
				c.fields(at+".", fields)
			}
		}
	}
}

// fields keeps the comments of one struct.
func (c comments) fields(at string, list *ast.StructType) {
	for _, f := range list.Fields.List {
		text := oneLine(f.Doc.Text() + " " + f.Comment.Text())
		for _, name := range f.Names {
			c[at+name.Name] = text
		}
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
