package bpe

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// toNFC composes text as the tokenizers library does. Its tables are those of Unicode
// 10: to it, marks that came later are letters that nothing moves across, so the texts
// between them are composed apart.
func toNFC(text string) string {
	if norm.NFC.IsNormalString(text) && strings.IndexFunc(text, isLaterMark) < 0 {
		return text
	}
	var b strings.Builder
	for text != "" {
		n := strings.IndexFunc(text, isLaterMark)
		if n < 0 {
			n = len(text)
		}
		b.WriteString(norm.NFC.String(text[:n]))
		_, size := utf8.DecodeRuneInString(text[n:])
		b.WriteString(text[n : n+size])
		text = text[n+size:]
	}
	return b.String()
}

// isLaterMark tells the characters that compose, decompose or move in Unicode 15 and,
// being unknown to it, do not in the tokenizers library (0.23).
func isLaterMark(r rune) bool {
	if r < 0x7FD {
		return false
	}
	later := laterMarks()
	i, found := slices.BinarySearchFunc(later[:], r, func(e [2]rune, r rune) int { return int(e[0] - r) })
	return found || i > 0 && r <= later[i-1][1]
}

// laterMarks are these characters, first to last, in their order.
func laterMarks() [38][2]rune {
	return [...][2]rune{
		{0x7FD, 0x7FD},
		{0x898, 0x89F},
		{0x8CA, 0x8D3},
		{0x9FE, 0x9FE},
		{0xC3C, 0xC3C},
		{0xD3B, 0xD3C},
		{0xEBA, 0xEBA},
		{0x1715, 0x1715},
		{0x1ABF, 0x1ACE},
		{0x1DF6, 0x1DFA},
		{0xA82C, 0xA82C},
		{0x10D24, 0x10D27},
		{0x10EAB, 0x10EAC},
		{0x10EFD, 0x10EFF},
		{0x10F46, 0x10F50},
		{0x10F82, 0x10F85},
		{0x11070, 0x11070},
		{0x1133B, 0x1133B},
		{0x1145E, 0x1145E},
		{0x11839, 0x1183A},
		{0x11930, 0x11930},
		{0x11938, 0x11938},
		{0x1193D, 0x1193E},
		{0x11943, 0x11943},
		{0x119E0, 0x119E0},
		{0x11A34, 0x11A34},
		{0x11A47, 0x11A47},
		{0x11A99, 0x11A99},
		{0x11D42, 0x11D42},
		{0x11D44, 0x11D45},
		{0x11D97, 0x11D97},
		{0x11F41, 0x11F42},
		{0x16FF0, 0x16FF1},
		{0x1E08F, 0x1E08F},
		{0x1E130, 0x1E136},
		{0x1E2AE, 0x1E2AE},
		{0x1E2EC, 0x1E2EF},
		{0x1E4EC, 0x1E4EF},
	}
}
