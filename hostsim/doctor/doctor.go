package doctor

import (
	"io/fs"
	"slices"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// Input is one thing to look at.
type Input struct {
	Name string // as it is shown
	Data []byte
	// Err is why it could not be read; Data is not looked at then.
	Err error
	// Asked is false for what was found in a folder, where documents of other tools are
	// passed over.
	Asked bool
}

// Options say what inputs do not.
type Options struct {
	// Version is the release of Envoy, for inputs that do not say theirs. Nil: unknown.
	Version *Version
	// ReadFile reads modules that manifests name by their path, to compare them with
	// their hash. Nil: they are not compared.
	ReadFile func(name string) ([]byte, error)
}

// Report is what was found.
type Report struct {
	Proxies  []Picture `json:"proxies"`
	Findings []Finding `json:"findings"`
	// More is the number of findings beyond the first hundred of a rule.
	More int `json:"more,omitempty"`
	// Looked is the number of documents and modules that were looked at.
	Looked int `json:"looked"`
	// Skipped are documents that doctor knows nothing about.
	Skipped []string `json:"skipped,omitempty"`
}

// Count is the number of findings of a severity.
func (r *Report) Count(s Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Examine looks at all inputs together.
func Examine(inputs []Input, options Options) *Report {
	m := &model{count: map[string]int{}, findings: []Finding{}}
	read := reading{model: m, options: options}
	for _, in := range inputs {
		read.input(in)
	}
	read.assign()
	for _, set := range alternatives(read.istio) {
		m.istio(set)
	}
	for _, set := range alternatives(read.gateway) {
		m.gateway(set)
	}
	if options.ReadFile != nil {
		m.readModules(options.ReadFile)
	}
	for _, p := range m.proxies {
		if p.version == nil {
			p.version = options.Version
		}
	}
	for _, r := range Rules() {
		if r.check != nil {
			r.check(m, m.reporter(&r))
		}
	}
	var files []string
	for _, in := range inputs {
		files = append(files, in.Name)
	}
	inOrder(m.findings, files)
	return &Report{Proxies: m.pictures(), Findings: m.findings, More: m.more, Looked: m.looked, Skipped: m.skipped}
}

// reporter reports findings of one rule.
func (m *model) reporter(r *Rule) reporter {
	return func(at tree.At, format string, args ...any) { m.report(r, at, format, args...) }
}

// Collect lists the manifests below a folder: YAML and JSON files outside hidden
// folders, at most 1,000.
func Collect(folder fs.FS) ([]string, error) {
	var names []string
	err := fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && d.Name()[0] == '.':
			return fs.SkipDir
		case d.Type().IsRegular() && slices.Contains(suffixes(), suffix(path)):
			if names = append(names, path); len(names) >= 1000 {
				return fs.SkipAll
			}
		}
		return nil
	})
	return names, err
}
