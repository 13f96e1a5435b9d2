package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
)

// file reads a JSON file strictly and refuses, all at once, what it cannot take.
type file struct {
	c    *converter
	flag string // with the name of the file
}

// field reads the value of one key.
type field func(at string, raw json.RawMessage)

// open reads the file of a flag; ok is false when there is nothing to read.
func (c *converter) open(flag string) (f *file, document json.RawMessage, ok bool) {
	name := c.line.text(flag)
	f = &file{c: c, flag: flag + " " + name}
	if c.options.ReadFile == nil {
		c.refuse(f.flag, "cannot be read here", "")
		return f, nil, false
	}
	data, err := c.options.ReadFile(name)
	if err != nil {
		c.refuse(f.flag, "cannot be read: "+err.Error(), "")
		return f, nil, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&document); err != nil {
		c.refuse(f.flag, "is not JSON: "+err.Error(), "")
		return f, nil, false
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		c.refuse(f.flag, "more follows the first JSON value", "one object")
	}
	return f, document, true
}

func (f *file) refuse(at, reason, instead string) {
	if at != "" {
		reason = at + ": " + reason
	}
	f.c.refuse(f.flag, reason, instead)
}

// object reads the keys of an object; any other key is refused.
func (f *file) object(at string, raw json.RawMessage, keys map[string]field) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		f.refuse(at, "must be an object", "")
		return
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return
		}
		key, _ := token.(string)
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return
		}
		f.key(join(at, key), key, value, keys, seen)
	}
}

func (f *file) key(at, key string, value json.RawMessage, keys map[string]field, seen map[string]bool) {
	read, known := keys[key]
	switch {
	case seen[key]:
		f.refuse(at, "stands twice", "one of the two")
	case !known:
		names := make([]string, 0, len(keys))
		for name := range keys {
			names = append(names, name)
		}
		slices.Sort(names)
		if near, ok := nearest(key, names); ok {
			f.refuse(at, "unknown key", near+", if that is meant")
		} else {
			f.refuse(at, "unknown key", "the known ones: "+strings.Join(names, ", "))
		}
	case string(value) == "null":
	default:
		read(at, value)
	}
	seen[key] = true
}

// list reads the items of a list.
func (f *file) list(item func(at string, raw json.RawMessage)) field {
	return func(at string, raw json.RawMessage) {
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			f.refuse(at, "must be a list", "")
			return
		}
		for i, r := range items {
			item(at+"["+strconv.Itoa(i)+"]", r)
		}
	}
}

// value reads a scalar into dst, which stays as it is when that fails.
func value[T any](f *file, dst *T, kind string) field {
	return func(at string, raw json.RawMessage) {
		var read T
		if json.Unmarshal(raw, &read) != nil {
			f.refuse(at, "must be "+kind, "")
			return
		}
		*dst = read
	}
}

func (f *file) count(dst **uint64) field { return value(f, dst, "a whole number, zero or more") }

func (f *file) text(dst *string) field { return value(f, dst, "a string") }

func (f *file) number(dst **float64) field { return value(f, dst, "a number") }

// millis reads milliseconds that may be written as a fraction.
func (f *file) millis(dst **uint64) field {
	return func(at string, raw json.RawMessage) {
		var x float64
		if json.Unmarshal(raw, &x) != nil || x < 0 || x > 1<<53 || x != math.Trunc(x) {
			f.refuse(at, "must be whole milliseconds", "")
			return
		}
		n := uint64(x)
		*dst = &n
	}
}

// workers reads worker IDs.
func (f *file) workers(dst **[]string) field {
	return func(at string, raw json.RawMessage) {
		ids := []string{}
		if json.Unmarshal(raw, &ids) != nil {
			f.refuse(at, "must be a list of worker ids", "")
			return
		}
		for i := range ids {
			ids[i] = f.c.workerID(ids[i])
		}
		*dst = &ids
		if f.c.line.has("--service-discovery") {
			f.c.note(f.flag, "worker_ids must be the ids that engines have in the state service's configuration")
		}
	}
}

// services reads Kubernetes Services. Engines named by URL are behind none.
func (f *file) services(dst **[]string) field {
	return func(at string, raw json.RawMessage) {
		names := []string{}
		if json.Unmarshal(raw, &names) != nil {
			f.refuse(at, "must be a list of namespace/name", "")
			return
		}
		for _, name := range names {
			if !core.ServiceName(name) {
				f.refuse(at, strconv.Quote(name)+" is not a Kubernetes Service", "namespace/name")
				return
			}
		}
		if len(names) > 0 && !f.c.line.has("--service-discovery") {
			f.refuse(at, "names Kubernetes Services, and --worker-urls names engines that are behind none", `"worker_ids", or --service-discovery`)
			return
		}
		*dst = &names
		f.c.note(f.flag, "worker_services must stand as services in the state service's configuration of each engine")
	}
}

// refused is a key that nothing here honours.
func (f *file) refused(reason, instead string) field {
	return func(at string, _ json.RawMessage) { f.refuse(at, reason, instead) }
}

// limits reads caps (engine-selection.md 4). Shares of a capacity are refused.
func (f *file) limits(dst **admission.Limits) field {
	return func(at string, raw json.RawMessage) {
		var l admission.Limits
		shares := "is a share of a reported capacity, and caps are absolute in this version"
		f.object(at, raw, map[string]field{
			admission.MaxRunningRequests:      f.count(&l.MaxRunningRequests),
			admission.MaxWaitingRequests:      f.count(&l.MaxWaitingRequests),
			admission.MaxKVTokens:             f.count(&l.MaxKVTokens),
			admission.MaxPendingPrefillTokens: f.count(&l.MaxPendingPrefillTokens),
			admission.MaxInflightRequests:     f.count(&l.MaxInflightRequests),
			"max_running_usage":               f.refused(shares, admission.MaxRunningRequests),
			"max_kv_usage":                    f.refused(shares, admission.MaxKVTokens),
		})
		if l != (admission.Limits{}) {
			*dst = &l
		}
	}
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}
