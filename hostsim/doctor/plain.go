package doctor

import (
	"strings"
	"time"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// numberAt reads a number, or its default.
func numberAt(at tree.At, otherwise uint64) number {
	if n, ok := at.Uint(); ok {
		return number{n, true, at}
	}
	return number{otherwise, false, at}
}

// spanAt reads a time, or its default.
func spanAt(at tree.At, otherwise time.Duration) span {
	if d, ok := at.Duration(); ok {
		return span{d, true, at}
	}
	return span{otherwise, false, at}
}

// messageOf takes a typed configuration apart: the last part of its type's name, and
// its fields, also where they stand in a TypedStruct.
func messageOf(at tree.At) (kind string, body tree.At) {
	url := at.Get("@type").Text()
	kind = url[strings.LastIndexAny(url, "./")+1:]
	if kind != "TypedStruct" {
		return kind, at
	}
	url = at.Get("type_url").Text()
	return url[strings.LastIndexAny(url, "./")+1:], at.Get("value")
}

// texts are the texts of a list of scalars.
func texts(at tree.At) []string {
	var list []string
	for _, item := range at.Items() {
		list = append(list, item.Text())
	}
	return list
}

// first gives the first place that exists, else the last.
func first(places ...tree.At) tree.At {
	for _, at := range places {
		if at.Exists() {
			return at
		}
	}
	return places[len(places)-1]
}
