package envoy

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Check reads JSON into a message of Envoy's API, and every extension in it into the
// type that its @type names. Unknown fields, unknown types, values of the wrong type
// and values that Envoy's own rules refuse are errors.
func Check(document []byte, into proto.Message) error { return check(document, into, false) }

// CheckPart is Check of a message that is merged into another: what it and the
// extension that is its typed_config leave out is not missing.
func CheckPart(document []byte, into proto.Message) error { return check(document, into, true) }

// check reads and validates. In a part, values are not held against the rules down to
// the first extension.
func check(document []byte, into proto.Message, part bool) error {
	if err := protojson.Unmarshal(document, into); err != nil {
		return fmt.Errorf("not what Envoy reads: %w", err)
	}
	var problems []error
	err := protorange.Range(into.ProtoReflect(), func(at protopath.Values) error {
		last := at.Index(-1)
		message, ok := last.Value.Interface().(protoreflect.Message)
		if !ok || last.Step.Kind() != protopath.RootStep && last.Step.Kind() != protopath.AnyExpandStep {
			return nil
		}
		if part && partial(at.Path) {
			return nil
		}
		if rules, ok := message.Interface().(interface{ ValidateAll() error }); ok {
			if err := rules.ValidateAll(); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", at.Path, err))
			}
		}
		return nil
	})
	return errors.Join(append(problems, err)...)
}

// partial reports whether a path is the message itself or the extension in its
// typed_config.
func partial(path protopath.Path) bool {
	return len(path) == 1 || len(path) == 3 && path.Index(1).FieldDescriptor().Name() == "typed_config"
}
