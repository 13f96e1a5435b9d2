package story

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pointsman/pointsman/core/wire"
)

// verdicts are the words for why the state service gives no ids, in the order of the
// wire's enum from wire.InputIDsCaller on.
func verdicts() []string {
	return []string{
		"caller", "no_messages", "tools", "non_text_content", "reasoning_content", "role_rewrite", "template_controls",
		"assistant_continuation", "tokenize_failed", "unverified", "too_long",
	}
}

// playIDs tells what the state service knows of the token ids of chats from here on.
func (r *run) playIDs(a *arguments, _ string) error {
	list, given := a.list("list")
	word, refused := a.word()
	if err := a.done(); err != nil {
		return err
	}
	r.service.ids = wire.InputIDs{}
	switch at := slices.Index(verdicts(), word); {
	case given && !refused:
		return r.giveIDs(list)
	case !given && at >= 0:
		r.service.ids.Verdict = wire.InputIDsCaller + wire.InputIDsVerdict(at)
		r.printf("no ids: %s\n", word)
	case !given && word == "unavailable":
		r.printf("no ids\n")
	default:
		return fmt.Errorf("say what the service knows: \"ids list=(1,2)\", \"ids unavailable\" or one of %v", verdicts())
	}
	return nil
}

func (r *run) giveIDs(list []string) error {
	for _, text := range list {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return errors.New("write ids as numbers, like \"ids list=(1,2)\"")
		}
		r.service.ids.IDs = append(r.service.ids.IDs, uint32(id))
	}
	r.service.ids.Verdict = wire.InputIDsGiven
	r.printf("%s\n", count(len(list), "id"))
	return nil
}

// appendIDs answers an observe that asks for ids.
func (s *service) appendIDs(reply, message []byte) ([]byte, error) {
	var most uint64
	err := fields(message, func(field protowire.Number, number uint64, _ []byte) error {
		if field == 11 {
			most = number
		}
		return nil
	})
	if err != nil || most == 0 || s.ids.Verdict == wire.InputIDsUnavailable {
		return reply, err
	}
	b := appendNumber(nil, 1, uint64(s.ids.Verdict))
	var packed []byte
	for _, id := range s.ids.IDs {
		packed = protowire.AppendVarint(packed, uint64(id))
	}
	return appendBytes(reply, 5, appendBytes(b, 2, packed)), nil
}
