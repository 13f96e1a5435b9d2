package guides

import (
	"fmt"
	"regexp"
	"strings"
)

// A page is what of a guide can be run, in its order.
type page struct {
	blocks []block
}

// A block is one fenced block of commands.
type block struct {
	line    int    // of its fence, from 1
	text    string // the commands
	cluster bool   // needs more than this machine: looked at, not run
	want    string // what the commands promise to print, "" for nothing in particular
}

// parse takes a page apart. Blocks whose fence says "sh" are commands, "sh cluster"
// those that need a cluster or a registry, and "text" what the commands before print.
func parse(text string) (page, error) {
	var p page
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		info, fenced := strings.CutPrefix(lines[i], "```")
		if !fenced {
			continue
		}
		start := i
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		if i == len(lines) {
			return page{}, fmt.Errorf("line %d: the block does not end", start+1)
		}
		if err := p.add(info, start+1, strings.Join(lines[start+1:i], "\n")+"\n"); err != nil {
			return page{}, err
		}
	}
	return p, nil
}

func (p *page) add(info string, line int, text string) error {
	switch info {
	case "sh", "sh cluster":
		p.blocks = append(p.blocks, block{line: line, text: text, cluster: info == "sh cluster"})
	case "text":
		last := len(p.blocks) - 1
		if last < 0 || p.blocks[last].want != "" {
			return fmt.Errorf("line %d: no commands that the text could be of", line)
		}
		p.blocks[last].want = text
	default:
		if strings.HasPrefix(info, "sh") || strings.HasPrefix(info, "bash") {
			return fmt.Errorf("line %d: a block of %q is not run: write sh, or sh cluster", line, info)
		}
	}
	return nil
}

// promised is a promise as an expression: three dots stand for anything, and white
// space for any white space.
func promised(want string) *regexp.Regexp {
	var words []string
	for part := range strings.SplitSeq(strings.TrimSpace(want), "...") {
		var quoted []string
		for word := range strings.FieldsSeq(part) {
			quoted = append(quoted, regexp.QuoteMeta(word))
		}
		words = append(words, strings.Join(quoted, `\s+`))
	}
	return regexp.MustCompile(`(?is)` + strings.Join(words, `.*?`))
}
