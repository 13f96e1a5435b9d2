package schema

import (
	"errors"
	"strings"

	"sigs.k8s.io/json"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// Object checks a manifest against the Go type of its kind, a pointer to a struct, as
// an API server does: to the letter, without unknown fields.
func Object(at tree.At, kind any) []Problem {
	strict, err := json.UnmarshalStrict(at.Node.JSON(), kind)
	var list []Problem
	for _, e := range strict {
		p := Problem{At: at, Text: e.Error(), Unknown: true}
		if field, ok := errors.AsType[json.FieldError](e); ok {
			p.At, p.Text = at.Find(field.FieldPath()), "is not a field of "+at.Get("kind").Text()
		}
		list = append(list, p)
	}
	if err != nil {
		list = append(list, Problem{At: at, Text: "is no " + at.Get("kind").Text() + ": " + strings.TrimPrefix(err.Error(), "json: ")})
	}
	return list
}
