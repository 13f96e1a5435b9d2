package chat

import "strings"

// base64Data counts the bytes of images and documents in the messages of
// /v1/messages. They stand as plain base64 in the source of a content block, not
// as data: URLs, which the scanner counts. Blocks may stand inside of a block, as
// in the result of a tool.
func base64Data(messages string) (n uint64) {
	if messages == "" || messages[0] != '[' {
		return 0
	}
	elements(messages, func(message string) {
		each(message, func(key, value string) {
			if key == "content" {
				n += blocksData(value, true)
			}
		})
	})
	return n
}

// blocksData counts the data of a list of content blocks, and of the blocks in
// them if they can nest.
func blocksData(blocks string, nest bool) (n uint64) {
	if blocks[0] != '[' {
		return 0
	}
	elements(blocks, func(block string) {
		each(block, func(key, value string) {
			switch {
			case key == "source":
				n += sourceData(value)
			case key == "content" && nest:
				n += blocksData(value, false)
			}
		})
	})
	return n
}

// sourceData counts the data of a source whose type says that it is base64.
func sourceData(source string) (n uint64) {
	encoded := false
	each(source, func(key, value string) {
		switch {
		case key == "type":
			encoded = value == `"base64"`
		case key == "data" && value[0] == '"' && !strings.HasPrefix(value, `"data:`):
			n = uint64(len(value) - len(`""`))
		}
	})
	if !encoded {
		return 0
	}
	return n
}

// each calls visit with the members of a valid value, if it is an object.
func each(raw string, visit func(key, value string)) {
	if raw[0] != '{' {
		return
	}
	s := scanner{text: raw}
	s.object(func(key, value string) bool {
		visit(key, value)
		return true
	})
}
