package schema

import (
	"io/fs"
	"reflect"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/statesvc/config"
)

// Format is one configuration format.
type Format struct {
	// Name is that of its schema's file, before .schema.json.
	Name string
	// Title is what the format configures.
	Title    string
	settings []setting
}

// Formats reads the two formats; root is the root of the source tree.
func Formats(root fs.FS) ([]Format, error) {
	found, err := readComments(root, "core/spec", "core/admission", "statesvc/config")
	if err != nil {
		return nil, err
	}
	one := uint64(spec.Version)
	filled := spec.Defaults(&spec.Config{Version: one, State: &spec.State{}, Abort: &spec.Abort{}})
	filter := reader{tag: "json", comments: found}
	service := reader{tag: "yaml", comments: found}
	standard := config.Default()
	return []Format{
		{Name: "filter", Title: "Filter", settings: filter.object(reflect.TypeFor[spec.Config](), reflect.ValueOf(filled).Elem())},
		{Name: "statesvc", Title: "State service", settings: service.object(reflect.TypeFor[config.Config](), reflect.ValueOf(&standard).Elem())},
	}, nil
}

// Unexplained lists the settings without a doc comment, by their paths.
func (f *Format) Unexplained() []string { return unexplained("", f.settings) }

func unexplained(at string, list []setting) (paths []string) {
	for i := range list {
		s := &list[i]
		path := join(at, s.key)
		if s.doc == "" {
			paths = append(paths, path)
		}
		for s.every != nil {
			s = s.every
		}
		paths = append(paths, unexplained(path, s.below)...)
	}
	return paths
}
