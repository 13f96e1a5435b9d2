package story

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pointsman/pointsman/hostsim"
)

// run is one run of a story on one host.
type run struct {
	host      Host
	clock     *hostsim.ManualClock
	start     time.Time
	service   *service
	filter    Filter // nil before the first config and after a refused one
	refused   string // why the last config was, on one line
	config    *settings
	exchanges []*exchange // in the order of their requests
	out       strings.Builder
}

// Run plays the story on a host and gives the output of every step. A step that
// cannot be played ends the run with an *Error; the outputs so far are returned
// with it.
func (f *File) Run(host Host) (outputs []string, err error) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &run{host: host, clock: hostsim.NewManualClock(start), start: start}
	r.service = newService(r.clock)
	defer func() { err = errors.Join(err, r.close()) }()
	for i := range f.Steps {
		output, err := r.play(&f.Steps[i])
		if err != nil {
			return outputs, f.fault(f.Steps[i].Line, "%s: %v", f.Steps[i].Verb, err)
		}
		outputs = append(outputs, output)
	}
	return outputs, nil
}

func (r *run) close() error {
	if r.filter == nil {
		return nil
	}
	return r.filter.Close()
}

// play carries out one step.
func (r *run) play(step *Step) (string, error) {
	r.out.Reset()
	verb, ok := verbs()[step.Verb]
	if !ok {
		return "", fmt.Errorf("no such command; write one of %s", strings.Join(verbNames(), ", "))
	}
	if r.filter == nil && verb.needsFilter {
		return "", r.noFilter()
	}
	a := readArguments(step.Args)
	if at, ok := a.duration("at"); ok && a.err == nil {
		if err := r.advanceTo(at); err != nil {
			return "", err
		}
	}
	if a.err != nil {
		return "", a.err
	}
	if err := verb.play(r, a, step.Input); err != nil {
		return "", err
	}
	r.show()
	return r.out.String(), r.service.fault
}

func (r *run) noFilter() error {
	if r.refused != "" {
		return fmt.Errorf("there is no filter: the config above was refused: %s", r.refused)
	}
	return errors.New("there is no filter yet; write a config step above")
}

func (r *run) printf(format string, args ...any) { fmt.Fprintf(&r.out, format, args...) }

// now is the time since the story began.
func (r *run) now() time.Duration { return r.clock.Now().Sub(r.start) }

func (r *run) advanceTo(at time.Duration) error {
	if at < r.now() {
		return fmt.Errorf("at=%v has passed, the clock stands at %v; write a later time", at, r.now())
	}
	r.advance(at - r.now())
	return nil
}

func (r *run) advance(d time.Duration) {
	if r.filter == nil {
		r.clock.Advance(d)
		return
	}
	r.clock.Advance(d, r.filter.RunPending)
}

// syncStep is how finely the clock moves while a sync is awaited, syncWithin how
// far at most: a context without streams syncs once a second.
const (
	syncStep   = 10 * time.Millisecond
	syncWithin = 11 * time.Second
)

// sync lets time pass until the filter has synced once more: it then knows the
// fleet as the story tells it, unless the reply was lost.
func (r *run) sync() error {
	if r.filter == nil {
		return nil
	}
	if !r.config.state {
		return errors.New("the config names no state service, so the filter cannot learn of this; leave \"workers\" out of it")
	}
	before := r.service.calls
	for waited := time.Duration(0); waited < syncWithin; waited += syncStep {
		lost := r.service.losing != 0 || !r.service.known
		r.advance(syncStep)
		if r.service.calls > before && (lost || r.service.served == r.service.version) {
			return nil
		}
	}
	return fmt.Errorf("the filter did not sync within %v", syncWithin)
}
