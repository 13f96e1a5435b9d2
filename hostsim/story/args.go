package story

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// arguments reads the arguments of one step. The first mistake is kept; done
// reports it, or an argument that nothing read.
type arguments struct {
	args []Arg
	used []bool
	err  error
}

func readArguments(args []Arg) *arguments {
	return &arguments{args: args, used: make([]bool, len(args))}
}

func (a *arguments) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

// word takes the next argument that is a name alone.
func (a *arguments) word() (string, bool) {
	for i, arg := range a.args {
		if !a.used[i] && arg.Values == nil {
			a.used[i] = true
			return arg.Name, true
		}
	}
	return "", false
}

// words takes all arguments that are names alone.
func (a *arguments) words() (list []string) {
	for w, ok := a.word(); ok; w, ok = a.word() {
		list = append(list, w)
	}
	return list
}

// id takes the next word, which must be there.
func (a *arguments) id(what string) string {
	id, ok := a.word()
	if !ok {
		a.fail("name %s", what)
	}
	return id
}

// flag reports whether a name alone is there.
func (a *arguments) flag(name string) bool {
	for i, arg := range a.args {
		if !a.used[i] && arg.Name == name && arg.Values == nil {
			a.used[i] = true
			return true
		}
	}
	return false
}

// list takes the values of an argument, false when it is absent.
func (a *arguments) list(name string) ([]string, bool) {
	for i, arg := range a.args {
		if !a.used[i] && arg.Name == name && arg.Values != nil {
			a.used[i] = true
			return arg.Values, true
		}
	}
	return nil, false
}

// text takes one value.
func (a *arguments) text(name string) (string, bool) {
	values, ok := a.list(name)
	if !ok {
		return "", false
	}
	if len(values) != 1 {
		a.fail("%s takes one value; write %s=x", name, name)
	}
	return values[0], true
}

// number takes a whole number.
func (a *arguments) number(name string) (uint64, bool) {
	text, ok := a.text(name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		a.fail("%s=%s is not a whole number; write it like %s=5", name, text, name)
	}
	return n, true
}

// duration takes a time in whole milliseconds.
func (a *arguments) duration(name string) (time.Duration, bool) {
	text, ok := a.text(name)
	if !ok {
		return 0, false
	}
	return a.parseDuration(name+"=", text), true
}

func (a *arguments) parseDuration(before, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d%time.Millisecond != 0 {
		a.fail("%s%s is not a time; write it like %s1s or %s200ms", before, text, before, before)
	}
	return d
}

// done reports the first mistake.
func (a *arguments) done() error {
	for i, arg := range a.args {
		if !a.used[i] {
			a.fail("unknown argument %s; README.md of hostsim/story lists what the command takes", strings.TrimSpace(arg.Name))
		}
	}
	return a.err
}
