package config

import (
	"strings"

	"github.com/goccy/go-yaml"
)

// Remembered is what is kept of registrations over a restart.
type Remembered struct {
	// Workers are entries like those of fleet.static. An ID is empty where the
	// registration had none.
	Workers []Worker `yaml:"workers"`
	// Drained are the IDs of workers, of any source, that an operator drains.
	Drained []string `yaml:"drained"`
}

// roster is a list of workers in a file of its own.
type roster struct {
	Workers []Worker `yaml:"workers"`
}

const workersMissing = "missing; write workers: [] for no workers"

// ParseRoster reads a list of workers in YAML or JSON: one key, workers, with entries
// like those of fleet.static. The error is a Problems value that lists everything
// found. A list without workers must say so, for half a file looks like that.
func ParseRoster(data []byte, maxStringBytes int) ([]Worker, error) {
	var problems Problems
	var list roster
	tree, problem := readList(data)
	if problem != "" {
		problems.add("", "%s", problem)
		return nil, problems
	}
	if tree["workers"] == nil {
		problems.add("workers", workersMissing)
	}
	assign(tree, &list, &problems)
	completeWorkers(list.Workers, "workers", maxStringBytes, &problems)
	checkSockets(list.Workers, "workers", &problems)
	if len(problems) > 0 {
		return nil, problems
	}
	return list.Workers, nil
}

// ParseRemembered reads what Marshal wrote. The error is a Problems value.
func ParseRemembered(data []byte, maxStringBytes int) (Remembered, error) {
	var problems Problems
	var r Remembered
	tree, problem := readList(data)
	if problem != "" {
		problems.add("", "%s", problem)
		return r, problems
	}
	assign(tree, &r, &problems)
	completeUnnamed(r.Workers, "workers", maxStringBytes, &problems)
	for _, id := range r.Drained {
		checkName("drained", id, maxStringBytes, &problems)
	}
	if len(problems) > 0 {
		return Remembered{}, problems
	}
	return r, nil
}

// Marshal gives the text that ParseRemembered reads.
func (r Remembered) Marshal() ([]byte, error) { return yaml.Marshal(r) }

func readList(data []byte) (map[string]any, string) {
	if len(data) > maxFileBytes {
		return nil, "the file is larger than 8388608 bytes"
	}
	tree, problem := readTree(data, "the file is empty; write workers: [] for no workers")
	return tree, strings.Replace(problem, "of settings, such as version: 1", "with the key workers", 1)
}

// ParseWorker reads one worker in JSON or YAML, as an entry of fleet.static. Its ID
// stays empty when the text has none. The error is a Problems value.
func ParseWorker(data []byte, maxStringBytes int) (Worker, error) {
	var problems Problems
	tree, problem := readTree(data, "the body is empty; write at least an address")
	if problem != "" {
		problem = strings.Replace(problem, "the file must be a mapping of settings, such as version: 1", `the body must be one object, such as {"address":"10.0.0.1:8000"}`, 1)
		problems.add("", "%s", problem)
		return Worker{}, problems
	}
	list := make([]Worker, 1)
	assign(tree, &list[0], &problems)
	completeUnnamed(list, "worker", maxStringBytes, &problems)
	checkSockets(list, "worker", &problems)
	for i := range problems {
		problems[i].Path = strings.TrimPrefix(strings.TrimPrefix(problems[i].Path, "worker[0]"), ".")
	}
	if len(problems) > 0 {
		return Worker{}, problems
	}
	return list[0], nil
}

// completeUnnamed is completeWorkers, but gives no worker an ID that has none.
func completeUnnamed(list []Worker, root string, maxBytes int, p *Problems) {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	completeWorkers(list, root, maxBytes, p)
	for i := range list {
		list[i].ID = ids[i]
	}
}
