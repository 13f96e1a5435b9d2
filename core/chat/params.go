package chat

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/sampling"
	"github.com/tidwall/gjson"
)

// Place is where members can be added to a body without changing its other bytes.
type Place struct {
	At         int    // offset into the body: right behind an opening or before a closing brace
	Open, Shut string // what stands before and after the added members
}

// Text is what to insert at the place for members that are written with commas
// between them.
func (p *Place) Text(members string) string { return p.Open + members + p.Shut }

// inObject is the place behind the last of so many members.
func inObject(brace, members int) Place {
	if members == 0 {
		return Place{At: brace}
	}
	return Place{At: brace, Open: ","}
}

// placeRid finds the place of a rid: in front, where little of the body has to be
// moved for it, unless there is one that is null, which only a later member
// outdoes.
func (r *reader) placeRid(open int) {
	f := &r.facts
	switch {
	case r.seen[memberRid]:
		f.RidPlace = inObject(f.Brace, r.members)
	case r.members == 0:
		f.RidPlace = Place{At: open + 1}
	default:
		f.RidPlace = Place{At: open + 1, Shut: ","}
	}
}

// inParams is the place of sampling members where a body has no sampling_params,
// or null, which the added one outdoes by being the last.
func inParams(top Place) Place {
	return Place{At: top.At, Open: top.Open + `"sampling_params":{`, Shut: "}"}
}

// params is what sampling_params of a /generate body holds.
type params struct {
	output core.Count
	values sampling.Values
	place  Place
	found  bool // one object: values and place are set
	list   bool // a list of objects, one for each prompt of a batch
}

// readParams reads the value that stands at an offset of the body.
func readParams(raw string, offset int) (params, error) {
	switch raw[0] {
	case 'n':
		return params{}, nil
	case '{':
		return readParamsObject(raw, offset)
	case '[':
		return readParamsList(raw)
	}
	return params{}, refuse(`"sampling_params" must be an object`)
}

func readParamsObject(raw string, offset int) (p params, err error) {
	s := scanner{text: raw}
	members, seen := 0, false
	s.object(func(key, value string) bool {
		members++
		if p.values.Note(key, value) || key != "max_new_tokens" {
			return true
		}
		if seen {
			err = refuse(`"max_new_tokens" stands twice in the request body`)
			return false
		}
		seen = true
		p.output, err = budget("max_new_tokens", gjson.Parse(value))
		return err == nil
	})
	p.found, p.place = true, inObject(offset+len(raw)-1, members)
	return p, err
}

// readParamsList takes the largest output of a batch; one that is unknown makes
// all unknown.
func readParamsList(raw string) (p params, err error) {
	unknown := false
	elements(raw, func(element string) {
		one, bad := readParams(element, 0)
		if bad == nil && !one.found && element[0] != 'n' {
			bad = refuse(`"sampling_params" must be an object or a list of objects`)
		}
		if bad != nil && err == nil {
			err = bad
		}
		unknown = unknown || !one.output.Known
		p.output = core.Known(max(p.output.N, one.output.N))
	})
	if unknown {
		p.output = core.Count{}
	}
	p.list = true
	return p, err
}
