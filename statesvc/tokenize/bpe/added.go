package bpe

import "strings"

// added finds added tokens in text: the leftmost, and of those that begin at one
// place the longest.
type added struct {
	nodes []addedNode
	start [256]bool
	only  byte // the first byte of all tokens, where one is true of start
	one   bool
}

// addedNode is a node of a byte trie; node 0 is the root.
type addedNode struct {
	edges []addedEdge
	id    uint32
	ends  bool
}

type addedEdge struct {
	b    byte
	next int32
}

func newAdded() *added { return &added{nodes: make([]addedNode, 1)} }

func (a *added) empty() bool { return len(a.nodes) == 1 }

// put adds a token. It reports false if the content is there under another id.
func (a *added) put(content string, id uint32) bool {
	at := int32(0)
	for i := range len(content) {
		next := a.step(at, content[i])
		if next < 0 {
			next = int32(len(a.nodes))
			a.nodes = append(a.nodes, addedNode{})
			a.nodes[at].edges = append(a.nodes[at].edges, addedEdge{content[i], next})
		}
		at = next
	}
	if a.nodes[at].ends {
		return a.nodes[at].id == id
	}
	a.nodes[at].ends, a.nodes[at].id = true, id
	first := content[0]
	a.one = len(a.nodes[0].edges) == 1
	a.start[first], a.only = true, first
	return true
}

func (a *added) step(at int32, b byte) int32 {
	for _, e := range a.nodes[at].edges {
		if e.b == b {
			return e.next
		}
	}
	return -1
}

// find gives the next token at or after i: where it begins and ends, and its id;
// begin is len(s) if there is none.
func (a *added) find(s string, i int) (begin, end int, id uint32) {
	if a.empty() {
		return len(s), len(s), 0
	}
	for i < len(s) {
		if a.one {
			n := strings.IndexByte(s[i:], a.only)
			if n < 0 {
				break
			}
			i += n
		} else if !a.start[s[i]] {
			i++
			continue
		}
		if end, id := a.longest(s, i); end > i {
			return i, end, id
		}
		i++
	}
	return len(s), len(s), 0
}

func (a *added) longest(s string, i int) (end int, id uint32) {
	for at, j := int32(0), i; j < len(s); {
		at = a.step(at, s[j])
		if at < 0 {
			break
		}
		j++
		if n := &a.nodes[at]; n.ends {
			end, id = j, n.id
		}
	}
	return end, id
}
