package schema

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/pointsman/pointsman/core/spelling"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// Problem is one thing that the type of a document does not allow.
type Problem struct {
	At      tree.At
	Text    string
	Unknown bool // a key that no field reads, which some readers drop in silence
}

// Message checks a value against a protobuf message.
func Message(at tree.At, m protoreflect.MessageDescriptor) []Problem {
	c := &checker{}
	c.message(at, m)
	return c.problems
}

// Named finds a message by its full name, such as envoy.config.cluster.v3.Cluster.
func Named(name string) (protoreflect.MessageDescriptor, bool) {
	t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		return nil, false
	}
	return t.Descriptor(), true
}

type checker struct{ problems []Problem }

func (c *checker) add(at tree.At, format string, args ...any) {
	c.problems = append(c.problems, Problem{At: at, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) message(at tree.At, m protoreflect.MessageDescriptor) {
	if !at.Exists() || c.wellKnown(at, m) {
		return
	}
	if at.Node.Kind != tree.Map {
		c.add(at, "is %s, must be a mapping (%s)", at.Node.Kind, m.Name())
		return
	}
	members := map[protoreflect.Name]string{}
	at.Members(func(key string, value tree.At) { c.member(value, key, m, members) })
}

// member checks one key of a message.
func (c *checker) member(value tree.At, key string, m protoreflect.MessageDescriptor, members map[protoreflect.Name]string) {
	f := m.Fields().ByTextName(key)
	if f == nil {
		f = m.Fields().ByJSONName(key)
	}
	if f == nil {
		c.problems = append(c.problems, Problem{At: value, Unknown: true, Text: unknown(key, m)})
		return
	}
	if !value.Exists() {
		return
	}
	if one := f.ContainingOneof(); one != nil && !one.IsSynthetic() {
		if other, taken := members[one.Name()]; taken {
			c.add(value, "stands beside %s, and %s takes only one of them", other, m.Name())
		}
		members[one.Name()] = key
	}
	c.field(value, f)
}

// unknown says what a key may have meant.
func unknown(key string, m protoreflect.MessageDescriptor) string {
	best, distance := "", 3
	for i := range m.Fields().Len() {
		name := string(m.Fields().Get(i).Name())
		if n := spelling.Distance(key, name); n < distance {
			best, distance = name, n
		}
	}
	text := "is not a field of " + string(m.FullName())
	if best != "" {
		text += fmt.Sprintf("; did you mean %s?", best)
	}
	return text
}

func (c *checker) field(at tree.At, f protoreflect.FieldDescriptor) {
	switch {
	case f.IsMap():
		if at.Node.Kind != tree.Map {
			c.add(at, "is %s, must be a mapping", at.Node.Kind)
			return
		}
		at.Members(func(_ string, value tree.At) { c.single(value, f.MapValue()) })
	case f.IsList():
		if at.Node.Kind != tree.List {
			c.add(at, "is %s, must be a list", at.Node.Kind)
			return
		}
		for _, item := range at.Items() {
			c.single(item, f)
		}
	default:
		c.single(at, f)
	}
}

func (c *checker) single(at tree.At, f protoreflect.FieldDescriptor) {
	if !at.Exists() {
		return
	}
	if f.Message() != nil {
		c.message(at, f.Message())
		return
	}
	if f.Enum() != nil {
		c.enum(at, f.Enum())
		return
	}
	if want := scalarFault(at, f.Kind()); want != "" {
		c.add(at, "is %s, must be %s", describe(at), want)
	}
}

func (c *checker) enum(at tree.At, e protoreflect.EnumDescriptor) {
	if _, number := at.Uint(); number && at.Node.Kind == tree.Number {
		return
	}
	if e.FullName() == "google.protobuf.NullValue" || e.Values().ByName(protoreflect.Name(at.Text())) != nil && at.Node.Kind == tree.String {
		return
	}
	var names []string
	for i := range min(e.Values().Len(), 8) {
		names = append(names, string(e.Values().Get(i).Name()))
	}
	c.add(at, "is %s, must be one of %s", describe(at), strings.Join(names, ", "))
}

func describe(at tree.At) string {
	const most = 40
	text := at.Text()
	if text == "" {
		return at.Node.Kind.String()
	}
	if len(text) > most {
		text = text[:most] + "..."
	}
	return fmt.Sprintf("%q", text)
}
