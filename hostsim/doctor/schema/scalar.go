package schema

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// scalarFault says what a scalar should be, empty when it is that. Numbers may be
// written as texts, as protobuf's JSON allows.
func scalarFault(at tree.At, kind protoreflect.Kind) string {
	scalar, number := at.Node.Text, at.Node.Kind == tree.Number || at.Node.Kind == tree.String
	_, notFloat := strconv.ParseFloat(scalar, 64)
	whole, isWhole := at.Uint()
	is := func(kinds ...protoreflect.Kind) bool { return slices.Contains(kinds, kind) }
	switch {
	case is(protoreflect.BoolKind):
		return unless(at.Node.Kind == tree.Bool, "true or false")
	case is(protoreflect.StringKind):
		return unless(at.Node.Kind == tree.String, "a text: put it in quotes")
	case is(protoreflect.BytesKind):
		_, err := base64.StdEncoding.DecodeString(scalar)
		return unless(at.Node.Kind == tree.String && err == nil, "base64")
	case is(protoreflect.FloatKind, protoreflect.DoubleKind):
		return unless(number && notFloat == nil, "a number")
	case is(protoreflect.Uint32Kind, protoreflect.Fixed32Kind):
		return unless(number && isWhole && whole <= math.MaxUint32, "a whole number from 0 to 4294967295")
	case is(protoreflect.Uint64Kind, protoreflect.Fixed64Kind):
		return unless(number && isWhole, "a whole number, zero or more")
	}
	f, err := strconv.ParseFloat(scalar, 64)
	return unless(number && err == nil && f == math.Trunc(f), "a whole number")
}

func unless(good bool, want string) string {
	if good {
		return ""
	}
	return want
}

// wellKnown checks messages with a JSON form of their own, and reports whether m is
// one.
func (c *checker) wellKnown(at tree.At, m protoreflect.MessageDescriptor) bool {
	name, ours := strings.CutPrefix(string(m.FullName()), "google.protobuf.")
	if !ours {
		return false
	}
	switch name {
	case "Any":
		c.any(at)
	case "Duration":
		if !duration(at.Text()) {
			c.add(at, "is %s, must be seconds with an s, such as 1.5s", describe(at))
		}
	case "Timestamp":
		if _, err := time.Parse(time.RFC3339Nano, at.Text()); err != nil {
			c.add(at, "is %s, must be a time such as 2026-01-02T15:04:05Z", describe(at))
		}
	case "Struct":
		if at.Node.Kind != tree.Map {
			c.add(at, "is %s, must be a mapping", describe(at))
		}
	case "Value", "ListValue", "FieldMask", "Empty":
	default:
		f := m.Fields().ByName("value")
		if f == nil || !strings.HasSuffix(name, "Value") {
			return false
		}
		c.single(at, f)
	}
	return true
}

// duration reports whether a text is a duration in protobuf's JSON.
func duration(text string) bool {
	seconds, ok := strings.CutSuffix(text, "s")
	_, err := strconv.ParseFloat(seconds, 64)
	return ok && err == nil
}

// any checks the message inside an Any where its type is known.
func (c *checker) any(at tree.At) {
	if at.Node.Kind != tree.Map {
		c.add(at, "is %s, must be a mapping with @type", describe(at))
		return
	}
	url := at.Field("@type")
	if !url.Exists() {
		if len(at.Node.Fields) > 0 {
			c.add(at, `has no "@type", so that nobody can tell what it is`)
		}
		return
	}
	prefix, name, ok := strings.Cut(url.Text(), "/")
	if !ok || prefix == "" {
		c.add(url, "is %s, must be type.googleapis.com/ and the name of a message", describe(url))
		return
	}
	m, known := Named(name)
	switch {
	case !known:
	case strings.HasPrefix(name, "google.protobuf."):
		c.wellKnown(at.Field("value"), m)
	default:
		inner := *at.Node
		inner.Fields = withoutType(at.Node.Fields)
		c.message(tree.At{File: at.File, Path: at.Path, Line: at.Line, Node: &inner}, m)
	}
}

func withoutType(fields []tree.Field) []tree.Field {
	rest := make([]tree.Field, 0, len(fields))
	for _, f := range fields {
		if f.Key != "@type" {
			rest = append(rest, f)
		}
	}
	return rest
}
