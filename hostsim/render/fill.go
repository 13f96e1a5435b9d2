package render

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pointsman/pointsman/core/flow"
)

// Fill makes a file from each of some templates and has every document in it checked.
// Files have the names of their templates.
func Fill(templates fs.FS, names []string, data any, check func(document json.RawMessage) error) ([]File, error) {
	var files []File
	for _, name := range names {
		text, err := fill(templates, name, data, check)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, File{Name: name, Text: text})
	}
	return files, nil
}

func fill(templates fs.FS, name string, data any, check func(document json.RawMessage) error) ([]byte, error) {
	source, err := fs.ReadFile(templates, name)
	if err != nil {
		return nil, err
	}
	text, err := Template(string(source), data)
	if err != nil {
		return nil, err
	}
	documents, err := Documents(text)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		if err := check(d); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// Labels are the labels of the filter's metrics, sorted.
func Labels() []string {
	var names []string
	for _, f := range flow.Metrics() {
		if f.Label != "" {
			names = append(names, f.Label)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
