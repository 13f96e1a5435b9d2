package tree

// Embedded reads the documents that a text value holds. Their places continue the
// path of the text; their lines are those of the file where the text is a literal
// block, else the line of the text.
func Embedded(at At) ([]Document, error) {
	documents, err := Read([]byte(at.Text()))
	if err != nil {
		return nil, err
	}
	move := func(int) int { return at.Line }
	if at.Node.Block {
		first := at.Node.Line
		move = func(line int) int { return first + line }
	}
	for i := range documents {
		documents[i].Root.moved(move)
		for n := range documents[i].Duplicates {
			d := &documents[i].Duplicates[n]
			d.Line, d.File, d.Path = move(d.Line), at.File, at.Path+"."+d.Path
		}
	}
	return documents, nil
}

// moved gives every value below n another line. Read made n, and nobody else has it.
func (n *Node) moved(line func(int) int) {
	n.Line = line(n.Line)
	for _, item := range n.Items {
		item.moved(line)
	}
	for i := range n.Fields {
		n.Fields[i].Line = line(n.Fields[i].Line)
		n.Fields[i].Value.moved(line)
	}
}
