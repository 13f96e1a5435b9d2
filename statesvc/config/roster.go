package config

import "strings"

// Roster is a list of workers outside the configuration: the watched file of
// discovery.file, and what the service remembers of registrations.
type Roster struct {
	Workers []Worker `yaml:"workers"`
}

// ParseRoster reads a list of workers in YAML or JSON: one key, workers, with entries
// like those of fleet.static. The error is a Problems value that lists everything
// found. A list without workers must say so: workers: [].
func ParseRoster(data []byte, maxStringBytes int) ([]Worker, error) {
	var problems Problems
	if len(data) > maxFileBytes {
		problems.add("", "the file is larger than %d bytes", maxFileBytes)
		return nil, problems
	}
	tree, problem := readTree(data, "the file is empty; write workers: [] for no workers")
	if problem != "" {
		problems.add("", "%s", strings.Replace(problem, "of settings, such as version: 1", "with the key workers", 1))
		return nil, problems
	}
	roster := Roster{}
	if list, ok := tree["workers"]; !ok || list == nil {
		problems.add("workers", "missing; write workers: [] for no workers")
	}
	assign(tree, &roster, &problems)
	completeWorkers(roster.Workers, "workers", maxStringBytes, &problems)
	checkSockets(roster.Workers, "workers", &problems)
	if len(problems) > 0 {
		return nil, problems
	}
	return roster.Workers, nil
}

// ParseWorker reads one worker in JSON or YAML, as an entry of fleet.static. Its ID
// stays empty when the text has none. The error is a Problems value.
func ParseWorker(data []byte, maxStringBytes int) (Worker, error) {
	var problems Problems
	tree, problem := readTree(data, "the body is empty; write at least an address")
	if problem != "" {
		problem = strings.Replace(problem, "the file must be a mapping of settings, such as version: 1", "the body must be one object, such as {\"address\":\"10.0.0.1:8000\"}", 1)
		problems.add("", "%s", problem)
		return Worker{}, problems
	}
	w := Worker{}
	assign(tree, &w, &problems)
	named := w.ID
	list := []Worker{w}
	completeWorkers(list, "worker", maxStringBytes, &problems)
	for i := range problems {
		problems[i].Path = strings.TrimPrefix(strings.TrimPrefix(problems[i].Path, "worker[0]"), ".")
	}
	if len(problems) > 0 {
		return Worker{}, problems
	}
	list[0].ID = named
	return list[0], nil
}
