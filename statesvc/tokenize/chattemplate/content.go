package chattemplate

// ContentLoop says how a template takes the content of messages.
type ContentLoop uint8

// The ways. Engines look at the template the same way to tell which form to give it.
const (
	ContentString  ContentLoop = iota // no loop goes through content: it is a string
	ContentParts                      // a loop goes through the content of a message
	ContentUnclear                    // a loop goes through a name that holds content
)

// ContentLoop looks for a loop through the content of messages.
func (t *Template) ContentLoop() ContentLoop {
	found := ContentString
	eachLoop(t.nodes, func(over expr) {
		switch over := bare(over).(type) {
		case *attr:
			if over.name == "content" {
				found = max(found, ofMessage(over.of))
			}
		case *item:
			if key, ok := over.key.(*literal); ok && key.value == "content" {
				found = max(found, ofMessage(over.of))
			}
		case *name:
			if over.name == "content" {
				found = ContentUnclear
			}
		}
	})
	return found
}

// ofMessage tells by its name whether a variable is a message, as engines do.
func ofMessage(of expr) ContentLoop {
	if n, ok := of.(*name); ok && (n.name == "message" || n.name == "msg" || n.name == "m") {
		return ContentParts
	}
	return ContentUnclear
}

// bare takes filters and slices off an expression.
func bare(e expr) expr {
	for {
		switch outer := e.(type) {
		case *filter:
			e = outer.of
		case *part:
			e = outer.of
		default:
			return e
		}
	}
}

func eachLoop(nodes []node, yield func(over expr)) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *forNode:
			yield(n.over)
			eachLoop(n.body, yield)
			eachLoop(n.otherwise, yield)
		case *ifNode:
			for _, b := range n.branches {
				eachLoop(b.body, yield)
			}
		case *setNode:
			eachLoop(n.body, yield)
		case *macroNode:
			eachLoop(n.body, yield)
		}
	}
}
