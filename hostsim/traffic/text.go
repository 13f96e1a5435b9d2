package traffic

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
)

const words = "the quick brown router gives every long prompt to that engine which keeps most of its blocks warm so nobody waits for work that was done before and load stays even over all engines of a fleet"

// text draws n characters of words.
func text(r *rand.Rand, n int) string {
	list := strings.Fields(words)
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(list[r.IntN(len(list))])
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

func source(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// message is one message of a chat as clients write it.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// chat is a growing list of messages: its JSON text, and what an engine makes of it.
type chat struct{ list, prompt strings.Builder }

func (c *chat) add(role, content string) {
	if c.list.Len() > 0 {
		c.list.WriteByte(',')
	}
	encoded, _ := json.Marshal(message{role, content}) // strings always encode
	c.list.Write(encoded)
	c.prompt.WriteString("<|" + role + "|>" + content)
}

// body is a chat request.
func (c *chat) body(model string, maxTokens int, user string) []byte {
	var b strings.Builder
	b.WriteString(`{"max_tokens":` + strconv.Itoa(maxTokens) + `,"messages":[` + c.list.String() + `],"model":` + strconv.Quote(model))
	b.WriteString(`,"stream":false,"user":` + strconv.Quote(user) + `}`)
	return []byte(b.String())
}
