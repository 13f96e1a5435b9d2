package soak

import (
	"bytes"
	"os"
	"regexp"
)

// faultLine finds the lines by which a host says that a VM or itself is in
// trouble: Envoy's levels error and critical, a trap, and what Go writes when it
// dies. hostsim's log is slog's text.
var faultLine = regexp.MustCompile(`\[(error|critical)\]|level=ERROR|fatal error|panic|RuntimeError|poll_oneoff`) //nolint:gochecknoglobals // compiled once

// keepLines bounds the fault lines that are kept.
const keepLines = 15

// Fault is a line of the host's log.
type Fault struct {
	Requests int // finished when it was seen
	Line     string
}

// follower reads a log as it grows.
type follower struct {
	path   string
	offset int64
	rest   []byte
	faults []Fault
	count  int
}

// read looks at what was written since.
func (f *follower) read(requests int) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(f.offset, 0); err != nil {
		return err
	}
	var more bytes.Buffer
	n, err := more.ReadFrom(file)
	if err != nil {
		return err
	}
	f.offset += n
	f.rest = append(f.rest, more.Bytes()...)
	for {
		line, after, whole := bytes.Cut(f.rest, []byte("\n"))
		if !whole {
			return nil
		}
		f.rest = after
		f.line(requests, string(line))
	}
}

func (f *follower) line(requests int, line string) {
	if !faultLine.MatchString(line) {
		return
	}
	f.count++
	if len(f.faults) < keepLines {
		f.faults = append(f.faults, Fault{requests, line})
	}
}
