package tree

import (
	"bytes"
	"encoding/json"
)

// JSON writes a value as JSON. Numbers that JSON cannot write become texts.
func (n *Node) JSON() []byte {
	var b bytes.Buffer
	n.write(&b)
	return b.Bytes()
}

func (n *Node) write(b *bytes.Buffer) {
	if n == nil {
		b.WriteString("null")
		return
	}
	switch n.Kind {
	case Null:
		b.WriteString("null")
	case Bool:
		b.WriteString(n.Text)
	case Number:
		if json.Valid([]byte(n.Text)) {
			b.WriteString(n.Text)
		} else {
			writeText(b, n.Text)
		}
	case String:
		writeText(b, n.Text)
	case List:
		n.writeList(b)
	case Map:
		n.writeMap(b)
	}
}

func (n *Node) writeList(b *bytes.Buffer) {
	b.WriteByte('[')
	for i, item := range n.Items {
		if i > 0 {
			b.WriteByte(',')
		}
		item.write(b)
	}
	b.WriteByte(']')
}

func (n *Node) writeMap(b *bytes.Buffer) {
	b.WriteByte('{')
	for i, f := range n.Fields {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(b, f.Key)
		b.WriteByte(':')
		f.Value.write(b)
	}
	b.WriteByte('}')
}

func writeText(b *bytes.Buffer, s string) {
	text, err := json.Marshal(s)
	if err == nil { // always so: it is a string
		b.Write(text)
	}
}
